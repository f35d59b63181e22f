//! Credentials out of the current context of a kubeconfig, if they are a token and an authority inside it.

use secrecy::SecretString;
use serde_json::Value;

use super::credentials::{CredentialsProblem, File, problem};

pub(super) fn file_of(config: &Value) -> Result<File, Vec<CredentialsProblem>> {
    let current = config["current-context"].as_str().unwrap_or_default();
    let Some(context) = entry(config, "contexts", "context", current) else {
        return Err(vec![problem(
            "current-context",
            "names no context: choose one with `kubectl config use-context NAME`",
        )]);
    };
    let named = |key: &str| context[key].as_str().unwrap_or_default();
    let mut problems = Vec::new();
    let cluster = entry(config, "clusters", "cluster", named("cluster"));
    let user = entry(config, "users", "user", named("user"));
    let (Some(cluster), Some(user)) = (cluster, user) else {
        return Err(vec![problem(
            "current-context",
            "names a cluster or user that the file does not have",
        )]);
    };
    for (key, message) in [
        (
            "exec",
            "a command gets the token: give the token of a service account instead",
        ),
        (
            "auth-provider",
            "a plugin gets the token: give the token of a service account instead",
        ),
        (
            "client-certificate",
            "client certificates are not supported: give the token of a service account",
        ),
        (
            "client-certificate-data",
            "client certificates are not supported: give the token of a service account",
        ),
        (
            "tokenFile",
            "the token is in another file: put it into `token`",
        ),
        (
            "username",
            "basic authentication is gone from Kubernetes: give the token of a service account",
        ),
    ] {
        if user.get(key).is_some() {
            problems.push(problem("user", message));
        }
    }
    for (key, message) in [
        (
            "certificate-authority",
            "the authority is in another file: put it into `certificate-authority-data`",
        ),
        (
            "insecure-skip-tls-verify",
            "the certificate of a cluster is always verified: remove `insecure-skip-tls-verify`",
        ),
        ("proxy-url", "a proxy of the cluster's own is not supported"),
        (
            "tls-server-name",
            "another name in the certificate is not supported",
        ),
    ] {
        let is_set = cluster
            .get(key)
            .is_some_and(|value| *value != Value::Bool(false));
        if is_set {
            problems.push(problem("cluster", message));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Ok(File {
        server: text(&cluster["server"]),
        ca_data: text(&cluster["certificate-authority-data"]),
        token: text(&user["token"]).map(SecretString::from),
        ..File::default()
    })
}

/// The content of the entry with this name in one of the lists.
fn entry<'c>(config: &'c Value, list: &str, content: &str, name: &str) -> Option<&'c Value> {
    let entries = config[list].as_array()?;
    let entry = entries.iter().find(|entry| entry["name"] == name)?;
    entry.get(content)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use secrecy::ExposeSecret as _;
    use serde_json::json;

    use super::super::Credentials;
    use super::*;

    fn config(cluster: &Value, user: &Value) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "prod",
            "contexts": [{ "name": "prod", "context": { "cluster": "c", "user": "u" } }],
            "clusters": [{ "name": "c", "cluster": cluster }],
            "users": [{ "name": "u", "user": user }],
        })
        .to_string()
    }

    fn parse(text: &str) -> Result<Credentials, Vec<CredentialsProblem>> {
        Credentials::parse(text, false, Timestamp::UNIX_EPOCH).map(|parsed| parsed.credentials)
    }

    #[test]
    fn the_current_context_is_taken() {
        let text = config(
            &json!({ "server": "https://h:6443" }),
            &json!({ "token": "t" }),
        );
        let credentials = parse(&text).unwrap();
        assert_eq!(credentials.server.as_str(), "https://h:6443/");
        assert_eq!(credentials.token.expose_secret(), "t");
    }

    #[test]
    fn what_lies_outside_of_the_file_is_refused() {
        let cluster = json!({ "server": "https://h", "certificate-authority": "ca.pem", "insecure-skip-tls-verify": false });
        let user = json!({ "exec": { "command": "aws" }, "client-certificate-data": "x" });
        let problems = parse(&config(&cluster, &user)).unwrap_err();
        assert_eq!(problems.len(), 3, "{problems:?}");
        let other = config(&json!({}), &json!({}))
            .replace("\"prod\",\"contexts\"", "\"test\",\"contexts\"");
        assert_eq!(parse(&other).unwrap_err()[0].field, "current-context");
    }
}
