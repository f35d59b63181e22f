//! Debian packages, files of which are in a package of ours.

use std::{path::Path, process::Command};

use anyhow::{Context, ensure};

use super::{Component, Origin, READING};
use crate::stage::run;

pub(super) fn of(names: &[String]) -> anyhow::Result<Vec<Component>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = Command::new("dpkg-query");
    query
        .args([
            "--show",
            "--showformat",
            "${Package} ${Version} ${Architecture}\\n",
        ])
        .args(names);
    let found = run(query, "run this on Debian", READING)?;
    found.lines().map(component).collect()
}

fn component(line: &str) -> anyhow::Result<Component> {
    let [name, version, architecture] = line.split(' ').collect::<Vec<_>>()[..] else {
        anyhow::bail!("`dpkg-query` has printed `{line}`, which is no package");
    };
    let copyright = Path::new("/usr/share/doc").join(name).join("copyright");
    ensure!(
        copyright.is_file(),
        "`{}` is missing; reinstall the package `{name}`",
        copyright.display()
    );
    let escaped = version.replace('+', "%2B").replace(':', "%3A");
    Ok(Component {
        name: name.to_owned(),
        version: version.to_owned(),
        purl: format!("pkg:deb/debian/{name}@{escaped}?arch={architecture}"),
        origin: Origin::Debian,
        license: None,
        sha256: None,
        texts: vec![
            copyright
                .canonicalize()
                .with_context(|| crate::contents::unreadable(&copyright))?,
        ],
        authors: Vec::new(),
        uses: Vec::new(),
    })
}
