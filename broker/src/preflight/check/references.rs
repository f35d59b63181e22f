//! `((references))` in the place of values, which somebody should have replaced before the broker reads the file.

use crate::{
    bosh::{has_reference, is_reference},
    config::Inspection,
    preflight::check::Findings,
};

/// Notes every value that is a reference, or holds one. What passes through to adapters is not looked at here: a manifest may
/// refer to variables. References are not quoted, for a secret may look like one.
pub(crate) fn look(inspection: &Inspection, findings: &mut Findings) {
    for (key, text) in inspection.texts() {
        if is_reference(&text) {
            let text = (
                "is a reference in double parentheses, which nothing resolves",
                "give the value itself, or have BOSH put it in",
            );
            let problem = inspection.problem(&key, text.to_owned());
            findings.faults.push(problem);
        } else if has_reference(&text) {
            let text = (
                "holds a reference in double parentheses, which nothing resolves",
                "give the value itself, or have BOSH put it in",
            );
            let problem = inspection.problem(&key, text.to_owned());
            findings.remarks.push(problem);
        }
    }
}
