//! Addresses of the platform's servers, and of things on them.

use url::Url;

use super::ClientError;

/// Whether the configured address of a server is usable. The error repeats no part of it.
pub fn check_address(text: &str) -> Result<(), ClientError> {
    server(text).map(drop)
}

/// Reads the configured address of a server. Without a scheme it is `https`.
///
/// # Errors
///
/// It has no host, a scheme other than `https` and `http`, or credentials. The error contains no part of it.
pub fn server(text: &str) -> Result<Url, ClientError> {
    let text = text.trim();
    let url = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("https://{text}"))
    }
    .map_err(|source| ClientError::Address { source })?;
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    if !matches!(url.scheme(), "https" | "http") || !url.has_host() || has_credentials {
        return Err(ClientError::AddressForm);
    }
    Ok(url)
}

/// Whatever scheme is configured.
pub(crate) fn tls_server(text: &str, default_port: u16) -> Result<Url, ClientError> {
    let text = text.trim();
    let authority = text.split_once("://").map_or(text, |(_scheme, rest)| rest);
    // A scheme without a default port keeps the port even if it is 443.
    let written = Url::parse(&format!("tls://{authority}"))
        .map_err(|source| ClientError::Address { source })?;
    let mut url = server(&format!("https://{authority}"))?;
    url.set_port(Some(written.port().unwrap_or(default_port)))
        .map_err(|()| ClientError::AddressForm)?;
    Ok(url)
}

/// The address of a resource on a server; every segment and value is encoded.
pub fn on(server: &Url, segments: &[&str], query: &[(&str, &str)]) -> Url {
    let mut url = server.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.path_segments_mut()
        .expect("servers' addresses are https or http, which have paths")
        .pop_if_empty()
        .extend(segments);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directors_address_is_taken_with_any_scheme_and_25555_unless_a_port_is_given() {
        for (written, expected) in [
            ("https://10.0.0.6:25555", "https://10.0.0.6:25555/"),
            ("10.0.0.6", "https://10.0.0.6:25555/"),
            ("http://bosh.example", "https://bosh.example:25555/"),
            ("bosh.example:4000", "https://bosh.example:4000/"),
            (
                "https://bosh.example:443/some/path",
                "https://bosh.example/some/path",
            ),
            ("https://[::1]", "https://[::1]:25555/"),
        ] {
            assert_eq!(
                tls_server(written, 25555).unwrap().as_str(),
                expected,
                "{written}"
            );
        }
    }

    #[test]
    fn an_address_without_host_or_with_credentials_is_refused_without_repeating_it() {
        for written in ["", "https://", "ftp://host", "https://user:pAssw0rd@host"] {
            let error = server(written).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("pAssw0rd"));
        }
        assert!(tls_server("https://user:pAssw0rd@host", 25555).is_err());
    }

    #[test]
    fn names_cannot_break_out_of_their_segment() {
        let server = server("https://host/base/").unwrap();
        let url = on(&server, &["deployments", "a/b?c"], &[("name", "x&y=z")]);
        assert_eq!(
            url.as_str(),
            "https://host/base/deployments/a%2Fb%3Fc?name=x%26y%3Dz"
        );
    }
}
