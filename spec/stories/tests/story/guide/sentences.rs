//! The quotes of the guide: the messages for users are the broker's, and the codes are those of the list.

use std::collections::BTreeSet;

use odb_stories::{Document, broker_texts};

use super::{project_file, rows};

#[test]
fn what_users_read_is_what_the_broker_says() {
    let texts = broker_texts();
    let mut quoted = Vec::new();
    for chapter in ["troubleshoot", "upgrade", "plans"] {
        let document = project_file(&format!("docs/operators/{chapter}.md"));
        let sentences: Vec<String> = document
            .split('`')
            .filter(|quote| is_sentence(quote))
            .map(str::to_owned)
            .collect();
        quoted.extend(sentences);
    }
    assert!(quoted.len() > 8, "the sentences are not found: {quoted:?}");
    for sentence in quoted {
        // The rest differs each time.
        let words = sentence.split(['…', ':']).next().unwrap_or_default().trim();
        assert!(texts.contains(words), "no text of the broker has `{words}`");
    }
}

#[test]
fn every_code_that_the_guide_names_is_explained() {
    let explained = project_file("docs/operators/reference/errors.md");
    let explained: BTreeSet<&str> = rows(&explained, |cell| cell.starts_with("`ODB-"))
        .into_iter()
        .map(|cells| cells[0].trim_matches('`'))
        .collect();
    assert!(explained.len() > 50, "the codes are not found");
    for document in Document::all() {
        if !document.path.starts_with("docs/operators") {
            continue;
        }
        for rest in document.text.split("ODB-").skip(1) {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            let code = format!("ODB-{number}");
            let is_known = number.is_empty() || explained.contains(code.as_str());
            assert!(is_known, "{}: there is no `{code}`", document.path);
        }
    }
}

/// `Another operation … is in progress.`: at least five words, the first one with a capital.
fn is_sentence(quote: &str) -> bool {
    quote.chars().next().is_some_and(char::is_uppercase)
        && quote.ends_with(['.', '…'])
        && !quote.contains('\n')
        && quote.split_whitespace().count() >= 5
}
