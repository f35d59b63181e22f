//! Reads what a secret is to be generated with.

use serde_json::Value;

use super::{
    Recipe, SshParameters,
    keys::KeyLength,
    password::{Letters, StringParameters},
};
use crate::credhub::{
    certificate::{CertificateParameters, ExtendedKeyUse, KeyUse, Subject},
    credential::{CredentialType, Members},
    name::CredentialName,
    rejection::{CertificateRejection, Rejection},
};

const DAYS: u32 = 365;

pub(in crate::credhub) fn recipe(
    kind: &str,
    parameters: Option<Value>,
    value: Option<Value>,
) -> Result<Recipe, Rejection> {
    let kind = CredentialType::named(kind).ok_or(Rejection::TypeForGenerate)?;
    let has_parameters = parameters.is_some();
    let mut members = Members::of(parameters)?;
    let recipe = match kind {
        CredentialType::Password => Recipe::Password(string_parameters(&mut members)?),
        CredentialType::User => {
            let mut parameters = string_parameters(&mut members)?;
            let mut value = Members::of(value)?;
            if let Some(username) = value.text("username")? {
                parameters.username = Some(username);
            }
            value.end(Rejection::UnknownMember)?;
            Recipe::User(parameters)
        }
        CredentialType::Rsa => Recipe::Rsa(key_length(&mut members)?),
        CredentialType::Ssh => Recipe::Ssh(SshParameters {
            key_length: key_length(&mut members)?,
            comment: members.text("ssh_comment")?.unwrap_or_default(),
        }),
        CredentialType::Certificate if !has_parameters => {
            return Err(CertificateRejection::NoParameters.into());
        }
        CredentialType::Certificate => {
            let parameters = certificate_parameters(&mut members)?;
            Recipe::Certificate(Box::new(parameters))
        }
        CredentialType::Value | CredentialType::Json => return Err(Rejection::TypeNotGenerated),
    };
    members.end(Rejection::UnknownMember)?;
    if let Recipe::Certificate(parameters) = &recipe {
        parameters.check()?;
    }
    Ok(recipe)
}

fn string_parameters(members: &mut Members) -> Result<StringParameters, Rejection> {
    let defaults = StringParameters::default();
    let unused = |excluded: Option<bool>| match excluded {
        Some(true) => Letters::Unused,
        Some(false) | None => Letters::Used,
    };
    let length = members.number("length")?;
    let parameters = StringParameters {
        length: length.map_or(defaults.length, |length| {
            usize::try_from(length).unwrap_or(usize::MAX)
        }),
        username: members.text("username")?,
        lower: unused(members.flag("exclude_lower")?),
        upper: unused(members.flag("exclude_upper")?),
        number: unused(members.flag("exclude_number")?),
        special: match members.flag("include_special")? {
            Some(true) => Letters::Used,
            Some(false) | None => Letters::Unused,
        },
    };
    if parameters.have_letters() {
        Ok(parameters)
    } else {
        Err(Rejection::NoCharacters)
    }
}

fn key_length(members: &mut Members) -> Result<KeyLength, Rejection> {
    let Some(bits) = members.number("key_length")? else {
        return Ok(KeyLength::default());
    };
    let bits = usize::try_from(bits).unwrap_or(usize::MAX);
    KeyLength::of_bits(bits).ok_or(Rejection::KeyLength)
}

fn certificate_parameters(members: &mut Members) -> Result<CertificateParameters, Rejection> {
    let is_ca = members.flag("is_ca")?.unwrap_or(false);
    let self_sign = members.flag("self_sign")?.unwrap_or(false);
    let ca_name = members.filled_text("ca")?;
    let extended = members.texts("extended_key_usage")?;
    let usage = members.texts("key_usage")?;
    let days = members.number("duration")?;
    Ok(CertificateParameters {
        subject: Subject {
            common_name: members.filled_text("common_name")?,
            organization: members.filled_text("organization")?,
            organization_unit: members.filled_text("organization_unit")?,
            locality: members.filled_text("locality")?,
            state: members.filled_text("state")?,
            country: members.filled_text("country")?,
        },
        key_length: key_length(members)?,
        days: days.map_or(DAYS, |days| u32::try_from(days).unwrap_or(u32::MAX)),
        is_ca,
        self_signed: self_sign || (is_ca && ca_name.is_none()),
        ca_name: ca_name.map(|name| CredentialName::sought(&name)),
        alternative_names: members.texts("alternative_names")?,
        extended_key_usage: extended
            .iter()
            .map(|name| ExtendedKeyUse::named(name))
            .collect::<Result<_, _>>()?,
        key_usage: usage
            .iter()
            .map(|name| KeyUse::named(name))
            .collect::<Result<_, _>>()?,
    })
}
