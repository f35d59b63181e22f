//! The values that a Director with a CredHub generates for the `variables:` of a manifest.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, prelude::BASE64_STANDARD, prelude::BASE64_STANDARD_NO_PAD};
use rand::{RngExt, distr::Alphanumeric};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize,
};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use x509_parser::{prelude::FromDer, public_key::RSAPublicKey};

use super::Variables;

/// The length of CredHub's passwords.
const PASSWORD_LENGTH: usize = 40;

/// A variable cannot be generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerationError {
    /// Its entry is not as it should be.
    #[error("entry {number} of `variables` is not as it should be")]
    Malformed {
        /// From 1.
        number: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Two have the same name.
    #[error("`variables` has two of the name `{0}`")]
    Twice(String),
    /// The authority of its certificate does not exist.
    #[error(
        "certificate `{name}` is to be signed by `{authority}`, which is no authority made before it"
    )]
    NoAuthority {
        /// Which.
        name: String,
        /// The missing authority.
        authority: String,
    },
    /// A certificate has to say who it is for, and be signed.
    #[error(
        "certificate `{0}` has neither `ca` nor `is_ca`, or no `common_name` and no `alternative_names`"
    )]
    UnknownAuthority(String),
    /// The library refuses.
    #[error("certificate or key `{name}` cannot be made")]
    Key {
        /// Which.
        name: String,
        /// Why.
        #[source]
        source: rcgen::Error,
    },
}

/// The generated values.
pub(super) struct Generated {
    pub(super) variables: Variables,
    /// Those who have signed for others.
    pub(super) signers: BTreeSet<String>,
}

/// An entry of `variables:`.
#[derive(Deserialize)]
struct Definition {
    name: String,
    #[serde(flatten)]
    kind: Kind,
}

/// The types of <https://bosh.io/docs/variable-types/>.
#[derive(Deserialize)]
#[serde(tag = "type", content = "options", rename_all = "lowercase")]
enum Kind {
    Password(#[serde(default)] Option<PasswordOptions>),
    Certificate(CertificateOptions),
    Rsa(#[serde(default)] Option<KeyOptions>),
    Ssh(#[serde(default)] Option<KeyOptions>),
    User(#[serde(default)] Option<UserOptions>),
}

#[derive(Default, Deserialize)]
struct PasswordOptions {
    length: Option<usize>,
}

#[derive(Default, Deserialize)]
struct KeyOptions {
    #[serde(default)]
    key_length: KeyLength,
}

/// In bits.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(try_from = "u32")]
enum KeyLength {
    #[default]
    Bits2048,
    Bits3072,
    Bits4096,
}

#[derive(Default, Deserialize)]
struct UserOptions {
    username: Option<String>,
}

#[derive(Deserialize)]
struct CertificateOptions {
    common_name: Option<String>,
    #[serde(default)]
    alternative_names: Vec<String>,
    organization: Option<String>,
    ca: Option<String>,
    #[serde(default)]
    is_ca: bool,
    #[serde(default)]
    extended_key_usage: Vec<KeyUsage>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeyUsage {
    ClientAuth,
    ServerAuth,
}

/// Those who can sign, with their certificates.
#[derive(Default)]
struct Authorities(BTreeMap<String, (Issuer<'static, KeyPair>, String)>);

/// Generates the `variables:` of the document that are not given, in its order.
///
/// Keys of certificates are ECDSA P-256, where CredHub generates RSA keys. An authority with an absolute name that is
/// not given belongs to another deployment, and is generated as well.
pub(super) fn generate(document: &Value, given: &Variables) -> Result<Generated, GenerationError> {
    let mut authorities = Authorities::default();
    let mut generated = Generated {
        variables: Variables::new(),
        signers: BTreeSet::new(),
    };
    let mut names = BTreeSet::new();
    let entries = document["variables"].as_array();
    for (index, entry) in entries.into_iter().flatten().enumerate() {
        let definition = Definition::deserialize(entry);
        let Definition { name, kind } =
            definition.map_err(|source| GenerationError::Malformed {
                number: index + 1,
                source,
            })?;
        if !names.insert(name.clone()) {
            return Err(GenerationError::Twice(name));
        }
        if given.get(&name).is_some() {
            continue;
        }
        if let Kind::Certificate(CertificateOptions { ca: Some(ca), .. }) = &kind {
            generated.signers.insert(ca.clone());
        }
        let value = kind.make(&name, &mut authorities)?;
        generated.variables.set(&name, value);
    }
    Ok(generated)
}

impl Kind {
    fn make(self, name: &str, authorities: &mut Authorities) -> Result<Value, GenerationError> {
        let failed = |source| GenerationError::Key {
            name: name.to_owned(),
            source,
        };
        Ok(match self {
            Self::Password(options) => {
                let length = options.unwrap_or_default().length;
                password(length.unwrap_or(PASSWORD_LENGTH)).into()
            }
            Self::User(options) => {
                let username = options.unwrap_or_default().username;
                json!({
                    "username": username.unwrap_or_else(|| password(PASSWORD_LENGTH / 2)),
                    "password": password(PASSWORD_LENGTH),
                })
            }
            Self::Rsa(options) => {
                let key = options.unwrap_or_default().key().map_err(failed)?;
                json!({"private_key": key.serialize_pem(), "public_key": key.public_key_pem()})
            }
            Self::Ssh(options) => {
                let key = options.unwrap_or_default().key().map_err(failed)?;
                let public = ssh_public_key(key.public_key_raw());
                let fingerprint = BASE64_STANDARD_NO_PAD.encode(Sha256::digest(&public));
                json!({
                    "private_key": key.serialize_pem(),
                    "public_key": format!("ssh-rsa {}", BASE64_STANDARD.encode(&public)),
                    "public_key_fingerprint": fingerprint,
                })
            }
            Self::Certificate(options) => authorities.certificate(name, &options)?,
        })
    }
}

impl KeyOptions {
    fn key(&self) -> Result<KeyPair, rcgen::Error> {
        let size = match self.key_length {
            KeyLength::Bits2048 => RsaKeySize::_2048,
            KeyLength::Bits3072 => RsaKeySize::_3072,
            KeyLength::Bits4096 => RsaKeySize::_4096,
        };
        KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size)
    }
}

impl TryFrom<u32> for KeyLength {
    type Error = &'static str;

    fn try_from(bits: u32) -> Result<Self, Self::Error> {
        match bits {
            2048 => Ok(Self::Bits2048),
            3072 => Ok(Self::Bits3072),
            4096 => Ok(Self::Bits4096),
            _ => Err("`key_length` is 2048, 3072 or 4096"),
        }
    }
}

impl Authorities {
    fn certificate(
        &mut self,
        name: &str,
        options: &CertificateOptions,
    ) -> Result<Value, GenerationError> {
        let says_nothing = options.common_name.is_none() && options.alternative_names.is_empty();
        if says_nothing || !(options.is_ca || options.ca.is_some()) {
            return Err(GenerationError::UnknownAuthority(name.to_owned()));
        }
        if let Some(ca) = options.ca.as_deref().filter(|ca| ca.starts_with('/')) {
            self.make_foreign(ca)?;
        }
        let failed = |source| GenerationError::Key {
            name: name.to_owned(),
            source,
        };
        let key = new_key().map_err(failed)?;
        let private_key = key.serialize_pem();
        let parameters = parameters(options).map_err(failed)?;
        let (certificate, ca) = match &options.ca {
            None => {
                let certificate = parameters.self_signed(&key).map_err(failed)?.pem();
                (certificate.clone(), certificate)
            }
            Some(authority) => {
                let (issuer, ca) =
                    self.0
                        .get(authority)
                        .ok_or_else(|| GenerationError::NoAuthority {
                            name: name.to_owned(),
                            authority: authority.clone(),
                        })?;
                let certificate = parameters.signed_by(&key, issuer).map_err(failed)?;
                (certificate.pem(), ca.clone())
            }
        };
        if options.is_ca {
            let issuer = Issuer::new(parameters, key);
            self.0
                .insert(name.to_owned(), (issuer, certificate.clone()));
        }
        Ok(json!({"ca": ca, "certificate": certificate, "private_key": private_key}))
    }

    fn make_foreign(&mut self, name: &str) -> Result<(), GenerationError> {
        if self.0.contains_key(name) {
            return Ok(());
        }
        let options = CertificateOptions {
            common_name: Some(name.to_owned()),
            alternative_names: Vec::new(),
            organization: None,
            ca: None,
            is_ca: true,
            extended_key_usage: Vec::new(),
        };
        self.certificate(name, &options).map(drop)
    }
}

fn parameters(options: &CertificateOptions) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = CertificateParams::new(options.alternative_names.clone())?;
    let mut name = rcgen::DistinguishedName::new();
    if let Some(common_name) = &options.common_name {
        name.push(DnType::CommonName, common_name);
    }
    if let Some(organization) = &options.organization {
        name.push(DnType::OrganizationName, organization);
    }
    parameters.distinguished_name = name;
    parameters.use_authority_key_identifier_extension = true;
    let usage = |usage: &KeyUsage| match usage {
        KeyUsage::ClientAuth => ExtendedKeyUsagePurpose::ClientAuth,
        KeyUsage::ServerAuth => ExtendedKeyUsagePurpose::ServerAuth,
    };
    parameters.extended_key_usages = options.extended_key_usage.iter().map(usage).collect();
    if options.is_ca {
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    }
    Ok(parameters)
}

fn new_key() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
}

fn password(length: usize) -> String {
    let letters = rand::rng().sample_iter(Alphanumeric).take(length);
    letters.map(char::from).collect()
}

/// The form of RFC 4253, section 6.6, of a public key as in PKCS #1. Integers are encoded alike in both.
fn ssh_public_key(pkcs1: &[u8]) -> Vec<u8> {
    let (_, key) = RSAPublicKey::from_der(pkcs1).expect("the key was made for RSA");
    let mut blob = Vec::new();
    for field in [b"ssh-rsa".as_slice(), key.exponent, key.modulus] {
        let length = u32::try_from(field.len()).expect("a key is short");
        blob.extend(length.to_be_bytes());
        blob.extend(field);
    }
    blob
}

#[cfg(test)]
mod tests {
    use rustls_pki_types::{CertificateDer, pem::PemObject};
    use serde_json::{Value, json};
    use x509_parser::{parse_x509_certificate, prelude::GeneralName};

    use super::{super::Manifest, GenerationError, Variables, generate};

    /// The values of all variables, by their names.
    fn made(variables: &Value) -> Value {
        let names = variables.as_array().unwrap().iter();
        let names = names.map(|variable| variable["name"].as_str().unwrap());
        let all = names.map(|name| (name.to_owned(), format!("(({name}))").into()));
        let all: serde_json::Map<_, _> = all.collect();
        let manifest = Manifest::from(json!({"variables": variables, "all": all}));
        let completed = manifest.complete(&Variables::new()).unwrap();
        assert_eq!(completed.missing.len(), 0);
        completed.document["all"].clone()
    }

    #[test]
    fn passwords_users_and_keys_are_made() {
        let made = made(&json!([
            {"name": "password", "type": "password"},
            {"name": "short", "type": "password", "options": {"length": 12}},
            {"name": "user", "type": "user", "options": {"username": "u"}},
            {"name": "rsa", "type": "rsa"},
            {"name": "ssh", "type": "ssh"},
        ]));
        assert_eq!(made["password"].as_str().unwrap().len(), 40);
        assert_eq!(made["short"].as_str().unwrap().len(), 12);
        assert_eq!(made["user"]["username"], "u");
        assert_eq!(made["user"]["password"].as_str().unwrap().len(), 40);
        let begins = |value: &Value, text: &str| value.as_str().unwrap().starts_with(text);
        assert!(begins(
            &made["rsa"]["private_key"],
            "-----BEGIN PRIVATE KEY-----"
        ));
        assert!(begins(
            &made["rsa"]["public_key"],
            "-----BEGIN PUBLIC KEY-----"
        ));
        // "ssh-rsa" with its length, and the exponent 65537 with its own.
        assert!(begins(
            &made["ssh"]["public_key"],
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"
        ));
        assert_eq!(
            made["ssh"]["public_key_fingerprint"]
                .as_str()
                .unwrap()
                .len(),
            43
        );
    }

    #[test]
    fn certificates_are_signed_by_the_authority_that_they_name() {
        let made = made(&json!([
            {"name": "ca", "type": "certificate", "options": {"is_ca": true, "common_name": "CA"}},
            {"name": "tls", "type": "certificate", "options": {
                "ca": "ca", "common_name": "broker", "alternative_names": ["*.broker.bosh", "10.0.0.9"],
                "extended_key_usage": ["server_auth"],
            }},
            {"name": "other", "type": "certificate", "options": {"ca": "/services/tls_ca", "common_name": "x"}},
        ]));
        assert_eq!(made["tls"]["ca"], made["ca"]["certificate"]);
        assert_ne!(made["other"]["ca"], made["ca"]["certificate"]);
        let der =
            |value: &Value| CertificateDer::from_pem_slice(value.as_str().unwrap().as_bytes());
        let (ca, tls) = (
            der(&made["ca"]["certificate"]).unwrap(),
            der(&made["tls"]["certificate"]).unwrap(),
        );
        let (_, ca) = parse_x509_certificate(&ca).unwrap();
        let (_, tls) = parse_x509_certificate(&tls).unwrap();
        assert!(ca.is_ca() && !tls.is_ca());
        assert_eq!(tls.issuer(), ca.subject());
        let names = tls.subject_alternative_name().unwrap().unwrap();
        let names = &names.value.general_names;
        let expected = [
            GeneralName::DNSName("*.broker.bosh"),
            GeneralName::IPAddress(&[10, 0, 0, 9]),
        ];
        assert_eq!(names[..], expected);
    }

    #[test]
    fn what_is_given_is_not_made() {
        let document =
            json!({"variables": [{"name": "password", "type": "password"}], "x": "((password))"});
        let given = Variables::new().with("password", "mine");
        let completed = Manifest::from(document).complete(&given).unwrap();
        assert_eq!(completed.document["x"], "mine");
        assert!(completed.unused.is_empty());
    }

    #[test]
    fn an_unused_variable_is_reported() {
        let document = json!({"variables": [{"name": "password", "type": "password"}]});
        let completed = Manifest::from(document)
            .complete(&Variables::new())
            .unwrap();
        assert_eq!(
            completed.unused.into_iter().collect::<Vec<_>>(),
            ["password"]
        );
    }

    #[test]
    fn what_cannot_be_made_is_reported() {
        let refused = |variables: Value| {
            let generated = generate(&json!({"variables": variables}), &Variables::new());
            generated.err().expect("it cannot be made")
        };
        let twice = json!([{"name": "a", "type": "password"}, {"name": "a", "type": "rsa"}]);
        assert!(matches!(refused(twice), GenerationError::Twice(_)));
        let late = json!([{"name": "a", "type": "certificate", "options": {"ca": "b", "common_name": "a"}}]);
        assert!(matches!(refused(late), GenerationError::NoAuthority { .. }));
        let unsigned =
            json!([{"name": "a", "type": "certificate", "options": {"common_name": "a"}}]);
        assert!(matches!(
            refused(unsigned),
            GenerationError::UnknownAuthority(_)
        ));
        let unknown = json!([{"name": "a", "type": "token"}]);
        assert!(matches!(
            refused(unknown),
            GenerationError::Malformed { number: 1, .. }
        ));
    }
}
