//! Secrets: every secret of a foundation, in every form in which it could leak.

use std::{collections::BTreeMap, fs, path::Path};

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE},
};
use reqwest::Client;
use serde_json::{Value, json};
use url::form_urlencoded;

/// Shorter secrets cannot be distinguished from words.
const SHORTEST: usize = 8;

/// Keys whose values are secret at every depth.
const SECRET_KEYS: [&str; 4] = ["secret", "password", "client_secret", "private_key"];

#[derive(Clone, Debug, Default)]
pub struct Secrets {
    known: BTreeMap<String, String>,
}

impl Secrets {
    /// All that a foundation knows: clients and users of its UAAs, private keys, and what is in each CredHub by now.
    /// `folder` is where it keeps its files.
    pub(crate) async fn of_foundation(http: &Client, folder: &Path) -> Self {
        let mut secrets = Self::default();
        let description = fs::read_to_string(folder.join("foundation.json"));
        let description = description.expect("the sandbox has written it");
        let description: Value = serde_json::from_str(&description).expect("it is JSON");
        secrets.add_members("foundation.json", &description);
        for pointer in ["/director/credhub", "/cloud_controller/credhub"] {
            if let Some(credhub) = description.pointer(pointer).filter(|it| it.is_object()) {
                secrets.add_credhub(http, credhub).await;
            }
        }
        secrets.add_private_keys(folder);
        secrets
    }

    /// With another one. `what` says what it is.
    #[must_use]
    pub fn and(mut self, what: &str, value: &str) -> Self {
        assert!(
            value.len() >= SHORTEST,
            "{what} is too short to be distinguished from a word"
        );
        self.add(what, value);
        self
    }

    /// With all members of a document whose keys say that they are secret.
    #[must_use]
    pub fn and_members_of(mut self, what: &str, document: &Value) -> Self {
        self.add_members(what, document);
        self
    }

    #[must_use]
    pub fn and_all_of(mut self, others: Self) -> Self {
        self.known.extend(others.known);
        self
    }

    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Whether one of them is of this kind.
    pub fn have(&self, what: &str) -> bool {
        self.known.keys().any(|known| known.contains(what))
    }

    /// Fails the test if `text` contains a secret in any encoding, a token or a private key. `location` names what is
    /// searched.
    pub fn expect_none_in(&self, location: &str, text: &str) {
        let found = self.found_in(text);
        assert_eq!(found, None, "{location} has a secret");
    }

    fn found_in(&self, text: &str) -> Option<String> {
        for (what, value) in &self.known {
            for (encoding, form) in forms(value) {
                if let Some(at) = text.find(&form) {
                    return Some(format!("{what}, {encoding}: {}", line_around(text, at)));
                }
            }
        }
        let at = token_in(text).or_else(|| text.find("PRIVATE KEY-----"))?;
        Some(format!("a token or a key: {}", line_around(text, at)))
    }

    fn add(&mut self, what: &str, value: &str) {
        if value.len() >= SHORTEST {
            self.known.insert(what.to_owned(), value.to_owned());
        }
    }

    fn add_members(&mut self, what: &str, value: &Value) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    let what = format!("{what}/{key}");
                    match member {
                        Value::String(text) if SECRET_KEYS.contains(&key.as_str()) => {
                            self.add(&what, text);
                        }
                        member => self.add_members(&what, member),
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.add_members(&format!("{what}/{index}"), item);
                }
            }
            _ => {}
        }
    }

    fn add_all_text(&mut self, what: &str, value: &Value) {
        match value {
            Value::String(text) => self.add(what, text),
            Value::Object(members) => {
                for (key, member) in members {
                    self.add_all_text(&format!("{what}/{key}"), member);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.add_all_text(&format!("{what}/{index}"), item);
                }
            }
            _ => {}
        }
    }

    /// Every current value of a CredHub, but for what is public of it.
    async fn add_credhub(&mut self, http: &Client, access: &Value) {
        let text = |pointer: &str| {
            let found = access.pointer(pointer).and_then(Value::as_str);
            found.expect("the sandbox describes its CredHubs")
        };
        let (url, client) = (text("/url"), text("/admin_client/id"));
        let grant = [("grant_type", "client_credentials")];
        let answer = http
            .post(format!("{}/oauth/token", text("/uaa_url")))
            .basic_auth(client, Some(text("/admin_client/secret")))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(
                form_urlencoded::Serializer::new(String::new())
                    .extend_pairs(grant)
                    .finish(),
            );
        let token = read(answer).await;
        let token = token["access_token"]
            .as_str()
            .expect("it is a token")
            .to_owned();
        let get = |path: &str| http.get(format!("{url}{path}")).bearer_auth(&token);
        let listed = read(get("/api/v1/data?path=/")).await;
        let listed = listed["credentials"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for credential in listed {
            let name = credential["name"]
                .as_str()
                .expect("it has a name")
                .to_owned();
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("name", &name)
                .append_pair("current", "true")
                .finish();
            let found = read(get(&format!("/api/v1/data?{query}"))).await;
            let found = &found["data"][0];
            let value = &found["value"];
            match found["type"].as_str() {
                Some("certificate" | "rsa" | "ssh" | "user") => self.add_members(&name, value),
                _ => self.add_all_text(&name, value),
            }
        }
    }

    /// The second line of each key in the foundation's files: the first is the same for all.
    fn add_private_keys(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder)
            .expect("the test made the folder")
            .flatten()
        {
            let path = entry.path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let mut lines = text.lines();
            if lines.any(|line| line.contains("PRIVATE KEY-----"))
                && let Some(line) = lines.nth(1)
            {
                self.add(&path.display().to_string(), line);
            }
        }
    }
}

async fn read(request: reqwest::RequestBuilder) -> Value {
    let response = request.send().await.expect("the sandbox answers");
    let status = response.status();
    let text = response.text().await.expect("the answer is complete");
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A secret as it is, and in the encodings in which it travels.
fn forms(value: &str) -> Vec<(&'static str, String)> {
    let quoted = json!(value).to_string();
    let mut forms = vec![
        ("as it is", value.to_owned()),
        ("in JSON", quoted[1..quoted.len() - 1].to_owned()),
        (
            "in a URL",
            form_urlencoded::byte_serialize(value.as_bytes()).collect(),
        ),
    ];
    for (encoding, engine) in [
        ("in base64", &BASE64_STANDARD),
        ("in base64 of URLs", &BASE64_URL_SAFE),
    ] {
        // A secret can begin anywhere in the encoded text, for example after a user name.
        for before in 0..3 {
            let text = [&[0; 2][..before], value.as_bytes()].concat();
            let whole = engine.encode(&text);
            // Characters that depend on the neighbouring bytes are cut off.
            let begin = [0, 2, 3][before];
            let end = text.len() / 3 * 4;
            forms.push((encoding, whole[begin..end].to_owned()));
        }
    }
    forms
}

/// The position of a JSON web token: three parts of base64, the first two of which decode to JSON objects.
fn token_in(text: &str) -> Option<usize> {
    text.match_indices("eyJ").map(|(at, _)| at).find(|at| {
        let rest = &text[*at..];
        let end = rest
            .find(|it: char| !it.is_ascii_alphanumeric() && !"-_.".contains(it))
            .unwrap_or(rest.len());
        let parts: Vec<&str> = rest[..end].split('.').collect();
        parts.len() >= 3 && parts[1].starts_with("eyJ") && parts[2].len() > 8
    })
}

fn line_around(text: &str, at: usize) -> &str {
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    &text[begin..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "pa\"ss word+hunter2";

    #[test]
    fn a_secret_is_found_in_every_encoding() {
        let secrets = Secrets::default().and("a password", SECRET);
        for text in [
            format!("it is {SECRET}"),
            json!({ "a": { "password": SECRET } }).to_string(),
            format!(
                "GET /?password={}",
                form_urlencoded::byte_serialize(SECRET.as_bytes()).collect::<String>()
            ),
            format!(
                "Basic {}",
                BASE64_STANDARD.encode(format!("broker:{SECRET}"))
            ),
            format!(
                "Basic {}",
                BASE64_STANDARD.encode(format!("a:{SECRET}:more"))
            ),
            format!("Basic {}", BASE64_URL_SAFE.encode(format!("ab:{SECRET}"))),
        ] {
            let found = secrets.found_in(&format!("first\n{text}\nlast"));
            assert!(found.is_some_and(|found| found.ends_with(&text)), "{text}");
        }
        assert_eq!(secrets.found_in("nothing but words"), None);
    }

    #[test]
    fn tokens_and_keys_are_found_without_being_known() {
        let part = |text: &str| BASE64_URL_SAFE.encode(text).replace('=', "");
        let token = format!(
            "{}.{}.{}",
            part("{\"alg\":1}"),
            part("{\"sub\":1}"),
            part("a signature")
        );
        for text in [
            format!("bearer {token}"),
            "-----BEGIN RSA PRIVATE KEY-----\\nMII".to_owned(),
        ] {
            assert!(Secrets::default().found_in(&text).is_some(), "{text}");
        }
        assert_eq!(
            Secrets::default().found_in("eyJhbGciOjF9 is no token"),
            None
        );
    }

    #[test]
    fn members_are_secret_by_their_keys() {
        let document = json!({
            "users": [{ "name": "some-user", "password": "hunter2-hunter2" }],
            "client_secret": "hunter3-hunter3",
        });
        let secrets = Secrets::default().and_members_of("broker.yml", &document);
        assert_eq!(secrets.count(), 2);
        assert!(secrets.have("broker.yml/users/0/password"));
    }
}
