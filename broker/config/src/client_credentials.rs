//! A client or a user, as several sections name one.

use secrecy::SecretString;

use super::section::Section;

/// Reads `client_id` and `client_secret`. `whose` describes the client for the error.
///
/// Some documents of the Go broker call the second one `secret`, which it does not read.
pub(super) fn read(section: &Section<'_>, whose: &str) -> Option<(String, SecretString)> {
    let client_id = section.required_text("client_id", whose);
    let secret = section.text("secret");
    let client_secret = match secret {
        Some(secret) if !section.has_value("client_secret") => {
            let text = (
                "is read as `client_secret`",
                "spell it so, for that is the key's name",
            );
            section.warn_value(&secret, text);
            Some(secret)
        }
        secret => {
            if let Some(secret) = secret {
                let text = ("is ignored beside `client_secret`", "remove it");
                section.warn_value(&secret, text);
            }
            section.required_text("client_secret", "that client's secret")
        }
    };
    section.warn_unknown_keys();
    Some((client_id?.value, client_secret?.value.into()))
}

/// Reads `username` and `password`. `whose` describes the user for the error.
pub(super) fn user(section: &Section<'_>, whose: &str) -> Option<(String, SecretString)> {
    let username = section.required_text("username", whose);
    let password = section.required_text("password", "that user's password");
    section.warn_unknown_keys();
    Some((username?.value, password?.value.into()))
}
