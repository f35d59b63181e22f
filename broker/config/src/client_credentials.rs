//! A client of a UAA, as several sections name one.

use secrecy::SecretString;

use super::section::Section;

/// A client's id and secret.
pub(super) struct ClientCredentials {
    pub(super) client_id: String,
    pub(super) client_secret: SecretString,
}

/// Reads `client_id` and `client_secret`. `whose` says what client belongs there.
///
/// Documents of the Go broker call the second one `secret` in places, which it does not read.
pub(super) fn read(section: &Section<'_>, whose: &str) -> Option<ClientCredentials> {
    let client_id = section.required_text("client_id", whose);
    let secret = section.text("secret");
    let client_secret = match secret {
        Some(secret) if !section.has_value("client_secret") => {
            section.remark_value(
                &secret,
                (
                    "is read as `client_secret`",
                    "spell it so, for that is the key's name",
                ),
            );
            Some(secret)
        }
        Some(secret) => {
            section.remark_value(
                &secret,
                ("stands beside `client_secret` and is ignored", "remove it"),
            );
            section.required_text("client_secret", "that client's secret")
        }
        None => section.required_text("client_secret", "that client's secret"),
    };
    section.remark_unknown_keys();
    Some(ClientCredentials {
        client_id: client_id?.value,
        client_secret: client_secret?.value.into(),
    })
}
