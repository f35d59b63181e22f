//! The section `bosh`: where the Director is and how to authenticate there.

use secrecy::SecretString;

use super::{
    address::{self, Address},
    client_credentials::{self, ClientCredentials},
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
    pub credentials: DirectorCredentials,
}

/// How the broker authenticates to the Director.
#[derive(Debug)]
pub enum DirectorCredentials {
    /// A user of the Director itself.
    Basic {
        /// The user's name.
        username: String,
        /// The user's password.
        password: SecretString,
    },
    /// A client of the UAA that the Director names.
    Uaa {
        /// The client's id.
        client_id: String,
        /// The client's secret.
        client_secret: SecretString,
    },
}

pub(super) fn read(section: &Section<'_>) -> Option<Bosh> {
    let url = address::of_the_director(
        section,
        "url",
        "the address of the Director, such as `https://10.0.0.6:25555`",
    );
    let root_ca_cert = section.text("root_ca_cert").map(|found| found.value);
    let credentials = credentials(&section.section("authentication"));
    section.remark_unknown_keys();
    Some(Bosh {
        url: url?,
        root_ca_cert,
        credentials: credentials?,
    })
}

fn credentials(section: &Section<'_>) -> Option<DirectorCredentials> {
    let basic = section.section("basic");
    let uaa = section.section("uaa");
    section.remark_unknown_keys();
    match (basic.holds_a_value(), uaa.holds_a_value()) {
        (true, true) => section.refuse("uaa", ("stands beside `basic`", "give one of the two")),
        (false, false) => section.refuse(
            "uaa",
            ("is missing", "give `uaa.client_credentials` or `basic`"),
        ),
        (true, false) => {
            let username = basic.required_text("username", "a user of the Director");
            let password = basic.required_text("password", "that user's password");
            basic.remark_unknown_keys();
            Some(DirectorCredentials::Basic {
                username: username?.value,
                password: password?.value.into(),
            })
        }
        (false, true) => uaa_credentials(&uaa),
    }
}

fn uaa_credentials(section: &Section<'_>) -> Option<DirectorCredentials> {
    let client = section.section("client_credentials");
    let user = section.section("user_credentials");
    section.remark_unknown_keys();
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
    let ClientCredentials {
        client_id,
        client_secret,
    } = client_credentials::read(&client, "a client of the Director's UAA")?;
    Some(DirectorCredentials::Uaa {
        client_id,
        client_secret,
    })
}
