//! Variables: values that deployments refer to by name. They are in the config server. The Director generates those
//! that a manifest declares, looks up those that it refers to, and records which version a deployment uses.

mod reference;

use serde_json::{Map, Value};
use uuid::Uuid;

pub(super) use self::reference::{Reference, ReferenceError, absolute_name, check_declared};
use crate::credhub::{
    CredHub, CredentialName, Generation, Mode, Rejection, Session, director_actor,
};

/// Where the values of variables are kept.
#[derive(Clone, Debug)]
pub enum ConfigServer {
    /// Nowhere: manifests can refer to nothing.
    Off,
    CredHub {
        /// Its address, as in `/info`.
        url: String,
        credhub: CredHub,
    },
}

pub(super) struct Variables {
    session: Option<Session>,
}

pub(super) struct VariableRequest {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) options: Map<String, Value>,
    pub(super) mode: Mode,
}

/// Why a reference means nothing. The texts are a real Director's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LookupError {
    #[error("Failed to find variable '{name}'{version} from config server: HTTP Code '{code}', Error: '{error}'", version = with_id(*.id))]
    Refused {
        name: String,
        /// The version that the deployment uses, if it uses one already.
        id: Option<Uuid>,
        code: u16,
        error: String,
    },
    #[error(
        "Failed to fetch variable '{name}' from config server: Expected parent '{parent}' to be a hash"
    )]
    NotAHash { name: String, parent: String },
    #[error(
        "Failed to fetch variable '{name}' from config server: Expected parent '{parent}' hash to have key '{key}'"
    )]
    NoSuchKey {
        name: String,
        parent: String,
        key: String,
    },
    #[error(
        "Failed to fetch variable '{0}' from config server: Director is not configured with a config server"
    )]
    Off(String),
}

/// Why a reference cannot be resolved.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResolutionError {
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error(transparent)]
    Lookup(#[from] LookupError),
}

/// Why no value could be generated.
#[derive(Debug, thiserror::Error)]
pub(super) enum GenerationError {
    #[error("HTTP Code '{code}', Error: '{error}'")]
    Refused { code: u16, error: String },
    #[error(
        "Failed to generate variable from config server: Director is not configured with a config server"
    )]
    Off,
}

impl ResolutionError {
    /// Whether a Director continues after it, to report all errors of this kind together.
    pub(super) fn is_collected(&self) -> bool {
        match self {
            Self::Reference(_) | Self::Lookup(LookupError::Off(_)) => false,
            Self::Lookup(
                LookupError::Refused { .. }
                | LookupError::NotAHash { .. }
                | LookupError::NoSuchKey { .. },
            ) => true,
        }
    }
}

impl Variables {
    pub(super) fn new(server: &ConfigServer) -> Self {
        Self {
            session: match server {
                ConfigServer::Off => None,
                ConfigServer::CredHub { credhub, .. } => Some(credhub.session(director_actor())),
            },
        }
    }

    /// Generates a variable if it has no value, and returns the id of the version to use.
    pub(super) async fn ensure(&self, request: VariableRequest) -> Result<Uuid, GenerationError> {
        let session = self.session.as_ref().ok_or(GenerationError::Off)?;
        let options = Value::Object(request.options);
        let generation = Generation::asked(&request.name, &request.kind, options, request.mode);
        let generated = async { session.generate(generation?).await }.await;
        generated
            .map(|stored| stored.id)
            .map_err(|rejection| GenerationError::Refused {
                code: rejection.status().as_u16(),
                error: rejection.to_string(),
            })
    }

    /// The value of a reference, and the id of its version: the one that the deployment uses already, or the current
    /// one.
    pub(super) fn look_up(
        &self,
        reference: &Reference,
        in_use: Option<Uuid>,
    ) -> Result<(Uuid, Value), LookupError> {
        let session = self
            .session
            .as_ref()
            .ok_or_else(|| LookupError::Off(reference.name.clone()))?;
        let found = match in_use {
            Some(id) => session.version(id),
            None => session.current(&CredentialName::sought(&reference.name)),
        };
        let stored = found.map_err(|rejection| refused(reference, in_use, &rejection))?;
        Ok((stored.id, reference.part_of(stored.value())?))
    }
}

fn refused(reference: &Reference, in_use: Option<Uuid>, rejection: &Rejection) -> LookupError {
    LookupError::Refused {
        name: reference.name.clone(),
        id: in_use,
        code: rejection.status().as_u16(),
        error: rejection.to_string(),
    }
}

fn with_id(id: Option<Uuid>) -> String {
    id.map(|id| format!(" with id '{id}'")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        credhub::{ALL_OPERATIONS, Acls, CredHubSettings, Permission, Side, VERSION},
        store::Store,
        uaa::{Signer, TokenVerifier},
    };

    fn variables() -> Variables {
        let signer = Signer::generate("https://127.0.0.2:8443").unwrap();
        let settings = CredHubSettings {
            side: Side::Bosh,
            uaa_url: "https://127.0.0.2:8443".to_owned(),
            version: VERSION,
            acls: Acls::Enforced,
            permissions: vec![Permission {
                path: "/*".to_owned().into(),
                actor: director_actor(),
                operations: ALL_OPERATIONS.into(),
            }],
        };
        let tokens = TokenVerifier::from_rsa_public_pem(signer.public_pem()).unwrap();
        let credhub = CredHub::new(settings, tokens, &Store::in_memory()).unwrap();
        Variables::new(&ConfigServer::CredHub {
            url: String::new(),
            credhub,
        })
    }

    fn request(name: &str, kind: &str, options: &Value, mode: Mode) -> VariableRequest {
        VariableRequest {
            name: name.to_owned(),
            kind: kind.to_owned(),
            options: options.as_object().cloned().unwrap_or_default(),
            mode,
        }
    }

    fn reference(text: &str) -> Reference {
        Reference::parse(text, "d", "a").unwrap()
    }

    #[tokio::test]
    async fn a_value_stays_changes_or_follows_its_options_as_its_mode_says() {
        let variables = variables();
        let ensure = |length: u32, mode| {
            let options = json!({"length": length});
            variables.ensure(request("/d/a/pw", "password", &options, mode))
        };
        let first = ensure(12, Mode::NoOverwrite).await.unwrap();
        let value = variables.look_up(&reference("pw"), None).unwrap();
        assert_eq!((value.0, value.1.as_str().unwrap().len()), (first, 12));

        assert_eq!(ensure(16, Mode::NoOverwrite).await.unwrap(), first);
        assert_eq!(ensure(12, Mode::Converge).await.unwrap(), first);
        let converged = ensure(16, Mode::Converge).await.unwrap();
        assert_ne!(converged, first);
        assert_ne!(ensure(16, Mode::Overwrite).await.unwrap(), converged);
        let in_use = variables.look_up(&reference("pw"), Some(first)).unwrap();
        assert_eq!(in_use, value, "what a deployment uses stays what it was");
    }

    #[tokio::test]
    async fn a_certificate_is_signed_by_the_authority_that_it_names() {
        let variables = variables();
        let authority = json!({"is_ca": true, "common_name": "root"});
        let leaf = json!({
            "ca": "/ca", "common_name": "redis", "alternative_names": ["127.0.0.5", "redis.internal"],
        });
        for (name, options) in [("/ca", &authority), ("/leaf", &leaf)] {
            let wanted = request(name, "certificate", options, Mode::NoOverwrite);
            variables.ensure(wanted).await.unwrap();
        }

        let value = |text: &str| {
            variables
                .look_up(&reference(text), None)
                .map(|found| found.1)
        };
        let ca = value("/ca.certificate").unwrap();
        assert_eq!(value("/ca.ca").unwrap(), ca);
        assert_eq!(value("/leaf.ca").unwrap(), ca);
        assert!(
            value("/leaf.private_key")
                .unwrap()
                .as_str()
                .unwrap()
                .contains("PRIVATE KEY")
        );
        assert_eq!(
            value("/leaf.password").unwrap_err().to_string(),
            "Failed to fetch variable '/leaf' from config server: Expected parent '/leaf' hash to have key 'password'"
        );
        assert_eq!(
            value("/leaf.ca.more").unwrap_err().to_string(),
            "Failed to fetch variable '/leaf' from config server: Expected parent '/leaf.ca' to be a hash"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_generated_is_refused_as_the_config_server_refuses_it() {
        let variables = variables();
        let orphan = json!({"ca": "/none", "common_name": "x"});
        let cases = [
            ("dragon", json!({}), 400, "does not include a valid type"),
            ("certificate", orphan, 404, "the CA does not exist"),
            (
                "certificate",
                json!({"common_name": "x"}),
                400,
                "signing CA",
            ),
            (
                "password",
                json!({"lenght": 3}),
                400,
                "unrecognized parameter 'lenght'",
            ),
        ];
        for (kind, options, expected, text) in cases {
            let wanted = request("/d/a/x", kind, &options, Mode::NoOverwrite);
            let Err(GenerationError::Refused { code, error }) = variables.ensure(wanted).await
            else {
                panic!("{kind} was generated")
            };
            assert_eq!(code, expected, "{error}");
            assert!(error.contains(text), "{error}");
        }
    }

    #[tokio::test]
    async fn without_a_config_server_there_is_nothing_to_refer_to() {
        let variables = Variables::new(&ConfigServer::Off);
        assert_eq!(
            variables
                .look_up(&reference("pw"), None)
                .unwrap_err()
                .to_string(),
            "Failed to fetch variable '/d/a/pw' from config server: Director is not configured with a config server"
        );
        let wanted = request("/d/a/pw", "password", &json!({}), Mode::NoOverwrite);
        assert!(matches!(
            variables.ensure(wanted).await,
            Err(GenerationError::Off)
        ));
    }
}
