//! Which program comes with which package.

/// A package of the release with programs of this project.
#[derive(Clone, Copy, Debug)]
pub(super) struct Package {
    /// Its name, in both kinds of the release.
    pub(super) name: &'static str,
    /// Its programs. Each is the one program of the Cargo package of the same name.
    pub(super) programs: &'static [&'static str],
}

/// All of them.
pub(super) const PACKAGES: [Package; 2] = [
    Package {
        name: "on-demand-broker",
        programs: &["on-demand-broker", "odb-errand"],
    },
    Package {
        name: "service-adapters",
        programs: &[
            "kafka-service-adapter",
            "redis-service-adapter",
            "template-service-adapter",
        ],
    },
];
