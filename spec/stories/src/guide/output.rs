//! Compares what a document shows of an output with the output.

use std::sync::LazyLock;

use regex::Regex;

/// A line of a document that stands for any number of lines.
const SKIPPED: &str = "...";
/// A part of a line that stands for any text.
const ANYTHING: char = '…';

/// The first passage of a shown output that a program did not print.
///
/// Passages are divided by lines `...` and follow each other. Numbers, ids, addresses and the width of columns may
/// differ, and `…` stands for any text.
pub(super) fn missing(shown: &str, printed: &str) -> Option<String> {
    let printed: Vec<String> = printed.lines().map(comparable).collect();
    let mut rest = printed.as_slice();
    for passage in shown.split(&format!("\n{SKIPPED}\n")) {
        let lines: Vec<String> = passage
            .lines()
            .filter(|line| *line != SKIPPED)
            .map(comparable)
            .collect();
        let fits = |window: &[String]| {
            let mut pairs = lines.iter().zip(window);
            pairs.all(|(shown, printed)| is_like(shown, printed))
        };
        match rest.windows(lines.len().max(1)).position(fits) {
            Some(at) => rest = &rest[at + lines.len()..],
            None => return Some(passage.to_owned()),
        }
    }
    None
}

fn is_like(shown: &str, printed: &str) -> bool {
    let parts: Vec<String> = shown.split(ANYTHING).map(regex::escape).collect();
    pattern(&format!("^{}$", parts.join(".*"))).is_match(printed)
}

/// A line without what differs from run to run.
fn comparable(line: &str) -> String {
    static ID: LazyLock<Regex> =
        LazyLock::new(|| pattern("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"[0-9]+([.:][0-9]+)*"));
    let line = ID.replace_all(line, "ID");
    let line = NUMBER.replace_all(&line, "0");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the parts are escaped, and a test below uses the others")
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn passages_are_found_in_their_order() {
        let printed = "plan   small\n  0.3s  in progress\n  0.6s  in progress\n  5.1s  done\nid 1b4e28ba-2fa1-11d2-883f-0016d3cca427\n";
        for shown in [
            "plan small",
            "plan  small\n...\n 9s done",
            "...\n  1.0s  in progress\n  1.0s  done",
            "id 00000000-0000-0000-0000-000000000000",
            "id …",
            "pl…s…ll\n...",
        ] {
            assert_eq!(missing(shown, printed), None, "{shown}");
        }
        for shown in [
            "plan large",
            "done\n...\nplan small",
            "plan small\n 5.1s done",
            "pl…x",
        ] {
            assert!(missing(shown, printed).is_some(), "{shown}");
        }
    }
}
