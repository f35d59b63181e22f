//! The messages that documents quote are those of the broker.

use odb_stories::{Document, broker_texts};

/// Under this heading each row of the table begins with what users read.
const HEADING: &str = "## When something fails\n";

#[test]
fn every_error_that_the_users_page_explains_is_said_by_the_broker() {
    let page = Document::open("docs/users/README.md").text;
    let (_, errors) = page.split_once(HEADING).expect("errors are explained");
    let rows = errors.lines().filter_map(|row| row.strip_prefix("| `"));
    let reported: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    assert!(reported.len() > 10, "the errors are not found");
    let texts = broker_texts();
    for text in reported {
        // A part that differs each time is replaced by an ellipsis.
        for part in text.split('…').map(str::trim).filter(|part| part.len() > 1) {
            assert!(
                texts.contains(part),
                "no text of the broker has `{part}` of `{text}`"
            );
        }
    }
}
