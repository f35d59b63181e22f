//! The hash that a credential of type `user` is shown with: crypt(3) with SHA-512, as files of passwords want it.

use rand::RngExt;
use sha_crypt::Params;

const SALT_LENGTH: usize = 8;
/// Crypt's own digits of base 64.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(super) fn salt() -> String {
    let mut random = rand::rng();
    (0..SALT_LENGTH)
        .map(|_| char::from(DIGITS[random.random_range(0..DIGITS.len())]))
        .collect()
}

/// `$6$SALT$HASH`.
pub(super) fn hash(password: &str, salt: &str) -> String {
    let digest = sha_crypt::sha512_crypt(password.as_bytes(), salt.as_bytes(), Params::RECOMMENDED);
    let mut text = format!("$6${salt}$");
    // Crypt takes three bytes at a time, each from another third of the digest.
    let (mut high, mut middle, mut low) = (0, 21, 42);
    for _ in 0..21 {
        push(&mut text, [digest[high], digest[middle], digest[low]], 4);
        (high, middle, low) = (middle + 1, low + 1, high + 1);
    }
    push(&mut text, [0, 0, digest[63]], 2);
    text
}

/// Writes a number of three bytes in so many digits, the lowest first.
fn push(text: &mut String, [high, middle, low]: [u8; 3], digits: usize) {
    let number = u32::from_be_bytes([0, high, middle, low]);
    for location in 0..digits {
        let digit = (number >> (6 * location)) & 0x3f;
        text.push(char::from(DIGITS[digit as usize]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_of_crypt() {
        // From the specification of SHA-crypt, "test vectors".
        let expected = concat!(
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3u",
            "BnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
        );
        assert_eq!(hash("Hello world!", "saltstring"), expected);
        assert_eq!(salt().len(), SALT_LENGTH);
    }
}
