//! Secrets of a service instance, kept as the protocol wants it
//! (`spec/contracts/adapter-protocol.md`, "What an author must do", 12 to 17).
//!
//! An *ODB-managed* secret stands in the manifest as `((odb_secret:NAME))` and goes with the answer
//! under `NAME`; the broker stores it and writes the reference `((/odb/…/NAME))` in its place. From
//! then on the adapter finds the reference in the previous manifest and keeps it. This takes a broker
//! with `enable_secure_manifests`; without, the placeholder stays and the Director refuses it.
//!
//! ```
//! use odb_adapter_sdk::manifest::{JobProperty, ManifestBuilder};
//! use odb_adapter_sdk::protocol::{GenerateManifest, GeneratedManifest};
//! use odb_adapter_sdk::secrets::{ManagedSecrets, new_password};
//! use odb_adapter_sdk::AdapterError;
//!
//! const PASSWORD: JobProperty = JobProperty::new("redis", "redis-server", "/redis/password");
//!
//! fn generate(call: &GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
//!     let previous = call.previous()?;
//!     let mut secrets = ManagedSecrets::new(call, previous.as_ref());
//!     let password = secrets.generated("password", PASSWORD, new_password);
//!     let manifest = ManifestBuilder::new(call)
//!         .instance_group("redis", ["redis-server"])
//!         .property(PASSWORD, password)
//!         .build()?;
//!     Ok(GeneratedManifest::new(&manifest)?.with_secrets(secrets)?)
//! }
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `managed` | which reference stands in the next manifest, and what goes with the answer |
//! | `value` | what a secret can be |
//! | `reference` | `((…))` in texts |
//! | `resolution` | values of what a deployed manifest refers to, for bindings |
//! | `password` | new passwords |

mod managed;
mod password;
mod reference;
mod resolution;
mod value;

pub use self::managed::{ManagedSecrets, ManagedSecretsError};
pub use self::password::{PASSWORD_LENGTH, new_password};
pub(crate) use self::reference::has_placeholders;
pub use self::reference::{Reference, SecretReference, references_in};
pub use self::resolution::UnresolvedError;
pub use self::value::SecretValue;
