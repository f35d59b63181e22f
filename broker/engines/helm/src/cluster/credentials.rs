//! The credentials file of a cluster: `server`, `caData` and `token`, as YAML or JSON.

use std::fmt;

use base64::{Engine as _, engine::general_purpose};
use jiff::{Timestamp, ToSpan as _};
use odb_adapter_sdk::yaml;
use rustls_pki_types::{CertificateDer, pem::PemObject as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::Value;
use url::{Host, Url};

use super::kubeconfig;

/// How long before its end a token is worth a warning, in days.
const TOKEN_WARNING: i64 = 30;

/// How to reach a cluster, and as whom.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub server: Url,
    /// The authorities that vouch for the server; without any, those of the system.
    pub authorities: Vec<CertificateDer<'static>>,
    pub token: SecretString,
}

/// Credentials, and what an operator should know about them.
#[derive(Debug)]
pub struct Parsed {
    pub credentials: Credentials,
    pub warnings: Vec<CredentialsProblem>,
}

/// One thing that is wrong with a file, or worth a warning. No text repeats the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialsProblem {
    pub field: &'static str,
    pub message: String,
}

/// The members of the file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File {
    #[serde(default)]
    pub(super) server: Option<String>,
    #[serde(default)]
    pub(super) ca_data: Option<String>,
    #[serde(default)]
    pub(super) token: Option<SecretString>,
    #[serde(default)]
    pub(super) username: Option<String>,
}

impl Credentials {
    /// Reads a file, or the current context of a kubeconfig. Reports everything that is wrong, not only the first.
    /// `allows_insecure` permits `http` to this machine, for tests.
    pub fn parse(
        text: &str,
        allows_insecure: bool,
        now: Timestamp,
    ) -> Result<Parsed, Vec<CredentialsProblem>> {
        let document: Value = yaml::from_str(text).map_err(|error| {
            // The message of a parser may quote the token.
            let line = error.line().map(|line| format!(", line {line}"));
            vec![problem(
                "file",
                format!("is not YAML{}", line.unwrap_or_default()),
            )]
        })?;
        let file = if document["kind"] == "Config" {
            kubeconfig::file_of(&document)?
        } else {
            // A list would be read as the members in their order.
            let map = Some(document).filter(Value::is_object);
            map.and_then(|map| serde_json::from_value(map).ok())
                .ok_or_else(|| {
                    let form = "has to be a map with the texts `server`, `caData` and `token`";
                    vec![problem("file", form)]
                })?
        };
        file.checked(allows_insecure, now)
    }
}

impl File {
    fn checked(
        self,
        allows_insecure: bool,
        now: Timestamp,
    ) -> Result<Parsed, Vec<CredentialsProblem>> {
        let mut problems = Vec::new();
        let mut warnings = Vec::new();
        if self.username.is_some() {
            problems.push(problem(
                "username",
                "basic authentication is gone from Kubernetes: give the token of a service account",
            ));
        }
        let server = keep(
            server(self.server.as_deref().unwrap_or_default(), allows_insecure),
            &mut problems,
        );
        let authorities = keep(
            authorities(
                self.ca_data.as_deref().unwrap_or_default(),
                now,
                &mut warnings,
            ),
            &mut problems,
        );
        let token = keep(
            token(self.token.as_ref(), now, &mut warnings),
            &mut problems,
        );
        match (server, authorities, token) {
            (Some(server), Some(authorities), Some(token)) if problems.is_empty() => Ok(Parsed {
                credentials: Credentials {
                    server,
                    authorities,
                    token,
                },
                warnings,
            }),
            _ => Err(problems),
        }
    }
}

fn keep<T>(
    result: Result<T, CredentialsProblem>,
    problems: &mut Vec<CredentialsProblem>,
) -> Option<T> {
    result.map_err(|problem| problems.push(problem)).ok()
}

fn server(text: &str, allows_insecure: bool) -> Result<Url, CredentialsProblem> {
    let text = text.trim();
    let wrong = |message: &str| Err(problem("server", message));
    if text.is_empty() {
        return wrong(
            "is missing: give the address of the API server, such as `https://10.0.0.1:6443`",
        );
    }
    let Ok(url) = Url::parse(text) else {
        return wrong("is not a URL: give one such as `https://10.0.0.1:6443`");
    };
    let is_loopback = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => return wrong("has no host"),
    };
    match url.scheme() {
        "https" => {}
        "http" if allows_insecure && is_loopback => {}
        _ => return wrong("has to begin with `https://`"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("has a user: credentials belong into `token`");
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return wrong("has a path: give scheme, host and port alone");
    }
    Ok(url)
}

/// PEM text, or base64 of it.
fn authorities(
    text: &str,
    now: Timestamp,
    warnings: &mut Vec<CredentialsProblem>,
) -> Result<Vec<CertificateDer<'static>>, CredentialsProblem> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let pem = if text.starts_with("-----BEGIN") {
        text.as_bytes().to_vec()
    } else {
        let packed: String = text.split_whitespace().collect();
        general_purpose::STANDARD.decode(packed).map_err(|_| {
            problem(
                "caData",
                "is neither a certificate in PEM form nor base64 of one",
            )
        })?
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = found
        .ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| problem("caData", "holds no certificate in PEM form"))?;
    for certificate in &certificates {
        let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else {
            return Err(problem(
                "caData",
                "holds a certificate that is not readable",
            ));
        };
        let end = parsed.validity().not_after.timestamp();
        if end < now.as_second() {
            let subject = parsed.subject();
            return Err(problem(
                "caData",
                format!("the certificate of {subject} has expired"),
            ));
        }
        if !parsed.is_ca() {
            warnings.push(problem(
                "caData",
                format!(
                    "{} is not an authority; only a server with this very certificate is trusted",
                    parsed.subject()
                ),
            ));
        }
    }
    Ok(certificates)
}

/// A pasted line break is the commonest fault.
fn token(
    token: Option<&SecretString>,
    now: Timestamp,
    warnings: &mut Vec<CredentialsProblem>,
) -> Result<SecretString, CredentialsProblem> {
    let given = token.map(|token| token.expose_secret().trim());
    let text = given.filter(|text| !text.is_empty()).ok_or_else(|| {
        problem(
            "token",
            "is missing: give the token of a service account of the cluster",
        )
    })?;
    if text.chars().any(|c| c == '\n' || c == '\r') {
        return Err(problem(
            "token",
            "has a line break inside: paste it as one line",
        ));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(problem(
            "token",
            "has a blank or a character that no token has",
        ));
    }
    if let Some(end) = end_of(text) {
        if end < now {
            return Err(problem("token", format!("expired at {end}")));
        }
        // A month from now cannot be out of the range of times, and hours are exact.
        let soon = now.checked_add((TOKEN_WARNING * 24).hours());
        if soon.is_ok_and(|soon| end < soon) {
            warnings.push(problem("token", format!("expires at {end}")));
        }
    }
    Ok(SecretString::from(text))
}

/// The end of a JSON Web Token, which is not verified here: the cluster does that.
fn end_of(token: &str) -> Option<Timestamp> {
    let claims = token.split('.').nth(1)?;
    let claims = general_purpose::URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Timestamp::from_second(claims["exp"].as_i64()?).ok()
}

pub(super) fn problem(field: &'static str, message: impl Into<String>) -> CredentialsProblem {
    CredentialsProblem {
        field,
        message: message.into(),
    }
}

impl fmt::Display for CredentialsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.field, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "s3cr3t-token";

    fn parse(text: &str) -> Result<Parsed, Vec<String>> {
        Credentials::parse(text, false, now())
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    fn now() -> Timestamp {
        "2026-11-27T12:00:00Z".parse().unwrap()
    }

    fn with(token: &str) -> String {
        serde_json::json!({ "server": "https://10.0.0.1:6443", "token": token }).to_string()
    }

    /// A token whose claims have this end.
    fn web_token(end: &str) -> String {
        let end: Timestamp = end.parse().unwrap();
        let claims = format!(r#"{{"exp":{}}}"#, end.as_second());
        format!(
            "head.{}.sign",
            general_purpose::URL_SAFE_NO_PAD.encode(claims)
        )
    }

    #[test]
    fn a_file_may_have_blanks_around_its_values() {
        let parsed = parse(&format!(
            "server: ' https://10.0.0.1:6443 '\ntoken: |\n  {TOKEN}\n"
        ))
        .unwrap();
        assert_eq!(parsed.credentials.server.as_str(), "https://10.0.0.1:6443/");
        assert_eq!(parsed.credentials.token.expose_secret(), TOKEN);
        assert!(parsed.credentials.authorities.is_empty() && parsed.warnings.is_empty());
        assert!(!format!("{parsed:?}").contains(TOKEN));
    }

    #[test]
    fn everything_that_is_wrong_is_reported_at_once_and_no_token_with_it() {
        let problems =
            parse("server: 10.0.0.1\ncaData: '%%'\ntoken: \"s3cr3t\\ntoken\"\nusername: admin\n")
                .unwrap_err();
        let text = problems.join("\n");
        for field in [
            "`server`",
            "`caData`",
            "`token` has a line break",
            "`username`",
        ] {
            assert!(text.contains(field), "{text}");
        }
        assert!(!text.contains("s3cr3t"), "{text}");
    }

    #[test]
    fn servers_are_https_and_nothing_else() {
        for (server, text) in [
            ("", "is missing"),
            ("10.0.0.1", "is not a URL"),
            ("http://127.0.0.1:8080", "has to begin with"),
            ("https://user:pw@host", "has a user"),
            ("https://host/api", "has a path"),
            ("https://host?x", "has a path"),
        ] {
            let file = serde_json::json!({ "server": server, "token": TOKEN }).to_string();
            let problems = parse(&file).unwrap_err();
            assert!(problems[0].contains(text), "{server}: {problems:?}");
        }
        let local = serde_json::json!({ "server": "http://127.0.0.1:8080", "token": TOKEN });
        assert!(Credentials::parse(&local.to_string(), true, now()).is_ok());
        let remote = serde_json::json!({ "server": "http://10.0.0.1:8080", "token": TOKEN });
        assert!(Credentials::parse(&remote.to_string(), true, now()).is_err());
    }

    #[test]
    fn the_end_of_a_web_token_is_read() {
        assert!(
            parse(&with(&web_token("2027-11-27T12:00:00Z")))
                .unwrap()
                .warnings
                .is_empty()
        );
        let soon = parse(&with(&web_token("2026-12-20T12:00:00Z"))).unwrap();
        assert_eq!(
            soon.warnings[0].to_string(),
            "`token` expires at 2026-12-20T12:00:00Z"
        );
        let over = parse(&with(&web_token("2026-11-20T12:00:00Z"))).unwrap_err();
        assert_eq!(over, ["`token` expired at 2026-11-20T12:00:00Z"]);
    }

    #[test]
    fn authorities_are_pem_or_base64_of_it() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::default();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let pem = parameters.self_signed(&key).unwrap().pem();
        parameters.not_after = rcgen::date_time_ymd(2020, 1, 1);
        let expired = parameters.self_signed(&key).unwrap().pem();
        let file = |authority: &str| {
            serde_json::json!({ "server": "https://h", "caData": authority, "token": TOKEN })
                .to_string()
        };
        for form in [pem.clone(), general_purpose::STANDARD.encode(&pem)] {
            assert_eq!(
                parse(&file(&form)).unwrap().credentials.authorities.len(),
                1
            );
        }
        for (authority, text) in [
            (
                general_purpose::STANDARD.encode("no certificate"),
                "holds no certificate",
            ),
            ("-----BEGIN NOTHING".to_owned(), "holds no certificate"),
            (expired, "has expired"),
        ] {
            let problems = parse(&file(&authority)).unwrap_err();
            assert!(problems[0].contains(text), "{problems:?}");
        }
    }

    #[test]
    fn a_file_of_another_form_is_refused_by_its_place_alone() {
        assert_eq!(parse("token: [").unwrap_err().len(), 1);
        assert!(parse("- a").unwrap_err()[0].contains("has to be a map"));
        assert!(parse("token: {a: hunter2}").unwrap_err()[0].contains("has to be a map"));
    }
}
