use super::*;

mod page;

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn understood(line: &[&str]) -> Result<CommandLine, clap::Error> {
    let (form, words) = Form::of(words(line));
    CommandLine::parse(form, &words)
}

/// Asserts that all lines of flags of `collect-service-metrics` parse to the same command.
fn all_mean_the_same(lines: &[&[&str]]) {
    let expected = format!("{:?}", understood(lines[0]).unwrap().errand);
    for line in lines {
        assert_eq!(
            format!("{:?}", understood(line).unwrap().errand),
            expected,
            "{line:?}"
        );
    }
}

#[test]
fn one_dash_is_as_good_as_two_and_a_space_as_an_equals_sign() {
    all_mean_the_same(&[
        &["odb-errand", "broker-post-start", "--config", "a=b.yml"],
        &["odb-errand", "broker-post-start", "--config=a=b.yml"],
        &["odb-errand", "broker-post-start", "-config", "a=b.yml"],
        &["odb-errand", "broker-post-start", "-config=a=b.yml"],
        &[
            "odb-errand",
            "broker-post-start",
            "-configFilePath",
            "a=b.yml",
        ],
        &[
            "odb-errand",
            "broker-post-start",
            "--configFilePath=a=b.yml",
        ],
        &["broker-post-start", "-configFilePath", "a=b.yml"],
        &["/var/vcap/bin/broker-post-start", "-configFilePath=a=b.yml"],
    ]);
}

#[test]
fn a_value_may_look_like_a_flag() {
    all_mean_the_same(&[
        &[
            "collect-service-metrics",
            "-brokerPassword=-brokerUrl",
            "-brokerUrl=x",
        ],
        &[
            "collect-service-metrics",
            "-brokerPassword",
            "-brokerUrl",
            "-brokerUrl",
            "x",
        ],
    ]);
}

#[test]
fn a_boolean_takes_its_value_only_with_an_equals_sign() {
    let flag = "-disableTLSCertificateVerification";
    let with = |value: &str| format!("{flag}={value}");
    all_mean_the_same(&[
        &["collect-service-metrics", flag],
        &["collect-service-metrics", &with("true")],
        &["collect-service-metrics", &with("1")],
        &["collect-service-metrics", &with("T")],
        // The word ends the flags, and is ignored.
        &["collect-service-metrics", flag, "false"],
    ]);
    all_mean_the_same(&[
        &["collect-service-metrics", &with("false")],
        &["collect-service-metrics", &with("0")],
    ]);
    let error = understood(&["collect-service-metrics", &with("no")]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn extra_arguments_are_ignored_in_the_go_form_and_rejected_in_the_new_form() {
    all_mean_the_same(&[
        &["broker-post-start", "-timeout", "5"],
        &["broker-post-start", "-timeout", "5", "extra", "-unknown"],
        &["broker-post-start", "-timeout", "5", "--", "-unknown"],
    ]);
    let error = understood(&["odb-errand", "broker-post-start", "extra"]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn no_switch_is_lost_behind_an_extra_word() {
    for line in [
        &[
            "upgrade-all-service-instances",
            "-configPath",
            "f",
            "now",
            "--dry-run",
        ][..],
        &[
            "upgrade-all-service-instances",
            "-configPath=f",
            "--continue",
            "true",
            "-dry-run",
        ],
        &[
            "delete-all-service-instances",
            "-configFilePath",
            "f",
            "now",
            "--plan=small",
        ],
    ] {
        let error = understood(line).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line:?}");
        let text = error.to_string();
        assert!(text.contains("unexpected argument"), "{text}");
    }
}

#[test]
fn unknown_flags_and_missing_values_mean_nothing() {
    for line in [
        &["odb-errand"][..],
        &["odb-errand", "no-such-errand"],
        &["broker-post-start", "-unknown"],
        &["broker-post-start", "-config"],
        &["broker-post-start", "-timeout", "soon"],
        &[
            "odb-errand",
            "collect-service-metrics",
            "--config",
            "a",
            "--brokerUrl",
            "b",
        ],
    ] {
        assert_eq!(understood(line).unwrap_err().exit_code(), 2, "{line:?}");
    }
}

#[test]
fn help_is_no_error() {
    for line in [
        &["odb-errand", "--help"][..],
        &["odb-errand", "broker-post-start", "-h"],
        &["odb-errand", "broker-post-start", "-help"],
        &["broker-post-start", "--help"],
        &["broker-post-start", "-h"],
    ] {
        assert_eq!(understood(line).unwrap_err().exit_code(), 0, "{line:?}");
    }
}

#[test]
fn the_command_line_is_sound() {
    Program::command().debug_assert();
}
