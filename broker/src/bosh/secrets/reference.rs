//! `((…))` in a manifest, taken apart.

use std::collections::{BTreeMap, BTreeSet};

use odb_platform::director::DeploymentName;

/// What adapters write where a secret is to be kept for them: `((odb_secret:NAME))`.
const PLACEHOLDER: &str = "odb_secret:";

/// No credential has a longer name, in bytes.
const LONGEST: usize = 1024;

/// A reference, `((name))`, `((!name))`, `((name.member))` or `((/absolute/name.member))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bosh) struct Reference<'m> {
    /// As it stands in the manifest, parentheses included.
    pub(in crate::bosh) text: &'m str,
    /// Without parentheses and without the mark that BOSH does not count as part of the name.
    name: &'m str,
}

impl<'m> Reference<'m> {
    /// All references of a manifest, each once, sorted by their text. Comments are part of the text.
    ///
    /// Other text in double parentheses, such as JSON or arithmetic of a shell, is none: BOSH does not take it for one either.
    pub(in crate::bosh) fn all_in(manifest: &'m str) -> Vec<Self> {
        let mut found = BTreeMap::new();
        let mut rest = manifest;
        while let Some(start) = rest.find("((") {
            rest = &rest[start..];
            match Self::at_start_of(rest) {
                Some(reference) => {
                    found.insert(reference.text, reference);
                    rest = &rest[reference.text.len()..];
                }
                None => rest = &rest[1..],
            }
        }
        found.into_values().collect()
    }

    /// The reference that a text begins with. The text begins with two parentheses.
    fn at_start_of(text: &'m str) -> Option<Self> {
        let inside = &text[2..];
        let is_placeholder = inside.starts_with(PLACEHOLDER);
        let ends_name = |letter: char| {
            if is_placeholder {
                // What an adapter calls a secret is looked at when it is kept.
                matches!(letter, '(' | ')') || letter.is_control()
            } else {
                !(letter.is_ascii_alphanumeric() || "-_./!".contains(letter))
            }
        };
        let length = inside.find(ends_name)?;
        let written = &inside[..length];
        let name = written.strip_prefix('!').unwrap_or(written);
        let is_reference = inside[length..].starts_with("))")
            && !name.is_empty()
            && (is_placeholder || !name.contains('!'))
            && length <= LONGEST;
        is_reference.then_some(Self {
            text: &text[..length + 4],
            name,
        })
    }

    /// The name of the secret that a placeholder asks to be kept; nothing for an ordinary reference.
    pub(in crate::bosh) fn placeholder(&self) -> Option<&'m str> {
        self.name.strip_prefix(PLACEHOLDER)
    }

    /// The placeholder of a secret.
    pub(super) fn placeholder_of(name: &str) -> String {
        format!("(({PLACEHOLDER}{name}))")
    }

    /// The whole name, members included.
    pub(in crate::bosh) fn name(&self) -> &'m str {
        self.name
    }

    /// Whether it names a credential wherever it is, and not one of the deployment.
    pub(in crate::bosh) fn is_absolute(&self) -> bool {
        self.name.starts_with('/')
    }

    /// The name of the credential: what comes before the first dot after the last slash, as BOSH has it.
    pub(in crate::bosh) fn root(&self) -> &'m str {
        self.split().0
    }

    /// The members to go down to.
    pub(super) fn members(&self) -> impl Iterator<Item = &'m str> {
        self.split().1.into_iter().flat_map(|rest| rest.split('.'))
    }

    /// Whether a variable of the Director is what a relative reference means: it is in the deployment's own folder,
    /// `/DIRECTOR/DEPLOYMENT`, and not merely of the same name somewhere else.
    pub(super) fn is_relative_name_of(&self, variable: &str, deployment: &DeploymentName) -> bool {
        let director = variable
            .strip_suffix(self.root())
            .and_then(|start| start.strip_suffix('/'))
            .and_then(|start| start.strip_suffix(deployment.as_str()))
            .and_then(|start| start.strip_suffix('/'))
            .and_then(|start| start.strip_prefix('/'));
        director.is_some_and(|director| !director.is_empty() && !director.contains('/'))
    }

    fn split(&self) -> (&'m str, Option<&'m str>) {
        let last = self.name.rfind('/').map_or(0, |slash| slash + 1);
        match self.name[last..].find('.') {
            Some(dot) => (&self.name[..last + dot], Some(&self.name[last + dot + 1..])),
            None => (self.name, None),
        }
    }
}

/// Whether a text is a reference and nothing else.
pub(crate) fn is_reference(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("((")
        && Reference::at_start_of(text).is_some_and(|reference| reference.text == text)
}

/// Whether there is a reference somewhere in a text.
pub(crate) fn has_reference(text: &str) -> bool {
    !Reference::all_in(text).is_empty()
}

/// What a manifest refers to by absolute name, in small letters: the whole names, and what comes before their members.
pub(super) fn used_in(manifest: &str) -> BTreeSet<String> {
    let references = Reference::all_in(manifest);
    let names = references
        .iter()
        .filter(|reference| reference.is_absolute())
        .flat_map(|reference| [reference.name(), reference.root()]);
    names.map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(manifest: &str) -> Reference<'_> {
        let found = Reference::all_in(manifest);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0]
    }

    fn texts(manifest: &str) -> Vec<&str> {
        let found = Reference::all_in(manifest);
        found.iter().map(|reference| reference.text).collect()
    }

    #[test]
    fn references_are_found_wherever_they_stand_and_each_once() {
        let manifest = "a: ((one))\nb: \"x((two.sub))y((one))\"\n# ((!three))\nc: ((unclosed\nd: ))\ne: (((four)))\n";
        assert_eq!(
            texts(manifest),
            ["((!three))", "((four))", "((one))", "((two.sub))"]
        );
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
    fn a_text_is_a_reference_has_one_or_neither() {
        for (text, is_one, has_one) in [
            ("((pw))", true, true),
            (" ((!/a/b.c)) ", true, true),
            ("https://((host)):25555", false, true),
            ("((a))((b))", false, true),
            ("(( odd ))", false, false),
            ("", false, false),
        ] {
            assert_eq!(
                (is_reference(text), has_reference(text)),
                (is_one, has_one),
                "{text}"
            );
        }
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
            let reference = only(text);
            assert_eq!(reference.root(), root, "{text}");
            assert_eq!(reference.members().collect::<Vec<_>>(), members, "{text}");
        }
    }

    #[test]
    fn a_placeholder_is_told_from_a_reference() {
        assert_eq!(only("((odb_secret:token))").placeholder(), Some("token"));
        assert_eq!(
            only("((odb_secret:my token))").placeholder(),
            Some("my token")
        );
        assert_eq!(only("((odb_secret))").placeholder(), None);
        assert_eq!(Reference::placeholder_of("token"), "((odb_secret:token))");
    }

    #[test]
    fn a_relative_name_means_the_deployments_own_variable_and_no_other_of_that_name() {
        let deployment = "service-instance_i".parse().unwrap();
        let reference = only("((pw.member))");
        assert!(reference.is_relative_name_of("/bosh/service-instance_i/pw", &deployment));
        for foreign in [
            "/bosh/service-instance_j/pw",
            "/bosh/other-service-instance_i/pw",
            "/odb/offering/service-instance_i/pw",
            "/service-instance_i/pw",
            "/bosh/service-instance_i/other-pw",
            "/bosh/service-instance_i/x/pw",
            "/pw",
        ] {
            assert!(
                !reference.is_relative_name_of(foreign, &deployment),
                "{foreign}"
            );
        }
    }

    #[test]
    fn a_secret_is_used_by_reference_to_itself_and_to_a_part_of_it_in_any_case() {
        let used = used_in("a: ((/odb/O/d/one))\nb: ((!/odb/o/d/two.user))\nc: ((three))\n");
        for name in ["/odb/o/d/one", "/odb/o/d/two"] {
            assert!(used.contains(name), "{used:?}");
        }
        assert!(!used.contains("three"));
    }
}
