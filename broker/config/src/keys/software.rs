//! The keys of the sections `service_adapter` and `service_deployment`.

use super::key::{DefaultValue, Key, Keys, Kind};

pub(super) const ADAPTER: Keys = Keys::only(&[
    Key::text("path", "The service adapter's executable.").required(),
    Key::texts(
        "environment",
        "Names of environment variables that the adapter gets to see beside `PATH`, `HOME`, `TMPDIR`, locale and proxies.",
    )
    .of_our_own(),
    Key::number_within(
        "concurrent_bindings_per_instance",
        1,
        1024,
        "How many bindings of one instance the adapter creates and deletes at once. Give 1 for an adapter that cannot do two at a time.",
    )
    .otherwise(DefaultValue::Number(8))
    .of_our_own(),
    Key::texts(
        "mount_paths",
        "Paths that the adapter reads under bpm; used by the BOSH release only.",
    )
    .read_elsewhere(),
]);

pub(super) const DEPLOYMENT: Keys = Keys::only(&[
    Key::sections(
        "releases",
        &RELEASE,
        "The releases on the Director that manifests use, each with its jobs.",
    )
    .required(),
    Key::sections("stemcells", &STEMCELL, "The stemcells that manifests use.").required(),
    Key::new("stemcell", Kind::Anything, "The older form of `stemcells`.")
        .deprecated("give `stemcells`, a list"),
]);

const RELEASE: Keys = Keys::only(&[
    Key::text("name", "The release's name on the Director.").required(),
    Key::text(
        "version",
        "An exact version, never `latest`. Quote it: `\"1.10\"`.",
    )
    .required(),
    Key::texts("jobs", "The jobs that the adapter may use."),
]);

const STEMCELL: Keys = Keys::only(&[
    Key::text(
        "name",
        "The stemcell's name, where the operating system does not suffice.",
    ),
    Key::text("os", "An operating system, such as `ubuntu-jammy`.").required(),
    Key::text(
        "version",
        "An exact version, never `latest`. Quote it: `\"1.80\"`.",
    )
    .required(),
    Key::text("alias", "Not used; the adapter chooses an alias.").read_elsewhere(),
]);
