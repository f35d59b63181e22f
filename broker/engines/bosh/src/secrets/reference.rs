//! The meaning of a manifest's references to the broker.

use std::collections::BTreeSet;

use odb_adapter_sdk::secrets::Reference;
use odb_clients::director::DeploymentName;

/// Whether a variable of the Director is the target of a relative reference: it is in the deployment's own folder,
/// `/DIRECTOR/DEPLOYMENT`, and does not only have the same name elsewhere.
pub(super) fn is_relative_name_of(
    reference: &Reference<'_>,
    variable: &str,
    deployment: &DeploymentName,
) -> bool {
    let director = variable
        .strip_suffix(reference.root())
        .and_then(|start| start.strip_suffix('/'))
        .and_then(|start| start.strip_suffix(deployment.as_str()))
        .and_then(|start| start.strip_suffix('/'))
        .and_then(|start| start.strip_prefix('/'));
    director.is_some_and(|director| !director.is_empty() && !director.contains('/'))
}

/// Whether a text is a reference and nothing else.
pub fn is_reference(text: &str) -> bool {
    Reference::read(text.trim()).is_some()
}

/// Whether there is a reference somewhere in a text.
pub fn has_reference(text: &str) -> bool {
    Reference::all_in(text).next().is_some()
}

/// The absolute names that a manifest refers to, in lower case: complete names, and the part before their members.
pub(super) fn used_in(manifest: &str) -> BTreeSet<String> {
    Reference::all_in(manifest)
        .filter(Reference::is_absolute)
        .flat_map(|reference| [reference.name(), reference.root()])
        .map(str::to_ascii_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_relative_name_means_the_deployments_own_variable_and_no_other_of_that_name() {
        let deployment = "service-instance_i".parse().unwrap();
        let reference = Reference::read("((pw.member))").unwrap();
        assert!(is_relative_name_of(
            &reference,
            "/bosh/service-instance_i/pw",
            &deployment
        ));
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
                !is_relative_name_of(&reference, foreign, &deployment),
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
