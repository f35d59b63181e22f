//! Secrets in files and in environment variables.

use std::{
    ffi::OsString,
    fs::{self, Permissions},
    os::unix::{ffi::OsStringExt, fs::PermissionsExt},
    path::PathBuf,
};

use tempfile::TempDir;

use super::*;

const SECRET: &str = "hunter2-outside";

/// `broker.password`, in line 4 of the file.
const WRITTEN: &str = "password: hunter2-broker";

fn variables(name: &str) -> Option<OsString> {
    match name {
        "PASSWORD" => Some(SECRET.into()),
        "_p2" => Some("${PASSWORD}".into()),
        "EMPTY" => Some(OsString::new()),
        "BINARY" => Some(OsString::from_vec(vec![b'h', 0xff])),
        _ => None,
    }
}

fn inspect(source: &str, paths: Paths) -> Inspection {
    Inspection::with(Path::new("broker.yml"), source, paths, variables)
}

/// The broker's password, or the errors; and the warnings.
fn read(password: &str) -> (Result<String, Vec<String>>, Vec<String>) {
    let source = minimal().replace(WRITTEN, password);
    let inspection = inspect(&source, Paths::OfThisMachine);
    let texts = |findings: &[ConfigFinding]| -> Vec<String> {
        let texts: Vec<_> = findings.iter().map(ToString::to_string).collect();
        for (finding, text) in findings.iter().zip(&texts) {
            let line = inspection.excerpt(finding).map(|excerpt| excerpt.text);
            let shown = format!("{text}\n{}", line.unwrap_or_default());
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        texts
    };
    let (errors, warnings) = (texts(&inspection.errors), texts(&inspection.warnings));
    let password = match inspection.sections.broker {
        Reported::Right(broker) if errors.is_empty() => {
            Ok(broker.credentials.password().expose_secret().to_owned())
        }
        _ => Err(errors),
    };
    (password, warnings)
}

fn errors(password: &str) -> Vec<String> {
    read(password).0.unwrap_err()
}

/// A file that only its owner can read.
fn file(folder: &TempDir, content: impl AsRef<[u8]>) -> PathBuf {
    let file = folder.path().join("secret");
    fs::write(&file, content).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    file
}

#[test]
fn a_secret_is_read_from_a_file_without_its_last_line_break() {
    let folder = tempfile::tempdir().unwrap();
    for (content, value) in [
        ("hunter2-outside", SECRET),
        ("hunter2-outside\n", SECRET),
        ("hunter2-outside\r\n", SECRET),
        ("two\nlines\n\n", "two\nlines\n"),
        (" ${PASSWORD}", " ${PASSWORD}"),
        ("${PASSWORD}", "${PASSWORD}"),
    ] {
        let path = file(&folder, content).display().to_string();
        // The release renders unset properties as null.
        for rest in ["", "\n  password:", "\n  password: ''"] {
            let (password, warnings) = read(&format!("password_file: {path}{rest}"));
            assert_eq!(password.as_deref(), Ok(value), "{content:?}");
            assert_eq!(warnings, Vec::<String>::new(), "{content:?}");
        }
    }
}

#[test]
fn a_file_that_every_user_can_read_causes_one_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, SECRET);
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();

    let (password, warnings) = read(&format!("password_file: {}", path.display()));

    assert_eq!(password.as_deref(), Ok(SECRET));
    assert_eq!(
        warnings,
        [
            "broker.yml:4:18: `broker.password_file` names a file that every user of this machine can read; `chmod o-r` it"
        ]
    );
}

#[test]
fn a_file_that_cannot_be_used_is_refused_and_neither_content_nor_path_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &str| {
        let errors = errors(&format!("password_file: {path}"));
        let [error] = errors.as_slice() else {
            panic!("{errors:?}")
        };
        let error = error.strip_prefix("broker.yml:4:18: `broker.password_file` ");
        let (wrong, _) = error.unwrap().split_once("; ").unwrap();
        wrong.to_owned()
    };
    let with = |content: &[u8]| refused(&file(&folder, content).display().to_string());

    assert_eq!(with(b""), "names an empty file");
    assert_eq!(with(b"\n"), "names an empty file");
    assert_eq!(with(b"hunter2\xff"), "names a file that is not UTF-8");
    let too_large = "names a file of more than 64 KiB";
    assert_eq!(with(&vec![b'x'; (64 << 10) + 1]), too_large);
    let folder_path = folder.path().display().to_string();
    assert_eq!(refused(&folder_path), "does not name a regular file");
    let missing = "names a file that does not exist";
    assert_eq!(refused("/hunter2/base64=="), missing);
    assert_eq!(refused("hunter2"), "is not an absolute path");
    let within = format!("{}/secret/below", folder.path().display());
    assert!(refused(&within).starts_with("names a file that cannot be read: "));
}

#[test]
fn a_value_and_a_file_are_refused_together_with_both_locations() {
    assert_eq!(
        errors("password: hunter2\n  password_file: /hunter2"),
        [
            "broker.yml:5:18: `broker.password_file` conflicts with `password` at 4:13; give one of the two"
        ]
    );
    assert_eq!(
        errors("password: [hunter2]\n  password_file: /hunter2"),
        ["broker.yml:4:13: `broker.password` is a list; it must be text"]
    );
}

#[test]
fn a_reference_to_a_variable_is_the_complete_value_and_is_replaced_once() {
    for (written, value) in [
        ("${PASSWORD}", SECRET),
        ("'${PASSWORD}'", SECRET),
        ("${_p2}", "${PASSWORD}"),
        ("x${PASSWORD}", "x${PASSWORD}"),
        ("${PASSWORD}x", "${PASSWORD}x"),
        ("'${PASSWORD} '", "${PASSWORD} "),
        ("$PASSWORD", "$PASSWORD"),
        ("${}", "${}"),
        ("${2P}", "${2P}"),
        ("${PASS-WORD}", "${PASS-WORD}"),
        ("'${${PASSWORD}}'", "${${PASSWORD}}"),
    ] {
        let (password, warnings) = read(&format!("password: {written}"));
        assert_eq!(password.as_deref(), Ok(value), "{written}");
        assert_eq!(warnings, Vec::<String>::new(), "{written}");
    }
}

#[test]
fn a_variable_without_a_value_is_refused_with_its_name() {
    for (name, why) in [
        ("UNSET", "is not set"),
        ("EMPTY", "is empty"),
        ("BINARY", "is not UTF-8"),
    ] {
        assert_eq!(
            errors(&format!("password: ${{{name}}}")),
            [format!(
                "broker.yml:4:13: `broker.password` refers to the environment variable `{name}`, which {why}; set it; \
                 use `password_file` for a secret that looks like `${{{name}}}`"
            )]
        );
    }
}

#[test]
fn only_secrets_refer_to_variables_and_files() {
    let source = minimal()
        .replace("username: broker", "username: ${PASSWORD}")
        .replace(WRITTEN, "password: x\n  username_file: /x");
    let inspection = inspect(&source, Paths::OfThisMachine);

    let username = inspection.sections.broker.right().unwrap();
    assert_eq!(username.credentials.username(), "${PASSWORD}");
    assert_eq!(inspection.warnings.len(), 1, "{:?}", inspection.warnings);
}

#[test]
fn secret_maintenance_information_is_read_from_variables() {
    let private = |value: &str| {
        let info = format!("  maintenance_info: {{private: {{seed: '{value}'}}}}\n  plans:");
        inspect(&minimal().replace("  plans:", &info), Paths::OfThisMachine)
    };
    let version = |value: &str| {
        let inspection = private(value);
        assert_eq!(inspection.errors, []);
        let offering = inspection.sections.offering.right().unwrap().clone();
        format!("{:?}", offering.plans[0].maintenance_info)
    };

    assert_eq!(version("${PASSWORD}"), version(SECRET));
    let errors = private("${UNSET}").errors;
    assert_eq!(
        errors[0].text(),
        "`service_catalog.maintenance_info.private.seed` refers to the environment variable `UNSET`, which is not set; set it"
    );
}

#[test]
fn files_and_variables_of_another_machine_are_not_read() {
    for password in ["password: ${UNSET}", "password_file: /missing"] {
        let source = minimal().replace(WRITTEN, password);
        let inspection = inspect(&source, Paths::OfAnother);
        assert_eq!(inspection.errors, [], "{password}");
    }
    let source = minimal().replace(WRITTEN, "password_file: missing");
    assert_eq!(inspect(&source, Paths::OfAnother).errors.len(), 1);
}

#[test]
fn a_typo_of_the_key_of_a_file_is_reported() {
    assert_eq!(
        errors("pasword_file: /x"),
        [
            "broker.yml:4:3: `broker.password` is missing; write `password_file` for `pasword_file` at 4:3"
        ]
    );
}

#[test]
fn clients_of_upstreams_have_their_secrets_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "hunter2-file\n").display().to_string();
    let source = minimal()
        .replace(
            "client_secret: hunter2-bosh",
            "client_secret: \"${PASSWORD}\"",
        )
        .replace(
            "client_secret: hunter2-cf",
            &format!("client_secret_file: {path}"),
        )
        .replace("broker:\n", "broker:\n  disable_cf_startup_checks: true\n");
    let inspection = inspect(&source, Paths::OfThisMachine);
    assert_eq!(inspection.errors, []);

    let sections = inspection.sections;
    let Credentials::Uaa { client_secret, .. } = &sections.bosh.right().unwrap().credentials else {
        panic!("a client is configured");
    };
    assert_eq!(client_secret.expose_secret(), SECRET);
    let cf = sections.cloud_foundry.right().unwrap();
    let Grant::ClientCredentials { client_secret, .. } = &cf.credentials else {
        panic!("a client is configured");
    };
    assert_eq!(client_secret.expose_secret(), "hunter2-file");
}
