//! Values at the wrong place of a file are reported without being repeated.

use super::*;

fn warnings(source: &str) -> Vec<String> {
    let loaded = parse(source).unwrap();
    loaded.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_pem_in_the_location_of_its_path_is_reported_and_not_repeated() {
    let with = |certificate: &str, key: &str| {
        let tls = format!("  port: 8080\n  tls: {{cert_file: {certificate}, key_file: {key}}}\n");
        findings(&minimal().replace("  port: 8080\n", &tls))
    };
    let whole = r#""-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n""#;
    let folded = "'-----BEGIN PRIVATE KEY----- hunter2'";
    let middle = r#""hunter2\nhunter2""#;

    for pem in [whole, folded, middle] {
        for (certificate, key, expected) in [
            (pem, "/broker.key", &["cert_file"][..]),
            ("/broker.crt", pem, &["key_file"]),
            (pem, pem, &["cert_file", "key_file"]),
            (pem, "", &["cert_file"]),
        ] {
            let found = with(certificate, key);
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (error, key) in found.iter().zip(expected) {
                let reported =
                    format!("`broker.tls.{key}` contains the PEM itself; give the path of a file");
                assert!(error.ends_with(&reported), "{error}");
            }
        }
    }
}

#[test]
fn an_unknown_key_is_named_only_if_it_looks_like_one() {
    let long = "a".repeat(41);
    for (key, is_named) in [
        ("relases", true),
        ("my-own_key2", true),
        ("Hunter2", false),
        ("hunter2:hunter2", false),
        ("hunter2 hunter2", false),
        ("'-----BEGIN PRIVATE KEY-----'", false),
        (long.as_str(), false),
    ] {
        let unknown = format!("service_deployment:\n  {key}: x\n  {key}: x\n");
        let found = warnings(&minimal().replace("service_deployment:\n", &unknown));

        assert_eq!(found.len(), 3, "{found:?}");
        for warning in found {
            assert_eq!(
                warning.contains(key.trim_matches('\'')),
                is_named,
                "{warning}"
            );
            assert!(warning.contains("`service_deployment"), "{warning}");
        }
    }
}

#[test]
fn a_file_that_is_no_map_has_one_error() {
    for (source, reported) in [
        ("", "the file is empty; "),
        ("# nothing\n", "the file is empty; "),
        ("---\n", "the file is empty; "),
        ("hunter2", "the file is text; "),
        ("- hunter2\n", "the file is a list; "),
        ("12", "the file is a whole number; "),
    ] {
        let found = findings(source);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(reported), "{found:?}");
        assert!(
            found[0].ends_with("; it must be a map of sections such as `broker` and `bosh`"),
            "{found:?}"
        );
    }
}

#[test]
fn a_number_beyond_all_bounds_is_reported_as_it_is_written() {
    for written in ["99999999999999999999", "18446744073709551615", "-1.5e+30"] {
        let found = findings(&minimal().replace("port: 8080", &format!("port: {written}")));
        let reported = format!("broker.yml:2:9: `broker.port` is {written}; give 1 to 65535");
        assert_eq!(found, [reported]);
    }
    let timings = "port: 8080\n  timings: {adapter_processes: 99999999999999999999}";
    let found = findings(&minimal().replace("port: 8080", timings));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("is 99999999999999999999; "), "{found:?}");
}

#[test]
fn a_missing_key_is_reported_once_at_its_misspelt_key() {
    for (section, written) in [
        ("service_deployment", "service_deploymnt"),
        ("service_catalog", "service_catalogue"),
        ("bosh", "bosch"),
    ] {
        let whole = minimal().replace(&format!("\n{section}:"), &format!("\n{written}:"));
        let line = 1 + whole
            .lines()
            .position(|line| line.starts_with(&format!("{written}:")))
            .unwrap();
        let invalid = Config::parse(Path::new("broker.yml"), &whole).unwrap_err();
        let found: Vec<_> = invalid.findings.iter().map(ToString::to_string).collect();
        let reported = format!(
            "broker.yml:{line}:1: `{section}` is missing; write `{section}` for `{written}` at {line}:1"
        );
        assert_eq!(found, [reported]);
        assert_eq!(invalid.warnings, []);
    }

    let found =
        findings(&minimal().replace("  password: hunter2-broker", "  pasword: hunter2-broker"));
    assert_eq!(
        found,
        ["broker.yml:4:3: `broker.password` is missing; write `password` for `pasword` at 4:3"]
    );
}
