//! Which releases an instance may be deployed with and move to.

use odb_adapter_sdk::manifest::{Manifest, Release};
use odb_adapter_sdk::protocol::ServiceRelease;
use odb_adapter_sdk::release_version::{
    ReleaseVersionError, VersionOrder, check_minimum, check_no_downgrade,
};

fn moved(previous: &str, version: &str, order: VersionOrder) -> Result<(), ReleaseVersionError> {
    let releases = [ServiceRelease::new("r", version, vec!["job".to_owned()])];
    let previous = Manifest {
        releases: vec![Release::new("r", previous)],
        ..Manifest::default()
    };
    check_no_downgrade("job", &releases, &previous, order)
}

#[test]
fn an_instance_moves_up_and_stays() {
    use VersionOrder::{MajorMinorDev, Semantic};
    for (previous, version, order) in [
        ("1", "1", MajorMinorDev),
        ("1", "2", MajorMinorDev),
        ("1.9", "1.10", MajorMinorDev),
        ("1.2", "1.2+dev.3", MajorMinorDev),
        ("3.1.5", "3.1.4", MajorMinorDev),
        ("latest", "1", MajorMinorDev),
        ("9", "latest", MajorMinorDev),
        ("0.9.0", "0.16.0", Semantic),
        ("1.0.0-rc.1", "1.0.0", Semantic),
        ("1.0.0+a", "1.0.0", Semantic),
    ] {
        let outcome = moved(previous, version, order);
        assert!(outcome.is_ok(), "{previous} to {version}: {outcome:?}");
    }
}

#[test]
fn an_instance_does_not_move_down_or_to_something_else() {
    use VersionOrder::{MajorMinorDev, Semantic};
    for (previous, version, order) in [
        ("2", "1", MajorMinorDev),
        ("1.10", "1.9", MajorMinorDev),
        ("1.2+dev.3", "1.2+dev.2", MajorMinorDev),
        ("0.16.0", "0.9.0", Semantic),
    ] {
        let outcome = moved(previous, version, order);
        assert!(
            matches!(outcome, Err(ReleaseVersionError::Downgrade { .. })),
            "{previous} to {version}: {outcome:?}"
        );
    }
    for (previous, version, order) in [
        ("1", "new", MajorMinorDev),
        ("old", "1", MajorMinorDev),
        ("1.0.0", "1.0", Semantic),
    ] {
        let outcome = moved(previous, version, order);
        assert!(
            matches!(outcome, Err(ReleaseVersionError::NotAVersion { .. })),
            "{previous} to {version}: {outcome:?}"
        );
    }
    let releases = [ServiceRelease::new("r", "2", vec!["job".to_owned()])];
    let previous = Manifest {
        releases: vec![Release::new("other", "1")],
        ..Manifest::default()
    };
    let error = check_no_downgrade("job", &releases, &previous, MajorMinorDev).unwrap_err();
    assert_eq!(
        error.to_string(),
        "release `r` is not the one the instance was deployed with"
    );
}

#[test]
fn an_error_about_an_old_release_names_the_required_version() {
    let outcome = |version: &str| {
        let releases = [ServiceRelease::new("r", version, vec!["job".to_owned()])];
        check_minimum("job", &releases, "0.16.0", VersionOrder::Semantic)
    };
    assert_eq!(outcome("0.16.0"), Ok(()));
    assert_eq!(outcome("1.0.0"), Ok(()));
    assert_eq!(
        outcome("0.15.9").unwrap_err().to_string(),
        "release `r` has version `0.15.9`; at least `0.16.0` is required"
    );
    assert_eq!(
        outcome("15").unwrap_err().to_string(),
        "release `r` has version `15`, which is not a semantic version such as `1.2.3`"
    );
    let error = check_minimum("job", &[], "1", VersionOrder::MajorMinorDev).unwrap_err();
    assert_eq!(error.to_string(), "the service deployment has no release");
}
