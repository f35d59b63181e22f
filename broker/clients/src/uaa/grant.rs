//! The grants for a token.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded;

use crate::http::{UnsendableCredentials, basic_authorization};

#[derive(Clone, Debug)]
pub enum Grant {
    /// To a client of UAA, on its own behalf.
    ClientCredentials {
        client_id: String,
        client_secret: SecretString,
    },
    /// To a user, through the client `cf`, which has an empty secret.
    Password {
        username: String,
        password: SecretString,
    },
}

impl Grant {
    /// Basic authentication of the client. Both halves are percent-encoded, as UAA expects with
    /// `X-CF-ENCODED-CREDENTIALS: true` and decodes by default without it.
    pub(super) fn authorization(&self) -> Result<HeaderValue, UnsendableCredentials> {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        match self {
            Self::ClientCredentials {
                client_id,
                client_secret,
            } => basic_authorization(
                &encode(client_id),
                &encode(client_secret.expose_secret()).into(),
            ),
            Self::Password { .. } => basic_authorization("cf", &SecretString::default()),
        }
    }

    pub(super) fn form(&self) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        match self {
            Self::ClientCredentials { .. } => form.append_pair("grant_type", "client_credentials"),
            Self::Password { username, password } => form
                .append_pair("grant_type", "password")
                .append_pair("username", username)
                .append_pair("password", password.expose_secret()),
        };
        form.finish()
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_STANDARD};

    use super::*;

    #[test]
    fn a_password_with_reserved_characters_arrives_as_it_is() {
        let grant = Grant::Password {
            username: "a&b=c".to_owned(),
            password: "p+w %&=ü".into(),
        };

        let form = grant.form();

        let fields: Vec<_> = form_urlencoded::parse(form.as_bytes())
            .into_owned()
            .collect();
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            fields,
            [
                field("grant_type", "password"),
                field("username", "a&b=c"),
                field("password", "p+w %&=ü"),
            ]
        );
    }

    #[test]
    fn a_clients_id_and_secret_are_encoded_before_they_are_joined() {
        let grant = Grant::ClientCredentials {
            client_id: "a:b".to_owned(),
            client_secret: "c/d%".into(),
        };

        let value = grant.authorization().unwrap();

        let expected = format!("Basic {}", BASE64_STANDARD.encode("a%3Ab:c%2Fd%25"));
        assert_eq!(value, HeaderValue::try_from(expected).unwrap());
        assert!(value.is_sensitive());
    }

    #[test]
    fn a_grant_does_not_show_its_secret() {
        let grant = Grant::Password {
            username: "admin".to_owned(),
            password: "pAssw0rd".into(),
        };
        assert!(!format!("{grant:?}").contains("pAssw0rd"));
    }
}
