use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The prefix of the placeholder for a managed secret: `((odb_secret:NAME))`.
const PLACEHOLDER: &str = "odb_secret:";

const STORED: &str = "/odb/";

/// No credential has a longer name, in bytes.
const LONGEST: usize = 1024;

/// The text for a secret in a manifest, such as `((odb_secret:password))`: no secret itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretReference(String);

impl SecretReference {
    /// The placeholder `((odb_secret:NAME))`, which the broker replaces after it stores the secret.
    pub fn placeholder(name: &str) -> Self {
        Self(format!("(({PLACEHOLDER}{name}))"))
    }

    /// The text, double parentheses included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A text with a reference, which is kept with its surrounding text. An unreplaced placeholder is no reference,
    /// because it has no value.
    pub(super) fn kept(text: &str) -> Option<Self> {
        let mut references = references_in(text).peekable();
        references.peek()?;
        let is_stored = references.all(|reference| placeholder_name(reference).is_none());
        is_stored.then(|| Self(text.to_owned()))
    }
}

/// Every `((…))` in a text, each as short as possible, double parentheses included. Not each of them is a
/// [`Reference`].
pub fn references_in(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, from) = rest.split_at(rest.find("((")?);
        let end = from.find("))")?;
        let start = from[..end].rfind("((").unwrap_or(0);
        rest = &from[end + 2..];
        Some(&from[start..end + 2])
    })
}

/// A reference in a manifest: `((name))`, `((!name))`, `((name.member))`, `((/absolute/name.member))` or a placeholder,
/// `((odb_secret:NAME))`.
///
/// Other text in double parentheses, such as JSON or shell arithmetic, is not a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference<'t> {
    text: &'t str,
    name: &'t str,
}

impl<'t> Reference<'t> {
    /// Reads a text that is a reference and nothing else.
    pub fn read(text: &'t str) -> Option<Self> {
        let inside = text.strip_prefix("((")?.strip_suffix("))")?;
        let name = inside.strip_prefix('!').unwrap_or(inside);
        let is_fit = |letter: char| {
            if inside.starts_with(PLACEHOLDER) {
                // The name of a secret is validated when it is stored.
                !matches!(letter, '(' | ')') && !letter.is_control()
            } else {
                letter.is_ascii_alphanumeric() || "-_./".contains(letter)
            }
        };
        let is_reference = !name.is_empty() && inside.len() <= LONGEST && name.chars().all(is_fit);
        is_reference.then_some(Self { text, name })
    }

    /// All references of a text, in its order. Comments of a manifest are part of the text.
    pub fn all_in(text: &'t str) -> impl Iterator<Item = Self> {
        references_in(text).filter_map(Self::read)
    }

    /// The text, including parentheses.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The complete name, with members, without the mark that BOSH does not count as part of it.
    pub fn name(&self) -> &'t str {
        self.name
    }

    /// The name of the secret that a placeholder asks to be kept; nothing for an ordinary reference.
    pub fn placeholder(&self) -> Option<&'t str> {
        self.name.strip_prefix(PLACEHOLDER)
    }

    /// Whether it names a credential wherever it is, and not one of the deployment.
    pub fn is_absolute(&self) -> bool {
        self.name.starts_with('/')
    }

    /// The name of the credential: the text before the first dot after the last slash, as in BOSH.
    pub fn root(&self) -> &'t str {
        self.split().0
    }

    /// The members to go down to.
    pub fn members(&self) -> impl Iterator<Item = &'t str> {
        self.split().1.into_iter().flat_map(|rest| rest.split('.'))
    }

    fn split(&self) -> (&'t str, Option<&'t str>) {
        let last = self.name.rfind('/').map_or(0, |slash| slash + 1);
        match self.name[last..].find('.') {
            Some(dot) => (&self.name[..last + dot], Some(&self.name[last + dot + 1..])),
            None => (self.name, None),
        }
    }
}

/// Whether the text contains placeholders that a broker must replace.
pub(crate) fn has_placeholders(text: &str) -> bool {
    references_in(text).any(|reference| placeholder_name(reference).is_some())
}

/// The name under which the broker stored the secret behind a reference, if it did.
pub(super) fn stored_name(reference: &str) -> Option<&str> {
    inside(reference)?.strip_prefix(STORED)?.rsplit('/').next()
}

/// The name in `((odb_secret:NAME))`.
pub(super) fn placeholder_name(reference: &str) -> Option<&str> {
    inside(reference)?.strip_prefix(PLACEHOLDER)
}

fn inside(reference: &str) -> Option<&str> {
    reference.strip_prefix("((")?.strip_suffix("))")
}

impl fmt::Display for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<SecretReference> for Value {
    fn from(reference: SecretReference) -> Self {
        reference.0.into()
    }
}

impl From<SecretReference> for String {
    fn from(reference: SecretReference) -> Self {
        reference.0
    }
}

impl Serialize for SecretReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(manifest: &str) -> Vec<&str> {
        Reference::all_in(manifest)
            .map(|reference| reference.text())
            .collect()
    }

    #[test]
    fn references_are_found_at_every_depth() {
        let manifest = "a: ((one))\nb: \"x((two.sub))y((one))\"\n# ((!three))\nc: ((unclosed\nd: ))\ne: (((four)))\n";
        assert_eq!(
            texts(manifest),
            [
                "((one))",
                "((two.sub))",
                "((one))",
                "((!three))",
                "((four))"
            ]
        );
    }

    #[test]
    fn a_text_in_double_parentheses_is_as_short_as_possible() {
        let text = "x ((a)) (((b)) ((c d: ((/e/f.g)) )) ((h i)) ((";
        let found: Vec<_> = references_in(text).collect();
        assert_eq!(found, ["((a))", "((b))", "((/e/f.g))", "((h i))"]);
    }

    #[test]
    fn what_bosh_does_not_take_for_a_reference_is_none() {
        for text in [
            "run: echo $((1 + 2))",
            r#"json: {"key":"(({\"password\":\"hunter2\"}))"}"#,
            "a: (( odd ))",
            "a: (())",
            "a: ((!))",
            "a: ((one!two))",
            "a: ((ümlaut))",
            &format!("a: (({}))", "x".repeat(LONGEST + 1)),
        ] {
            assert_eq!(texts(text), Vec::<&str>::new(), "{text}");
        }
        assert_eq!(texts("a: $((1 + ((pw))))"), ["((pw))"]);
    }

    #[test]
    fn a_reference_is_split_at_the_first_dot_after_the_last_slash() {
        for (text, root, members) in [
            ("((pw))", "pw", vec![]),
            ("((!pw))", "pw", vec![]),
            ("((cert.ca))", "cert", vec!["ca"]),
            ("((cert.a.b))", "cert", vec!["a", "b"]),
            ("((/a.b/c.d))", "/a.b/c", vec!["d"]),
            ("((/a/b))", "/a/b", vec![]),
        ] {
            let reference = Reference::read(text).unwrap();
            assert_eq!(reference.root(), root, "{text}");
            assert_eq!(reference.members().collect::<Vec<_>>(), members, "{text}");
        }
    }

    #[test]
    fn a_placeholder_is_distinguished_from_a_reference() {
        for (text, name) in [
            ("((odb_secret:token))", Some("token")),
            ("((odb_secret:my token))", Some("my token")),
            ("((odb_secret))", None),
        ] {
            let reference = Reference::read(text).unwrap();
            assert_eq!(reference.placeholder(), name, "{text}");
        }
        let placeholder = SecretReference::placeholder("token");
        assert_eq!(placeholder.as_str(), "((odb_secret:token))");
    }
}
