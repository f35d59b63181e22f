//! Certificates: what they are asked for with, how they are signed, and what those that others made say.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`parameters`] | what a certificate is generated with, asked for or read from a certificate |
//! | [`signing`] | makes certificates |
//! | [`reading`] | reads certificates, and checks signatures and keys |

mod parameters;
mod reading;
mod signing;

pub(super) use self::{
    parameters::{CertificateParameters, ExtendedKeyUse, KeyUse, Subject},
    reading::ReadCertificate,
    signing::{Signer, self_signed, signed},
};
