//! The section `ui`.

use secrecy::ExposeSecret;

use super::*;

fn with(ui: &str) -> String {
    format!("{}\nui: {ui}\n", minimal().trim_end())
}

#[test]
fn the_page_is_there_if_it_is_switched_on_and_offers_what_is_listed() {
    for (ui, expected) in [
        ("{}", None),
        ("{enabled: false}", None),
        ("{enabled: false, username: a}", None),
        ("{enabled: false, actions: [cancel]}", None),
        (
            "{enabled: true, username: ada, password: b}",
            Some(("ada", vec![])),
        ),
        (
            "{enabled: true, username: ada, password: b, actions: [cancel, upgrade]}",
            Some(("ada", vec![UiAction::Upgrade, UiAction::Cancel])),
        ),
    ] {
        let page = parse(&with(ui)).unwrap().config.ui;
        let found = page.as_ref().map(|page| {
            let actions: Vec<UiAction> = page.actions.iter().copied().collect();
            (page.credentials.username(), actions)
        });
        assert_eq!(found, expected, "{ui}");
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let config = parse(&minimal()).unwrap().config;
    let of_broker = &config.broker.credentials;
    let (username, password) = (of_broker.username(), of_broker.password().expose_secret());
    let same = format!("{{enabled: true, username: {username}, password: {password}}}");
    for (ui, expected) in [
        (
            "{enabled: true}",
            &["`ui.username` is missing", "`ui.password` is missing"][..],
        ),
        (
            "{enabled: true, username: a}",
            &["`ui.password` is missing"],
        ),
        (
            "{enabled: true, password: a}",
            &["`ui.username` is missing"],
        ),
        (
            "{enabled: true, actions: [cancel], password: a}",
            &["`ui.username` is missing"],
        ),
        (
            "{enabled: true, username: 'a:b', password: c}",
            &["has a colon"],
        ),
        (&same, &["is the broker's"]),
        (
            "{enabled: true, username: a, password: b, actions: [recreate]}",
            &["supported are `upgrade`, `cancel`, `delete`"],
        ),
    ] {
        let found = findings(&with(ui));
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found:?}");
        }
    }
}
