//! The section `ui`.

use super::*;

fn with(ui: &str) -> String {
    format!("{}\nui: {ui}\n", minimal().trim_end())
}

#[test]
fn the_page_is_there_if_it_is_switched_on_and_offers_what_is_listed() {
    for (ui, expected) in [
        ("{}", None),
        ("{enabled: false, username: a, password: b}", None),
        ("{enabled: true}", Some((None, vec![]))),
        (
            "{enabled: true, username: ada, password: b, actions: [cancel, upgrade]}",
            Some((Some("ada"), vec![UiAction::Upgrade, UiAction::Cancel])),
        ),
    ] {
        let page = parse(&with(ui)).unwrap().config.ui;
        let found = page.as_ref().map(|page| {
            let credentials = page.credentials.as_ref();
            let actions: Vec<UiAction> = page.actions.iter().copied().collect();
            (credentials.map(BasicCredentials::username), actions)
        });
        assert_eq!(found, expected, "{ui}");
    }
}

#[test]
fn what_cannot_work_is_refused() {
    for (ui, expected) in [
        ("{enabled: true, username: a}", "`ui.password` is missing"),
        ("{enabled: true, password: a}", "`ui.username` is missing"),
        (
            "{enabled: true, username: 'a:b', password: c}",
            "has a colon",
        ),
        (
            "{enabled: true, actions: [cancel]}",
            "needs credentials of the page's own",
        ),
        (
            "{enabled: true, username: a, password: b, actions: [recreate]}",
            "supported are `upgrade`, `cancel`, `delete`",
        ),
    ] {
        let found = findings(&with(ui));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(expected), "{found:?}");
    }
}
