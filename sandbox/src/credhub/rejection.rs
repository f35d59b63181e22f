//! Every way to turn a request down, in CredHub's own words (`spec/contracts/platform-apis.md`, "CredHub").

use std::error::Error;

use actix_web::http::StatusCode;

use super::name::NameError;

/// A request turned down. The texts are a real CredHub's, which clients read and show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Rejection {
    #[error(
        "The request could not be completed because the credential does not exist or you do not have sufficient authorization."
    )]
    NoSuchCredential,
    #[error(
        "The request could not be completed because the credential does not exist or you do not have sufficient authorization."
    )]
    MayNotWrite,
    #[error(
        "The request could not be completed because the CA does not exist or you do not have sufficient authorization."
    )]
    NoSuchAuthority,

    #[error(
        "The request could not be fulfilled because the request path or body did not meet expectation. Please check the documentation for required formatting and retry your request."
    )]
    Malformed,
    #[error(
        "The request includes an unrecognized parameter '{0}'. Please update or remove this parameter and retry your request."
    )]
    UnknownMember(String),
    /// As [`Self::UnknownMember`], where a real server finds it while it reads the body.
    #[error(
        "The request includes an unrecognized parameter '{0}'. Please update or remove this parameter and retry your request."
    )]
    UnreadableMember(String),
    #[error("The query parameter {0} is required for this request.")]
    QueryParameterMissing(&'static str),
    #[error("The query parameter {0} was not valid for this request.")]
    QueryParameterInvalid(&'static str),
    #[error("The query parameters current and versions cannot be provided in the same request.")]
    VersionsAndCurrent,

    #[error(
        "A credential name must be provided. Please validate your input and retry your request."
    )]
    NameMissing,
    #[error(
        "A credential name cannot end with a '/' character or contain '//'. Credential names should be in the form of /[path]/[name] or [path]/[name]. Please update and retry your request."
    )]
    NameSlash,
    #[error(
        "Credential names may only include alpha, numeric, hyphen, underscore, and forward-slash characters. Please update and retry your request."
    )]
    NameCharacter,
    #[error(
        "The request could not be completed. The credential name cannot exceed 1024 characters"
    )]
    NameTooLong,
    #[error(
        "The request could not be completed. The credential metadata cannot exceed 7000 characters"
    )]
    MetadataTooLong,

    #[error(
        "The request does not include a valid type. Valid values include 'value', 'json', 'password', 'user', 'certificate', 'ssh' and 'rsa'."
    )]
    TypeForSet,
    #[error(
        "The request does not include a valid type. Valid values for generate include 'password', 'user', 'certificate', 'ssh' and 'rsa'."
    )]
    TypeForGenerate,
    #[error(
        "The request does not include a valid type. Valid values for regenerate include 'password', 'user', 'certificate', 'ssh' and 'rsa'."
    )]
    TypeForRegenerate,
    #[error(
        "Credentials of this type cannot be generated. Please adjust the credential type and retry your request."
    )]
    TypeNotGenerated,
    #[error(
        "The credential type cannot be modified. Please delete the credential if you wish to create it with a different type."
    )]
    OtherType,
    #[error(
        "The request does not include a valid mode. Valid values for generate include 'overwrite', 'no-overwrite' and 'converge'."
    )]
    Mode,
    #[error(
        "The parameters overwrite and mode cannot be combined. Please update and retry your request."
    )]
    ModeAndOverwrite,
    #[error(
        "A non-empty value must be specified for the credential. Please validate and retry your request."
    )]
    ValueMissing,
    #[error(
        "A password value must be specified for the credential. Please validate and retry your request."
    )]
    PasswordMissing,
    #[error("Value exceeds the maximum size.")]
    TooLarge,

    #[error(
        "The combination of parameters in the request is not allowed. Please validate your input and retry your request."
    )]
    NoCharacters,
    #[error(
        "The provided key length is not supported. Valid values include '2048', '3072' and '4096'."
    )]
    KeyLength,
    #[error(
        "The password could not be regenerated because the value was statically set. Only generated passwords may be regenerated."
    )]
    PasswordWasSet,
    #[error(
        "The user could not be regenerated because the value was statically set. Only generated users may be regenerated."
    )]
    UserWasSet,
    #[error(
        "The credential could not be regenerated because the certificate was statically set and is not self-signed or is invalid."
    )]
    CertificateWasSet,

    #[error(transparent)]
    Certificate(#[from] CertificateRejection),
    #[error(transparent)]
    Permission(#[from] PermissionRejection),

    #[error("An application error occurred. Please contact your CredHub administrator.")]
    Internal(#[source] Box<dyn Error + Send + Sync>),
}

/// Errors in a certificate or in a request for one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CertificateRejection {
    #[error("This request must include a value for 'parameters'.")]
    NoParameters,
    #[error(
        "At least one subject value, such as common name or organization, must be defined to generate the certificate. Please update and retry your request."
    )]
    NoSubject,
    #[error(
        "You must specify a signing CA or indicate self-signing when generating a certificate. Please update and retry your request."
    )]
    NoSigner,
    #[error(
        "The parameters 'ca' and 'self-sign' cannot be used in combination. Please update and retry your request."
    )]
    TwoSigners,
    #[error(
        "A provided alternative name is not a valid hostname or IP address. Please update this value and retry your request."
    )]
    AlternativeName,
    #[error(
        "The provided extended key usage '{0}' is not supported. Valid values include 'client_auth', 'server_auth', 'code_signing', 'email_protection' and 'timestamping'."
    )]
    ExtendedKeyUsage(String),
    #[error(
        "The provided key usage '{0}' is not supported. Valid values include 'digital_signature', 'non_repudiation', 'key_encipherment', 'data_encipherment', 'key_agreement', 'key_cert_sign', 'crl_sign', 'encipher_only' and 'decipher_only'."
    )]
    KeyUsage(String),
    #[error(
        "Invalid duration specified. The supported duration values are whole numbers between 1-3650."
    )]
    Duration,
    #[error(
        "The request could not be completed because the {what} is too long. The max length for {what} is {limit} characters."
    )]
    TooLong { what: &'static str, limit: usize },
    #[error("The specified CA object does not have an associated private key.")]
    AuthorityWithoutKey,
    #[error(
        "The requested certificate cannot be signed by the given CA because the given CA is not a certificate authority. A certificate must contain the extension 'Certificate Authority: YES' to be used to sign other certificates."
    )]
    NotAnAuthority,
    #[error("The name given for the CA does not reference a CA type credential.")]
    NotAnAuthorityName,
    #[error("Private key is malformed.")]
    InvalidKey,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PermissionRejection {
    #[error(
        "A permission entry for this actor and path already exists. Please use PUT to update the permission entry."
    )]
    Exists,
    #[error("The request includes a permission that does not exist.")]
    Unknown,
    #[error(
        "The request could not be completed because the permission does not exist or you do not have sufficient authorization."
    )]
    NotFound,
    #[error(
        "The provided operation is not supported. Valid values include read, write, delete, read_acl, and write_acl."
    )]
    Operation,
    #[error(
        "Modification of access control for the authenticated user is not allowed. Please contact an administrator."
    )]
    OwnActor,
    #[error("The permission guid does not match the provided actor and path.")]
    OtherPathOrActor,
    #[error(
        "At least one access control entry must be provided. Please validate your input and retry your request."
    )]
    NoEntries,
    #[error("You must specify an actor. Please validate your input and retry your request.")]
    NoActor,
    #[error(
        "At least one operation must be provided. Please validate your input and retry your request."
    )]
    NoOperations,
    #[error("You must specify a path. Please validate your input and retry your request.")]
    NoPath,
    #[error(
        "Credential paths may only include alpha, numeric, hyphen, underscore, and forward-slash characters. Please update and retry your request."
    )]
    PathCharacter,
    #[error(
        "A credential path cannot end with a '/' character or contain '//'. Credential paths should be in the form of /[path]/[name] or [path]/[name]. Please update and retry your request."
    )]
    PathSlash,
}

impl Rejection {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NoSuchCredential | Self::NoSuchAuthority => StatusCode::NOT_FOUND,
            Self::MayNotWrite => StatusCode::FORBIDDEN,
            Self::TypeForSet | Self::UnreadableMember(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Permission(rejection) => rejection.status(),
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Malformed
            | Self::UnknownMember(_)
            | Self::QueryParameterMissing(_)
            | Self::QueryParameterInvalid(_)
            | Self::VersionsAndCurrent
            | Self::NameMissing
            | Self::NameSlash
            | Self::NameCharacter
            | Self::NameTooLong
            | Self::MetadataTooLong
            | Self::TypeForGenerate
            | Self::TypeForRegenerate
            | Self::TypeNotGenerated
            | Self::OtherType
            | Self::Mode
            | Self::ModeAndOverwrite
            | Self::ValueMissing
            | Self::PasswordMissing
            | Self::NoCharacters
            | Self::KeyLength
            | Self::PasswordWasSet
            | Self::UserWasSet
            | Self::CertificateWasSet
            | Self::Certificate(_) => StatusCode::BAD_REQUEST,
        }
    }
}

impl PermissionRejection {
    fn status(&self) -> StatusCode {
        match self {
            Self::Exists => StatusCode::CONFLICT,
            Self::Unknown | Self::NotFound => StatusCode::NOT_FOUND,
            Self::Operation => StatusCode::UNPROCESSABLE_ENTITY,
            Self::OwnActor
            | Self::OtherPathOrActor
            | Self::NoEntries
            | Self::NoActor
            | Self::NoOperations
            | Self::NoPath
            | Self::PathCharacter
            | Self::PathSlash => StatusCode::BAD_REQUEST,
        }
    }
}

impl From<NameError> for Rejection {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Missing => Self::NameMissing,
            NameError::Slash => Self::NameSlash,
            NameError::Character => Self::NameCharacter,
            NameError::TooLong => Self::NameTooLong,
        }
    }
}
