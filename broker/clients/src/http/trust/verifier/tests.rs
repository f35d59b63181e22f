use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, date_time_ymd,
};
use rustls::CertificateError;

use super::*;
use crate::http::Trust;

const NAME: &str = "director.example";

/// The result of `openssl req -x509 -subj /CN=… -addext subjectAltName=…`: self-signed, and an authority.
fn params(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::new([NAME.to_owned()]).unwrap();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2030, 1, 1);
    params
}

fn leaf(common_name: &str) -> CertificateParams {
    let mut params = params(common_name);
    params.is_ca = IsCa::ExplicitNoCa;
    params
}

fn self_signed(params: &CertificateParams) -> Certificate {
    params.self_signed(&KeyPair::generate().unwrap()).unwrap()
}

/// A certificate with its key, to sign others.
struct Pair {
    params: CertificateParams,
    key: KeyPair,
}

impl Pair {
    fn of(params: CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        Self { params, key }
    }

    fn certificate(&self) -> Certificate {
        self.params.self_signed(&self.key).unwrap()
    }

    fn signs(&self, params: &CertificateParams) -> Certificate {
        let issuer = Issuer::from_params(&self.params, &self.key);
        let key = KeyPair::generate().unwrap();
        params.signed_by(&key, &issuer).unwrap()
    }
}

/// In 2026, in seconds since 1970.
const TODAY: u64 = 1_795_310_487;

fn verified_at(
    trust: &Trust,
    shown: &Certificate,
    name: &str,
    now: u64,
) -> Result<(), CertificateError> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
    trust
        .judge(&[shown.der().clone()], &name, now)
        .map_err(|error| match error {
            rustls::Error::InvalidCertificate(error) => error,
            other => panic!("{other:?}"),
        })
}

fn trust_in(authority: &Pair, system: &'static LazyLock<Store>) -> Trust {
    Trust::new(Policy::Anchored {
        configured: Some(Configured::read(&authority.certificate().pem()).unwrap()),
        system: Some(system),
    })
    .unwrap()
}

fn verified(trust: &Trust, shown: &Certificate) -> Result<(), CertificateError> {
    verified_at(trust, shown, NAME, TODAY)
}

#[test]
fn a_servers_own_certificate_is_accepted_where_it_is_configured() {
    let authority = Pair::of(params("an authority"));
    let mut for_servers = leaf("signed, for servers");
    for_servers.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    for own in [
        self_signed(&params("self-signed authority")),
        self_signed(&leaf("self-signed leaf")),
        authority.signs(&leaf("signed leaf")),
        authority.signs(&params("signed authority")),
        authority.signs(&for_servers),
    ] {
        for trust in [
            Trust::only(&own.pem()).unwrap(),
            Trust::system_and(&own.pem()).unwrap(),
            Trust::only(&format!("{}{}", authority.certificate().pem(), own.pem())).unwrap(),
        ] {
            assert_eq!(verified(&trust, &own), Ok(()));
        }
    }
}

#[test]
fn names_dates_and_purpose_of_a_configured_certificate_are_verified() {
    let own = self_signed(&params("self-signed authority"));
    let trust = Trust::only(&own.pem()).unwrap();

    let other_name = verified_at(&trust, &own, "other.example", TODAY);
    assert!(
        matches!(
            other_name,
            Err(CertificateError::NotValidForNameContext { .. })
        ),
        "{other_name:?}"
    );
    let early = verified_at(&trust, &own, NAME, 1_500_000_000);
    assert!(
        matches!(early, Err(CertificateError::NotValidYetContext { .. })),
        "{early:?}"
    );
    let late = verified_at(&trust, &own, NAME, 2_000_000_000);
    assert!(
        matches!(late, Err(CertificateError::ExpiredContext { .. })),
        "{late:?}"
    );

    let mut for_clients = params("for clients");
    for_clients.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let client = self_signed(&for_clients);
    let trust = Trust::only(&client.pem()).unwrap();
    assert_eq!(
        verified(&trust, &client),
        Err(CertificateError::InvalidPurpose)
    );
}

#[test]
fn a_configured_certificate_of_a_server_vouches_for_itself_alone() {
    let authority = Pair::of(params("an authority"));
    let server = Pair::of(leaf("a server"));
    let trust = Trust::only(&server.certificate().pem()).unwrap();

    for unauthenticated_client in [
        authority.signs(&leaf("a sibling")),
        server.signs(&leaf("signed by the server")),
        // The same name, another key.
        self_signed(&leaf("a server")),
    ] {
        assert_eq!(
            verified(&trust, &unauthenticated_client),
            Err(CertificateError::UnknownIssuer)
        );
    }
    // An authority that is configured beside it vouches for both.
    let both = format!(
        "{}{}",
        authority.certificate().pem(),
        server.certificate().pem()
    );
    let trust = Trust::only(&both).unwrap();
    assert_eq!(
        verified(&trust, &authority.signs(&leaf("a sibling"))),
        Ok(())
    );
}

#[test]
fn the_systems_store_is_read_when_what_is_configured_does_not_suffice_and_once() {
    static STORE: LazyLock<Store> = LazyLock::new(|| {
        let public = Pair::of(params("a public authority"));
        let mut roots = RootCertStore::empty();
        roots.add(public.certificate().der().clone()).unwrap();
        SIGNED.set(public.signs(&leaf("a public server"))).unwrap();
        Ok(verifier_of(roots).unwrap())
    });
    static SIGNED: std::sync::OnceLock<Certificate> = std::sync::OnceLock::new();

    let authority = Pair::of(params("an authority"));
    let trust = trust_in(&authority, &STORE);

    assert_eq!(
        verified(&trust, &authority.signs(&leaf("a server"))),
        Ok(())
    );
    assert!(SIGNED.get().is_none(), "nothing needs the store yet");

    let unauthenticated_client = self_signed(&leaf("an outsider"));
    assert_eq!(
        verified(&trust, &unauthenticated_client),
        Err(CertificateError::UnknownIssuer)
    );
    // A second reading would fail: there is one certificate already.
    assert_eq!(verified(&trust, SIGNED.get().unwrap()), Ok(()));
}

#[test]
fn of_two_rejections_the_one_with_the_issuer_is_reported() {
    static STORE: LazyLock<Store> = LazyLock::new(|| {
        let mut roots = RootCertStore::empty();
        roots.add(PUBLIC.certificate().der().clone()).unwrap();
        Ok(verifier_of(roots).unwrap())
    });
    static PUBLIC: LazyLock<Pair> = LazyLock::new(|| Pair::of(params("a public authority")));

    let authority = Pair::of(params("an authority"));
    let trust = trust_in(&authority, &STORE);

    for issuer in [&authority, &*PUBLIC] {
        let server = issuer.signs(&leaf("a server"));
        let other_name = verified_at(&trust, &server, "other.example", TODAY);
        assert!(
            matches!(
                other_name,
                Err(CertificateError::NotValidForNameContext { .. })
            ),
            "{other_name:?}"
        );
    }
}

/// An authority whose RSA key has 1024 bits, and a certificate for [`NAME`] that it has signed.
const SHORT_KEY: [&str; 2] = [
    "\
-----BEGIN CERTIFICATE-----
MIICCDCCAXGgAwIBAgIUFpyAmVTgCFF6spymQh0+IFRsSKEwDQYJKoZIhvcNAQEL
BQAwFjEUMBIGA1UEAwwLYSBzaG9ydCBrZXkwHhcNMjYxMTIyMTExNTA5WhcNNDAw
NzMxMTExNTA5WjAWMRQwEgYDVQQDDAthIHNob3J0IGtleTCBnzANBgkqhkiG9w0B
AQEFAAOBjQAwgYkCgYEAqthhoJfyPpZg14mV87q6NhNd0Jik0SI4XBtTNW808M+p
3BwYj9Rr0tgDn0Yb+vq8hnb+B8v+UAxgcDK8HuD1IlDqAXiKL8gz8YFFvKePlyAm
wIHgdCzBomzGGNYfffo7ufuzDr21PHZtmy5/2vAWh9BRZiNptdWtN6UnA0Q6LqsC
AwEAAaNTMFEwHQYDVR0OBBYEFPhdv9Bi/9AYmQAjwmS39AkMTbJeMB8GA1UdIwQY
MBaAFPhdv9Bi/9AYmQAjwmS39AkMTbJeMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZI
hvcNAQELBQADgYEAXFnUKqyNm9tm37ERlOhK6bBEGtTbqXqFTahjLJ+v3fyyEvY3
vxletZNWaXwicx8QnETv9yBFoQfVcUaezTSd1G+uZ3GmDmw1Do9ISd3Z2ud0DUVA
fvd7vTJ5Z12/TUf58GfpN4QJMPnHQCQAfCwxAx5syhJWEFDKX7kHVtVT76E=
-----END CERTIFICATE-----
",
    "\
-----BEGIN CERTIFICATE-----
MIIB1TCCAT6gAwIBAgIUe26ASzz1DsGJDCy/VTK9F92kjrIwDQYJKoZIhvcNAQEL
BQAwFjEUMBIGA1UEAwwLYSBzaG9ydCBrZXkwHhcNMjYxMTIyMTExNTEwWhcNNDAw
NzMxMTExNTEwWjATMREwDwYDVQQDDAhhIHNlcnZlcjBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABHKiDWu92PxtyuASwACS7NzTql8O9ydwiv75UkonpS3prPhlNTri
UgO7Tu2Vy4N+X5uK4QmVe2TQDJCwERpfroWjajBoMBsGA1UdEQQUMBKCEGRpcmVj
dG9yLmV4YW1wbGUwCQYDVR0TBAIwADAdBgNVHQ4EFgQU1OSCsym+9tDiSqK0y2Ua
Dt948AgwHwYDVR0jBBgwFoAU+F2/0GL/0BiZACPCZLf0CQxNsl4wDQYJKoZIhvcN
AQELBQADgYEAA2BWp1JYY96QQvCz/3TfbzWY69YRoU0+4ZEynUako4ssT/Foh8ac
A3p54OwXuhpOyFfkSwa9R6pXvjzjvNqDE2h8hIcZLmJWOp+WAx5CaV0SXdU8d2QP
Xqw9f9mMdlZnWAGZ3WeJj/y9D68WHAo7rYLRA5Kd3E/F/9Wt23gIdtM=
-----END CERTIFICATE-----
",
];

/// `docs/operators/migrate.md` names both.
#[test]
fn an_authoritys_certificate_that_is_not_configured_and_short_keys_are_refused() {
    let reported = |error| {
        let error = Arc::new(rustls::Error::InvalidCertificate(error));
        crate::http::HandshakeError(error).to_string()
    };
    let authority = Pair::of(params("an authority"));
    let trust = Trust::only(&authority.certificate().pem()).unwrap();
    let error = verified(&trust, &authority.signs(&params("signed authority"))).unwrap_err();
    assert!(reported(error.clone()).contains("`CA:TRUE`"), "{error:?}");

    let [authority, server] = SHORT_KEY;
    let trust = Trust::only(authority).unwrap();
    let server = CertificateDer::from_pem_slice(server.as_bytes()).unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(TODAY + 86_400));
    let refused = trust.judge(&[server], &name, now).unwrap_err();
    assert_eq!(refused, CertificateError::BadSignature.into());
}
