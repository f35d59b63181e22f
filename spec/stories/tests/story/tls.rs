//! Certificates: the broker's own, and those of its upstreams.

use std::{fs, net::IpAddr, path::Path, sync::Arc};

use odb_stories::{Errand, ErrandConfiguration, Foundation, Process, eventually};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, PKCS_ECDSA_P256_SHA256,
    PKCS_RSA_SHA256, SignatureAlgorithm,
};
use rustls::{
    ClientConfig, RootCertStore, SupportedCipherSuite, SupportedProtocolVersion,
    crypto::aws_lc_rs::{self, cipher_suite},
    version::{TLS12, TLS13},
};
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    TIMEOUT,
    start_up::{everything, expect_no_secrets},
};

/// An authority of the test's own, and a certificate of the broker signed by it.
pub(crate) struct Own {
    authority: CertificateDer<'static>,
    authority_pem: String,
}

impl Own {
    /// Writes certificate, chain and key beside the configuration. The times are years, months and days.
    pub(crate) fn write(
        foundation: &Foundation,
        kind: &'static SignatureAlgorithm,
        until: (i32, u8, u8),
        authority_until: (i32, u8, u8),
    ) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        let (year, month, day) = authority_until;
        parameters.not_after = rcgen::date_time_ymd(year, month, day);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let authority = CertifiedIssuer::self_signed(parameters, key).unwrap();

        let (address, _) = foundation.broker_address();
        let mut parameters = CertificateParams::new([address.to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        let (year, month, day) = until;
        parameters.not_after = rcgen::date_time_ymd(year, month, day);
        let key = KeyPair::generate_for(kind).unwrap();
        let certificate = parameters.signed_by(&key, &authority).unwrap();
        let file = |name: &str, text: String| {
            fs::write(foundation.folder().join(name), text).unwrap();
        };
        file("own.crt", certificate.pem() + &authority.pem());
        file("own.key", key.serialize_pem());
        Self {
            authority: authority.der().clone(),
            authority_pem: authority.pem(),
        }
    }

    /// Connects to the broker with one TLS configuration, and returns the application protocol.
    async fn handshake(
        &self,
        foundation: &Foundation,
        version: &'static SupportedProtocolVersion,
        suites: Vec<SupportedCipherSuite>,
    ) -> Result<Option<Vec<u8>>, std::io::Error> {
        let stream = self.connect(foundation, version, suites).await?;
        Ok(stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec))
    }

    pub(crate) async fn connect(
        &self,
        foundation: &Foundation,
        version: &'static SupportedProtocolVersion,
        suites: Vec<SupportedCipherSuite>,
    ) -> Result<TlsStream<TcpStream>, std::io::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone()).unwrap();
        let mut provider = aws_lc_rs::default_provider();
        if !suites.is_empty() {
            provider.cipher_suites = suites;
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let (host, port) = foundation.broker_address();
        let address: IpAddr = host.parse().unwrap();
        let tcp = TcpStream::connect((address, port)).await?;
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(ServerName::from(address), tcp).await
    }
}

/// A broker with `own.crt` and `own.key` that listens.
async fn start(foundation: &Foundation) -> Process {
    let file = |name: &str| foundation.folder().join(name).display().to_string();
    let configuration = foundation
        .broker()
        .with("/broker/tls/cert_file", file("own.crt").into())
        .with("/broker/tls/key_file", file("own.key").into())
        .write("own.yml");
    let mut broker = serve(foundation, &configuration, &[]);
    listens(&mut broker).await;
    broker
}

pub(crate) fn serve(
    foundation: &Foundation,
    configuration: &Path,
    environment: &[(&str, &str)],
) -> Process {
    let file = configuration.display().to_string();
    foundation.broker_process_in(&["serve", "--config", &file], environment)
}

pub(crate) async fn listens(broker: &mut Process) {
    eventually("the broker listens", TIMEOUT, async || {
        assert!(broker.is_running(), "it has ended: {}", everything(broker));
        let said = broker.output();
        said.contains("\"listening\"").then_some(()).ok_or(said)
    })
    .await;
}

/// The line of the log with this code.
fn line(broker: &Process, code: &str) -> Option<Value> {
    let said = broker.output();
    let lines = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.into_iter().find(|line: &Value| line["code"] == code)
}

#[tokio::test]
async fn with_an_rsa_key_version_1_2_is_used_with_two_suites_and_1_3_with_all_of_its_own() {
    let foundation = Foundation::start().await;
    let own = Own::write(&foundation, &PKCS_RSA_SHA256, (2999, 1, 1), (2999, 1, 1));
    let broker = start(&foundation).await;
    // HTTP/2 is not offered.
    let http1 = Some(b"http/1.1".to_vec());

    for suite in [
        cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ] {
        let used = own.handshake(&foundation, &TLS12, vec![suite]).await;
        assert_eq!(used.unwrap(), http1, "{suite:?}");
    }
    let other = cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256;
    let refused = own.handshake(&foundation, &TLS12, vec![other]).await;
    assert!(refused.is_err(), "{other:?}");
    for suite in [
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ] {
        let used = own.handshake(&foundation, &TLS13, vec![suite]).await;
        assert_eq!(used.unwrap(), http1, "{suite:?}");
    }
    assert_eq!(line(&broker, "ODB-1116"), None);
    assert_eq!(line(&broker, "ODB-1114"), None);
}

#[tokio::test]
async fn with_another_key_version_1_3_is_used_and_the_log_says_who_is_left_out() {
    let foundation = Foundation::start().await;
    let own = Own::write(
        &foundation,
        &PKCS_ECDSA_P256_SHA256,
        (2999, 1, 1),
        (2999, 1, 1),
    );
    let broker = start(&foundation).await;

    let used = own.handshake(&foundation, &TLS13, Vec::new()).await;
    assert_eq!(used.unwrap(), Some(b"http/1.1".to_vec()));
    assert!(
        own.handshake(&foundation, &TLS12, Vec::new())
            .await
            .is_err()
    );
    let warned = line(&broker, "ODB-1116").unwrap().to_string();
    assert!(
        warned.contains("broker.tls.key_file") && warned.contains("TLS 1.3"),
        "{warned}"
    );
}

#[tokio::test]
async fn the_certificate_of_the_chain_that_ends_first_is_warned_of() {
    let foundation = Foundation::start().await;
    // The authority's certificate has expired; clients with a newer one of the same name can still connect.
    Own::write(
        &foundation,
        &PKCS_ECDSA_P256_SHA256,
        (2999, 1, 1),
        (2024, 2, 29),
    );
    let broker = start(&foundation).await;

    let warned = eventually("it is reported", TIMEOUT, async || {
        line(&broker, "ODB-1114").ok_or_else(|| everything(&broker))
    })
    .await;
    assert_eq!(warned["level"], "ERROR", "{warned}");
    assert_eq!(warned["expiry"], "2024-02-29T00:00:00Z", "{warned}");
    assert!(warned.to_string().contains("renew it"), "{warned}");
}

/// `openssl req -x509` also creates an authority's certificate.
#[tokio::test]
async fn an_errand_accepts_the_brokers_self_signed_certificate_and_no_other() {
    let foundation = Foundation::start().await;
    let (address, port) = foundation.broker_address();
    let mut parameters = CertificateParams::new([address.to_owned()]).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let [own, other] = [(); 2].map(|()| {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        (parameters.self_signed(&key).unwrap(), key)
    });
    let write = |name: &str, text: String| {
        let file = foundation.folder().join(name);
        fs::write(&file, text).unwrap();
        Value::from(file.display().to_string())
    };
    let configuration = foundation
        .broker()
        .with("/broker/password", "hunter2-broker".into())
        .with("/broker/tls/cert_file", write("own.crt", own.0.pem()))
        .with(
            "/broker/tls/key_file",
            write("own.key", own.1.serialize_pem()),
        )
        .write("own.yml");
    let mut broker = serve(&foundation, &configuration, &[]);
    listens(&mut broker).await;

    let url = format!("https://{address}:{port}");
    for (certificate, status) in [(own.0, 0), (other.0, 1)] {
        let configuration = ErrandConfiguration::of_broker(&foundation, &url, "hunter2-broker")
            .with("/broker_api/tls/ca_cert", certificate.pem().into());
        Errand::new(&foundation, "orphan-deployments")
            .configured(&configuration)
            .run()
            .await
            .expect_status(status);
    }
}

#[tokio::test]
async fn without_a_configured_authority_that_of_the_operating_system_counts() {
    let foundation = Foundation::start().await;
    let file = foundation
        .broker()
        .with("/bosh/root_ca_cert", Value::Null)
        .with("/cf/root_ca_cert", Value::Null)
        .write("system.yml");

    let authority = foundation.authority_file();
    let mut broker = serve(&foundation, &file, &[("SSL_CERT_FILE", &authority)]);
    listens(&mut broker).await;
    drop(broker);

    // A broker without a trusted authority gets both remedies.
    let no_user = foundation.folder().join("nobody.crt");
    fs::write(&no_user, "").unwrap();
    let no_user = no_user.display().to_string();
    let folder = foundation.folder().join("nothing");
    fs::create_dir(&folder).unwrap();
    let folder = folder.display().to_string();
    let environment = [
        ("SSL_CERT_FILE", no_user.as_str()),
        ("SSL_CERT_DIR", &folder),
    ];
    let mut broker = serve(&foundation, &file, &environment);
    assert_eq!(broker.exit(TIMEOUT).await.code(), Some(1));
    let said = everything(&broker);
    for remedy in ["bosh.root_ca_cert", "cf.root_ca_cert", "trusted_certs"] {
        assert!(said.contains(remedy), "{remedy}: {said}");
    }
    expect_no_secrets(&foundation, &said);
}

#[tokio::test]
async fn the_directors_authority_takes_the_location_of_the_operating_systems_and_the_platforms_joins_it()
 {
    let foundation = Foundation::start().await;
    let other = Own::write(
        &foundation,
        &PKCS_ECDSA_P256_SHA256,
        (2999, 1, 1),
        (2999, 1, 1),
    );
    let authority = foundation.authority_file();
    let environment = [("SSL_CERT_FILE", authority.as_str())];

    let beside = foundation
        .broker()
        .with("/cf/root_ca_cert", other.authority_pem.clone().into())
        .write("beside.yml");
    let mut broker = serve(&foundation, &beside, &environment);
    listens(&mut broker).await;
    drop(broker);

    let instead = foundation
        .broker()
        .with("/bosh/root_ca_cert", other.authority_pem.into())
        .write("instead.yml");
    let mut broker = serve(&foundation, &instead, &environment);
    assert_eq!(broker.exit(TIMEOUT).await.code(), Some(1));
    let said = everything(&broker);
    assert!(
        said.contains("ODB-1101") && said.contains("check `bosh.url`, `bosh.root_ca_cert`"),
        "{said}"
    );
    assert!(
        said.contains("no trusted authority has signed") && !said.contains("UnknownIssuer"),
        "{said}"
    );
    expect_no_secrets(&foundation, &said);
}

#[tokio::test]
async fn an_authority_of_a_credhub_joins_those_of_the_operating_system() {
    let foundation = Foundation::start().await;
    let other = Own::write(
        &foundation,
        &PKCS_ECDSA_P256_SHA256,
        (2999, 1, 1),
        (2999, 1, 1),
    );
    let foreign = || {
        let keys = [
            "/bosh_credhub/root_ca_cert",
            "/credhub/ca_cert",
            "/credhub/internal_uaa_ca_cert",
        ];
        let both = foundation
            .broker()
            .with_secure_manifests()
            .with_secure_bindings();
        let authority = || other.authority_pem.clone().into();
        keys.into_iter()
            .fold(both, |both, key| both.with(key, authority()))
    };

    let authority = foundation.authority_file();
    let file = foreign().write("beside.yml");
    let mut broker = serve(&foundation, &file, &[("SSL_CERT_FILE", &authority)]);
    listens(&mut broker).await;
    drop(broker);

    // The Director's authority counts for its CredHub, too.
    let file = foreign()
        .with("/bosh/root_ca_cert", other.authority_pem.clone().into())
        .write("alone.yml");
    let mut broker = serve(&foundation, &file, &[("SSL_CERT_FILE", "/dev/null")]);
    assert_eq!(broker.exit(TIMEOUT).await.code(), Some(1));
    let said = everything(&broker);
    for code in ["ODB-1117", "ODB-1120"] {
        assert!(said.contains(code), "{code}: {said}");
    }

    // Without any authority, the error names that and not a bad certificate.
    let file = foundation
        .broker()
        .with_secure_bindings()
        .with("/credhub/ca_cert", Value::Null)
        .with("/credhub/internal_uaa_ca_cert", Value::Null)
        .write("none.yml");
    let no_user = foundation.folder().join("nobody.crt");
    fs::write(&no_user, "").unwrap();
    let folder = foundation.folder().join("nothing");
    fs::create_dir(&folder).unwrap();
    let (no_user, folder) = (no_user.display().to_string(), folder.display().to_string());
    let environment = [
        ("SSL_CERT_FILE", no_user.as_str()),
        ("SSL_CERT_DIR", &folder),
    ];
    let mut broker = serve(&foundation, &file, &environment);
    assert_eq!(broker.exit(TIMEOUT).await.code(), Some(1));
    let said = everything(&broker);
    assert!(said.contains("there is no `credhub.ca_cert`"), "{said}");
    assert!(said.contains("trusted_certs"), "{said}");
}

#[tokio::test]
async fn either_switch_leaves_the_platform_unverified_loudly_and_the_director_never() {
    let foundation = Foundation::start().await;
    let other = Own::write(
        &foundation,
        &PKCS_ECDSA_P256_SHA256,
        (2999, 1, 1),
        (2999, 1, 1),
    );
    let foreign = || {
        foundation
            .broker()
            .with("/cf/root_ca_cert", other.authority_pem.clone().into())
    };
    let no_user = [("SSL_CERT_FILE", "/dev/null")];

    let mut broker = serve(&foundation, &foreign().write("verified.yml"), &no_user);
    assert_eq!(broker.exit(TIMEOUT).await.code(), Some(1));
    let said = everything(&broker);
    assert!(
        said.contains("ODB-1103") && said.contains("`cf.root_ca_cert`"),
        "{said}"
    );

    for switch in [
        "/broker/disable_ssl_cert_verification",
        "/cf/disable_ssl_cert_verification",
    ] {
        let file = foreign().with(switch, true.into()).write("unverified.yml");
        let mut broker = serve(&foundation, &file, &no_user);
        listens(&mut broker).await;
        let warned = line(&broker, "ODB-1115").unwrap().to_string();
        assert!(
            warned.contains("WARN") && warned.contains("disable_ssl_cert_verification"),
            "{warned}"
        );
        drop(broker);

        let file = foreign()
            .with(switch, true.into())
            .with("/bosh/root_ca_cert", other.authority_pem.clone().into())
            .write("director.yml");
        let mut broker = serve(&foundation, &file, &no_user);
        assert_eq!(broker.exit(TIMEOUT).await.code(), Some(1), "{switch}");
        assert!(everything(&broker).contains("ODB-1101"), "{switch}");
    }
}
