//! A UAA: clients and users, the token endpoint, and what others need to check its tokens
//! (`spec/contracts/platform-apis.md`, "UAA").

mod claims;
mod client_authentication;
mod directory;
mod information;
mod refusal;
mod signer;
mod token_endpoint;
mod verifier;

use std::{sync::Arc, time::Duration};

use actix_web::web::{self, ServiceConfig};

pub use directory::{Client, Grant, User};
pub use signer::{Signer, SignerError};
pub use verifier::{InvalidKey, TokenFault, TokenVerifier, VerifiedToken};

use directory::Directory;

/// What a UAA is started with.
#[derive(Debug)]
pub struct UaaSettings {
    /// Its base URL, which stands in its tokens as the issuer.
    pub url: String,
    /// How long tokens live.
    pub lives: TokenLives,
    /// The clients that it knows.
    pub clients: Vec<Client>,
    /// The users that it knows.
    pub users: Vec<User>,
}

/// How long tokens live.
#[derive(Clone, Copy, Debug)]
pub struct TokenLives {
    /// Of an access token.
    pub access: Duration,
    /// Of a refresh token.
    pub refresh: Duration,
}

/// A UAA. Cloning it gives another handle on the same one.
#[derive(Clone)]
pub struct Uaa(Arc<Inner>);

struct Inner {
    url: String,
    lives: TokenLives,
    directory: Directory,
    signer: Signer,
    verifier: TokenVerifier,
}

/// A UAA could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum UaaError {
    /// There is no key to sign with.
    #[error("could not make a signing key")]
    Key(#[source] SignerError),
    /// The key does not fit the verifier.
    #[error("could not use the signing key")]
    Verifier(#[source] InvalidKey),
}

impl Uaa {
    /// A UAA with a new signing key. Making the key takes some tenths of a second of computing.
    pub fn new(settings: UaaSettings) -> Result<Self, UaaError> {
        let signer = Signer::generate(&settings.url).map_err(UaaError::Key)?;
        let verifier =
            TokenVerifier::from_rsa_public_pem(signer.public_pem()).map_err(UaaError::Verifier)?;
        Ok(Self(Arc::new(Inner {
            url: settings.url,
            lives: settings.lives,
            directory: Directory::new(settings.clients, settings.users),
            signer,
            verifier,
        })))
    }

    /// Checks the tokens of this UAA.
    pub fn verifier(&self) -> TokenVerifier {
        self.0.verifier.clone()
    }

    /// Mounts all routes.
    pub fn configure(&self, app: &mut ServiceConfig) {
        app.app_data(web::Data::new(self.clone()));
        token_endpoint::routes(app);
        information::routes(app);
    }
}
