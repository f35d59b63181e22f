//! Credentials of a binding.
//!
//! | file | contents |
//! | --- | --- |
//! | `inputs` | what a bind template sees of the instance's namespace |

mod inputs;

pub use inputs::{BindingFacts, Inputs, Namespace};
