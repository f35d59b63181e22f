//! The section `bosh`: where the Director is and how to authenticate there.

use odb_clients::director::Credentials;

use super::{
    address::{self, Address},
    client_credentials,
    section::Section,
};

/// The Director.
#[derive(Debug)]
pub struct Bosh {
    /// Host and port; the scheme is always https, the port 25555 unless given.
    pub url: Address,
    /// The only trust root for Director and BOSH UAA when present, else the operating system's.
    pub root_ca_cert: Option<String>,
    /// How to authenticate.
    pub credentials: Credentials,
}

pub(super) fn read(section: &Section<'_>) -> Option<Bosh> {
    let url = address::of_the_director(
        section,
        "url",
        "the address of the Director, such as `https://10.0.0.6:25555`",
    );
    let root_ca_cert = section.plain_text("root_ca_cert");
    let credentials = credentials(&section.section("authentication"));
    section.warn_unknown_keys();
    Some(Bosh {
        url: url?,
        root_ca_cert,
        credentials: credentials?,
    })
}

fn credentials(section: &Section<'_>) -> Option<Credentials> {
    let basic = section.section("basic");
    let uaa = section.section("uaa");
    section.warn_unknown_keys();
    match (basic.holds_a_value(), uaa.holds_a_value()) {
        (true, true) => section.refuse("uaa", ("conflicts with `basic`", "give one of the two")),
        (false, false) => section.refuse(
            "uaa",
            ("is missing", "give `uaa.client_credentials` or `basic`"),
        ),
        (true, false) => {
            let (username, password) = client_credentials::user(&basic, "a user of the Director")?;
            Some(Credentials::Basic { username, password })
        }
        (false, true) => uaa_credentials(&uaa),
    }
}

fn uaa_credentials(section: &Section<'_>) -> Option<Credentials> {
    let client = section.section("client_credentials");
    let user = section.section("user_credentials");
    section.warn_unknown_keys();
    if user.holds_a_value() {
        section.refuse::<()>(
            "user_credentials",
            (
                "cannot be used for a Director",
                "give `client_credentials` with a client of its UAA",
            ),
        );
        if !client.holds_a_value() {
            return None;
        }
    }
    let (client_id, client_secret) =
        client_credentials::read(&client, "a client of the Director's UAA")?;
    Some(Credentials::Uaa {
        client_id,
        client_secret,
    })
}
