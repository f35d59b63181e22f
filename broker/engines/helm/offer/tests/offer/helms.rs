//! Both generations of Helm: `ODB_HELM3` and `ODB_HELM4`, or what `scripts/kubernetes-testbed build` has left in its cache.

use std::{env, path::PathBuf};

use odb_offer::helm::Helm;
use odb_process::Orphans;

pub(crate) fn both() -> [Helm; 2] {
    [("ODB_HELM3", "helm-3"), ("ODB_HELM4", "helm-4")].map(|(variable, name)| {
        let path = env::var_os(variable).map_or_else(|| cached(name), PathBuf::from);
        assert!(
            path.is_file(),
            "there is no `{}`; run `scripts/kubernetes-testbed build`, or set {variable}",
            path.display()
        );
        Helm::find(&path, None, Orphans::Ignored).unwrap_or_else(|error| panic!("{error}"))
    })
}

fn cached(name: &str) -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let cache = cache.expect("a user has a home");
    let bin = cache.join("on-demand-broker/kubernetes-testbed/bin");
    bin.join(name)
}
