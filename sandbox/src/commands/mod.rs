//! The commands of `odb-sandbox` that look after a foundation that runs (`docs/authors/sandbox.md`).
//!
//! | module | command |
//! | --- | --- |
//! | `calls` | `calls` |
//! | `fault` | `fault add`, `fault list`, `fault clear` |
//! | `environment` | `env` |
//! | `reset` | `reset` |
//! | `seed` | `seed` |
//! | `remote` | how they reach the foundation |

mod calls;
mod environment;
mod fault;
mod remote;
mod reset;
mod seed;

pub use calls::CallsArgs;
pub use environment::EnvArgs;
pub use fault::FaultArgs;
pub use reset::ResetArgs;
pub use seed::SeedArgs;
