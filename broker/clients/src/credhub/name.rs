//! Names of credentials.

use crate::{InvalidText, text_id::text_ids};

text_ids! {
    /// Names a credential, or a folder of credentials: `/odb/offering/deployment/secret`.
    ///
    /// The name begins with a slash and contains only characters that CredHub allows. The client sends it encoded, so
    /// that it cannot change the request. CredHub and [`is_below`](Self::is_below) compare names case-insensitively;
    /// `==` compares the exact text.
    CredentialName: |text| {
        // CredHub puts a missing first slash before a name; it is put here already.
        let name = if text.starts_with('/') { text } else { format!("/{text}") };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/.:,()[]+".contains(&byte);
        // CredHub itself takes `.` and `..` for parts like any other; a proxy before it need not.
        let swallowed = |part: &str| matches!(part, "" | "." | "..");
        if name.len() > 1024
            || !name.bytes().all(allowed)
            || name.split('/').skip(1).any(swallowed)
        {
            return Err(InvalidText(format!(
                "`{}` cannot name a credential: names have letters, digits and `-_/.:,()[]+`, no empty or dotted part \
                 and 1024 characters at most",
                name.escape_debug()
            )));
        }
        Ok(name)
    };
}

impl CredentialName {
    /// Whether this name is inside a folder, at any depth.
    pub(super) fn is_below(&self, folder: &Self) -> bool {
        let Some((start, rest)) = self.0.split_at_checked(folder.0.len()) else {
            return false;
        };
        start.eq_ignore_ascii_case(&folder.0) && rest.starts_with('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> CredentialName {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_that_is_more_than_a_name_is_refused() {
        for text in [
            "",
            "/",
            "/a//b",
            "/a/",
            "/a/../b",
            "/a/./b",
            "/a?name=b",
            "/a&b",
            "/a b",
            "/ä",
            "/a\nb",
            &"x".repeat(1024),
        ] {
            assert!(text.parse::<CredentialName>().is_err(), "{text:?}");
        }
        assert!("x".repeat(1023).parse::<CredentialName>().is_ok());
    }

    #[test]
    fn a_first_slash_is_added_as_credhub_adds_it() {
        assert_eq!(name("a/b.c").as_str(), "/a/b.c");
        assert_eq!(name("/a/b.c"), name("a/b.c"));
    }

    #[test]
    fn a_folder_holds_what_is_below_it_and_neither_itself_nor_a_sibling() {
        let folder = name("/odb/offering/service-instance_a");

        assert!(name("/ODB/offering/service-instance_A/x/y").is_below(&folder));
        for outside in [
            "/odb/offering/service-instance_a",
            "/odb/offering/service-instance_ab/x",
            "/odb/offering",
            "/other/odb/offering/service-instance_a/x",
        ] {
            assert!(!name(outside).is_below(&folder), "{outside}");
        }
    }
}
