use proptest::prelude::*;

use super::*;

/// Ways in which programs print a secret, which is at `§`.
const WAYS: &[&str] = &[
    "password: §",
    "db.password = §",
    "REDIS_PASSWORD=§",
    "export DB_PASS=§",
    "  secret: §",
    "- client_secret: §",
    "{\"pwd\":\"§\"}",
    "{\"password\":\"§\",\"user\":\"bob\"}",
    "{\"credentials\":{\"uri\":\"x\",\"data\":\"§\"}}",
    "{\\\"admin_password\\\": \\\"§\\\", \\\"a\\\": 1}",
    "{'apiKey': '§'}",
    "<password>§</password>",
    "clientSecret=§",
    "time=12:00 level=info token=§ host=10.0.0.1",
    "GET https://host/path?user=bob&access_token=§&page=2",
    "Server=db;Password=§;Database=x",
    "key=§",
    "api-key: §",
    "mysql -uroot -p§ -h db",
    "psql --password § --host db",
    "redis-server --requirepass § --port 6379",
    "requirepass §",
    "redis-cli -h db -a § ping",
    "curl -u admin:§ https://host",
    "ALTER USER bob WITH PASSWORD '§'",
    "CREATE USER bob IDENTIFIED BY '§';",
    "cannot connect to redis://:§@10.0.0.1:6379/0",
    "postgres://bob:§@db:5432/x?sslmode=require failed",
    "Authorization: Basic §",
    "Cookie: a=b; session=§",
    "the secret for the plan = §",
    "password for bob: §",
    "using password: § for bob",
    "-----BEGIN PRIVATE KEY----- §",
    "-----BEGIN RSA PRIVATE KEY-----\n§\n-----END RSA PRIVATE KEY-----",
    "password: |\n  first\n  §\nuser: bob",
    "\"secrets\": {\n  \"data\": \"§\"\n}",
];

/// Messages of the Director, CredHub, UAA and the broker about secrets, without a secret.
const PLAIN: &[&str] = &[
    "handling generate-manifest",
    "the secret is kept",
    "no basic rule was broken",
    "passwords match",
    "basic authentication failed",
    "Variable name 'odb_secret:§' must only contain alphanumeric, underscores, dashes, or forward slash characters",
    "- Failed to find variable '/bosh/service-instance_i/§_password' from config server: HTTP Code '404', Error: 'The request \
     could not be completed because the credential does not exist or you do not have sufficient authorization.'",
    "the adapter's manifest has `((odb_secret:§))`, but no secret of that name came with it",
    "password: ((§_password))",
    "{\"secret\": \"((/odb/service/service-instance_i/§))\"}",
    "redis://:((§))@10.0.0.1:6379",
    "CredHub at `credhub.host` refused `DELETE /api/v1/data?name=/c/service/i/§/credentials` with status 403: `forbidden`",
    "could not store the credentials: CredHub at `credhub.host` did not answer `PUT /api/v1/data`: no connection could be \
     established",
    "could not look for the stored credentials: the time was over before CredHub had answered",
    "invalid_token: The access token expired",
    "access_token_expired: ask for another one",
    "there is no token for the Director: UAA at `uaa.host` refused client `§`",
    "`cf.authentication.client_credentials.secret`: must not be empty",
    "could not read the secret behind `((§))`: not found",
    "credential=/odb/service/service-instance_i/§ was deleted",
    "token_url: https://uaa.host/oauth/token",
    "token_type: bearer, expires_in: 43199",
    "key: maxclients, value: 10",
    "wrote secret_name=§ to the manifest",
    "java -port 8080 -plan-json {} -p 22",
    "GET https://host:8443/users/§@example.com failed",
    "ssh://git@host/repository",
    "password of bob was refused: no such user",
    "password: null",
    "{\"secrets\":{},\"token\":null}",
    "PWD=/var/vcap/jobs/§",
    "Content-Type: application/json; tokenizer: standard",
];

#[test]
fn a_line_without_a_sign_is_handed_on_as_it_is() {
    let line = "Task 12 | 10:00:00 | Updating instance redis-server: redis-server/0 (canary)";
    assert!(matches!(redact(line), Cow::Borrowed(_)));
}

#[test]
fn what_follows_a_secret_stays_where_the_secret_has_an_end() {
    for (line, shown) in [
        (
            "password=hunter2 error=\"connection refused\"",
            "password=<redacted> error=\"connection refused\"",
        ),
        (
            "redis://:hunter2@10.0.0.1:6379: connection refused",
            "redis://:<redacted>@10.0.0.1:6379: connection refused",
        ),
        (
            "{\"password\":\"hunter2\",\"error\":\"no route\"}",
            "{\"password\":\"<redacted>\",\"error\":\"no route\"}",
        ),
        (
            "mysql -uroot -phunter2 -h db: no route",
            "mysql -uroot -p<redacted> -h db: no route",
        ),
        (
            "redis://:1/a@b@10.0.0.1:6379 is down",
            "redis://:<redacted>@10.0.0.1:6379 is down",
        ),
        (
            "https://0123456789abcdef@host: no route",
            "https://<redacted>@host: no route",
        ),
        (
            "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig is too old",
            "Bearer <redacted> is too old",
        ),
        (
            "sent eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig: refused",
            "sent <redacted>: refused",
        ),
        (
            "the token: 0123456789abcdef: is too old",
            "the token: <redacted>: is too old",
        ),
        (
            "the token:\u{a0}2é3 is too old",
            "the token:\u{a0}<redacted> is too old",
        ),
    ] {
        assert_eq!(redact(line), shown);
    }
}

#[test]
fn a_key_over_several_lines_does_not_pass() {
    let mut redaction = Redaction::default();
    let text = "writing key\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\nhunter2==\n-----END RSA PRIVATE KEY-----\ndone";
    let redacted: Vec<_> = text
        .lines()
        .map(|line| redaction.line(line).into_owned())
        .collect();
    assert!(!redacted.join("").contains("hunter2"), "{redacted:?}");
    assert_eq!(redacted[0], "writing key");
    assert_eq!(redacted[5], "done");
}

proptest! {
    #[test]
    fn no_planted_secret_survives(
        way in prop::sample::select(WAYS),
        secret in "[A-Za-z0-9][A-Za-z0-9!$%*+.:^_~-]{7,40}",
        before in "[ -~]{0,20}",
        in_context in any::<bool>(),
    ) {
        let before = if in_context { format!("{before}\n") } else { String::new() };
        let line = format!("{before}{}\ndone", way.replacen('§', &secret, 1));
        let redacted = redact(&line);
        prop_assert!(!redacted.contains(&secret), "{line} became {redacted}");
        prop_assert_eq!(&redact(&redacted), &redacted);
    }

    #[test]
    fn a_secret_with_quotes_and_spaces_does_not_survive_in_quotes(
        secret in "[A-Z]{6}[ \"'\\\\{}\\[\\],:=&;@/<>-]{1,3}[A-Z ]{0,10}[A-Z]{6}",
    ) {
        let json = serde_json::json!({ "user": "bob", "password": secret, "host": "db" }).to_string();
        let nested = serde_json::json!({ "line": json }).to_string();
        for line in [json, nested] {
            let redacted = redact(&line);
            for part in [&secret[..6], &secret[secret.len() - 6..]] {
                prop_assert!(!redacted.contains(part), "{line} became {redacted}");
            }
        }
    }

    #[test]
    fn any_text_is_redacted_line_by_line(
        text in "(\\PC|\n|password[:= ]|\"token\":|://|-p|-u a:|\\(\\(|eyJ|[\"'\\\\{}\\[\\]<>]){0,30}",
    ) {
        let redacted = redact(&text);
        prop_assert_eq!(redacted.lines().count(), text.lines().count());
    }

    #[test]
    fn no_placeholder_and_no_name_is_eaten(
        way in prop::sample::select(PLAIN),
        name in "[a-z]{1,10}(-[a-z]{1,10}){0,2}",
    ) {
        let line = way.replacen('§', &name, 1);
        prop_assert_eq!(redact(&line), line.as_str());
    }
}
