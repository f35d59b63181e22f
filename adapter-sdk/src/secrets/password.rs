use rand::distr::{Alphanumeric, SampleString};
use secrecy::SecretString;

/// Length of a new password. Of 62 characters each, it holds 190 bits.
pub const PASSWORD_LENGTH: usize = 32;

/// A new password of letters and digits, which need no quoting in URLs, shells and YAML, from a
/// cryptographically secure source.
///
/// To be made once for an instance and then found again: two manifests with two passwords would be
/// two deployments.
pub fn new_password() -> SecretString {
    Alphanumeric
        .sample_string(&mut rand::rng(), PASSWORD_LENGTH)
        .into()
}
