//! The container image, by programs that others use for images.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use odb_stories::{Binaries, Foundation};
use serde_json::Value;

use super::{
    built::{VERSION, build},
    container::{Bundle, image},
    machine::{as_root, succeed, text},
    site::{Site, site},
};

fn skopeo(arguments: &[&str]) -> String {
    let reference = format!("oci-archive:{}:{VERSION}", image().display());
    succeed(Command::new("skopeo").args(arguments).arg(reference))
}

#[test]
fn the_image_says_what_it_is_and_how_it_starts() {
    let seen: Value = serde_json::from_str(&skopeo(&["inspect", "--config"])).unwrap();
    let configuration = &seen["config"];

    assert_eq!(configuration["User"], "65532:65532");
    assert_eq!(configuration["Entrypoint"][0], "/usr/bin/on-demand-broker");
    assert!(
        configuration["ExposedPorts"]["8080/tcp"].is_object(),
        "{seen}"
    );
    let labels = &configuration["Labels"];
    assert_eq!(labels["org.opencontainers.image.version"], VERSION);
    for label in ["title", "licenses", "source", "description", "revision"] {
        let label = format!("org.opencontainers.image.{label}");
        assert!(labels[&label].is_string(), "{label}: {seen}");
    }
}

/// Authorities that only the machine trusts on which the image is built are not among them.
#[test]
fn the_image_trusts_the_authorities_of_debian_and_no_others() {
    let bundle = Bundle::new();
    let inside = bundle.root().join("etc/ssl/certs/ca-certificates.crt");
    let inside = succeed(as_root("cat").arg(inside));
    let debian: String = contents(Path::new("/usr/share/ca-certificates/mozilla"))
        .into_iter()
        .map(|(_, bytes)| text(&bytes))
        .collect();
    assert!(debian.contains("BEGIN CERTIFICATE"));
    assert_eq!(inside, debian);
}

#[test]
fn containerd_finds_the_name_of_the_image_in_its_index() {
    let index = succeed(
        Command::new("tar")
            .arg("-xOf")
            .arg(image())
            .arg("index.json"),
    );
    let index: Value = serde_json::from_str(&index).unwrap();
    assert_eq!(
        index["manifests"][0]["annotations"]["io.containerd.image.name"],
        format!("docker.io/library/on-demand-broker:{VERSION}")
    );
}

/// `skopeo copy` compares every digest and size.
#[test]
fn registries_and_docker_take_the_image() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["oci", "docker-archive"] {
        let copy = format!("{kind}:{}", folder.path().join(kind).display());
        let from = format!("oci-archive:{}:{VERSION}", image().display());
        let policy = ["--insecure-policy", "copy", "--quiet"];
        succeed(Command::new("skopeo").args(policy).args([&from, &copy]));
    }
    // What `docker load` reads before it knew layouts.
    let from = format!("docker-archive:{}", image().display());
    let seen = succeed(Command::new("skopeo").args(["inspect", &from]));
    assert!(seen.contains("/usr/bin"), "{seen}");
}

#[test]
fn the_image_holds_programs_and_roots_of_trust_and_no_shell() {
    let bundle = Bundle::new();
    let listed = succeed(
        as_root("find")
            .arg(bundle.root())
            .args(["-type", "f", "-printf", "%P\\n"]),
    );
    let files: Vec<&str> = listed.lines().collect();

    for file in [
        "usr/bin/on-demand-broker",
        "usr/bin/odb",
        "usr/bin/odb-errand",
        "usr/lib/on-demand-broker/redis-service-adapter",
        "etc/ssl/certs/ca-certificates.crt",
        "usr/share/doc/on-demand-broker/LICENSES",
        "usr/share/doc/on-demand-broker/bill-of-materials.cdx.json",
    ] {
        assert!(files.contains(&file), "{file}: {listed}");
    }
    for program in ["sh", "bash", "busybox", "apt", "dpkg"] {
        let found = files
            .iter()
            .any(|file| file.ends_with(&format!("bin/{program}")));
        assert!(!found, "{program}: {listed}");
    }
    let set = succeed(as_root("find").arg(bundle.root()).args(["-perm", "/6000"]));
    assert_eq!(set, "", "files that change the user");
}

#[tokio::test]
async fn the_broker_in_a_container_serves_without_rights_on_a_root_it_cannot_change() {
    let foundation = Foundation::start().await;
    let site = site(
        &foundation,
        "/run/secrets/on-demand-broker",
        "/etc/on-demand-broker/tls",
    );
    let mounts = mounted(&site, &foundation.folder().join("mounted"));
    let bundle = Bundle::new();
    let arguments = bundle.arguments();

    let mut container = bundle.start(&arguments, &[], &mounts);
    container.answers(&site.platform, "/health").await;

    site.platform.catalog().await.expect_status(200);
    // The adapter runs in the container, too.
    site.platform.created().await;
    let status = container.status();
    assert!(status.contains("Uid:\t65532\t65532"), "{status}");
    assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let mounts = container.look("mountinfo");
    let root = mounts
        .lines()
        .find(|line| line.split(' ').nth(4) == Some("/"));
    let options = root
        .and_then(|line| line.split(' ').nth(5))
        .unwrap_or_default();
    assert!(options.starts_with("ro"), "{mounts}");
    let ended = container.stop().await;
    assert!(ended.success(), "{ended}");
}

/// Copies of one small program are enough, except for the program that writes man pages.
#[test]
fn the_same_programs_make_the_same_image_and_the_same_debian_package() {
    let binaries = Binaries::find();
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    fs::create_dir(&programs).unwrap();
    for program in [
        "on-demand-broker",
        "odb-errand",
        "kafka-service-adapter",
        "redis-service-adapter",
        "template-service-adapter",
    ] {
        fs::copy(binaries.path("go-test-adapter"), programs.join(program)).unwrap();
    }
    for program in ["odb", "odb-release"] {
        fs::copy(binaries.path(program), programs.join(program)).unwrap();
    }
    let built = ["first", "second"].map(|name| {
        let output = folder.path().join(name);
        build(&["image", "deb", "chart"], &programs, &output);
        contents(&output)
    });
    let [first, second] = &built;
    assert_eq!(
        first.len(),
        9,
        "{:?}",
        first.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    for ((name, one), (_, other)) in first.iter().zip(second) {
        assert!(one == other, "{name} differs");
    }
}

fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// The files of a site, and where a container sees them.
pub(super) fn mounted(site: &Site, folder: &Path) -> Vec<(PathBuf, String)> {
    let write = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("it is in a folder"))
            .and_then(|()| fs::write(path, text))
            .expect("the test made the folder");
    };
    write(folder.join("broker.yml"), &site.configuration);
    write(folder.join("tls/tls.crt"), &site.certificate);
    write(folder.join("tls/tls.key"), &site.key);
    for (name, secret) in &site.secrets {
        write(folder.join("secrets").join(name), secret);
    }
    for_nonroot(folder);
    [
        ("broker.yml", "/etc/on-demand-broker/broker.yml"),
        ("secrets", "/run/secrets/on-demand-broker"),
        ("tls", "/etc/on-demand-broker/tls"),
    ]
    .map(|(name, target)| (folder.join(name), target.to_owned()))
    .into()
}

/// Only the broker's group may read them, as in a volume with `fsGroup`.
pub(super) fn for_nonroot(folder: &Path) {
    succeed(as_root("chown").args(["-R", ":65532"]).arg(folder));
    succeed(
        Command::new("chmod")
            .args(["-R", "u=rwX,g=rX,o="])
            .arg(folder),
    );
}
