//! Texts without what differs from Director to Director: uuids, addresses, digests, points in time.

/// The text with a placeholder for each of them.
pub(crate) fn without_opaque(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    let mut is_start = true;
    while let Some(letter) = rest.chars().next() {
        let found = if is_start { opaque_prefix(rest) } else { None };
        if let Some((length, placeholder)) = found {
            result.push_str(placeholder);
            rest = &rest[length..];
            is_start = false;
        } else {
            result.push(letter);
            rest = &rest[letter.len_utf8()..];
            is_start = !letter.is_ascii_alphanumeric();
        }
    }
    result
}

type Recognizer = fn(&str) -> Option<usize>;

fn opaque_prefix(text: &str) -> Option<(usize, &'static str)> {
    let kinds: [(Recognizer, &'static str); 6] = [
        (uuid, "<uuid>"),
        (time, "<time>"),
        (address, "<address>"),
        (digest, "<digest>"),
        (request_id, "<cpi request>"),
        (seconds, "<seconds>"),
    ];
    kinds
        .into_iter()
        .find_map(|(length, placeholder)| Some((length(text)?, placeholder)))
}

/// `8-4-4-4-12` hexadecimal digits.
fn uuid(text: &str) -> Option<usize> {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = text.get(..36)?.split('-');
    let fits = lengths.iter().all(|length| {
        parts
            .next()
            .is_some_and(|part| part.len() == *length && is_hex(part))
    });
    fits.then_some(36)
}

/// `2026-11-21T02:10:14Z` and `2026-11-21 02:16:14 UTC`.
fn time(text: &str) -> Option<usize> {
    let shape = text
        .get(..19)?
        .chars()
        .enumerate()
        .all(|(location, letter)| match location {
            4 | 7 => letter == '-',
            10 => letter == 'T' || letter == ' ',
            13 | 16 => letter == ':',
            _ => letter.is_ascii_digit(),
        });
    let zones = ["Z", " UTC"];
    let zone = zones
        .iter()
        .find(|zone| text[19.min(text.len())..].starts_with(**zone));
    (shape && zone.is_some()).then(|| 19 + zone.map_or(0, |zone| zone.len()))
}

/// Four numbers with dots between them.
fn address(text: &str) -> Option<usize> {
    let length = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    text[..length]
        .parse::<std::net::Ipv4Addr>()
        .is_ok()
        .then_some(length)
}

/// At least 32 hexadecimal digits.
fn digest(text: &str) -> Option<usize> {
    let length = text
        .find(|letter: char| !letter.is_ascii_hexdigit())
        .unwrap_or(text.len());
    (length >= 32).then_some(length)
}

/// `cpi-383286`.
fn request_id(text: &str) -> Option<usize> {
    let digits = text.strip_prefix("cpi-")?;
    let length = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    (length > 0).then_some(4 + length)
}

/// How long an agent was waited for.
fn seconds(text: &str) -> Option<usize> {
    let length = text.find(|letter: char| !letter.is_ascii_digit())?;
    (length > 0 && text[length..].starts_with(" seconds")).then_some(length)
}

fn is_hex(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_hexdigit())
}
