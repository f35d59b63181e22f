//! How much of the Cloud Controller a client can see. A client that cannot see everything gets shorter lists without a
//! notice.

/// The scopes that allow reading everything (`spec/contracts/platform-apis.md` §1.4).
pub const SEES_ALL: [&str; 3] = [
    "cloud_controller.admin",
    "cloud_controller.admin_read_only",
    "cloud_controller.global_auditor",
];

/// How much a client can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// All spaces.
    Everything,
    /// Those spaces in which he has a role.
    Parts,
}

impl Visibility {
    /// The visibility with these scopes of a token. The UAA names them in every token answer, so a token without them
    /// has none.
    pub fn of(scopes: &[String]) -> Self {
        if scopes
            .iter()
            .any(|scope| SEES_ALL.contains(&scope.as_str()))
        {
            Self::Everything
        } else {
            Self::Parts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_scopes_let_a_client_see_everything() {
        let visibility = |scopes: &[&str]| {
            let scopes: Vec<_> = scopes.iter().map(|&scope| scope.to_owned()).collect();
            Visibility::of(&scopes)
        };
        for right in SEES_ALL {
            assert_eq!(visibility(&["openid", right]), Visibility::Everything);
        }
        assert_eq!(
            visibility(&["cloud_controller.read", "clients.admin"]),
            Visibility::Parts
        );
        assert_eq!(visibility(&[]), Visibility::Parts);
    }
}
