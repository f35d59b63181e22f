//! The reference of every key, for operators, in Markdown. It is generated from the declarations of the reader, and
//! committed as `docs/operators/reference/configuration.md`.

use std::{fmt::Write, ptr};

use super::keys::{DefaultValue, Key, KeyStatus, Keys, Kind, Origin, Presence, ROOT, errands};

/// A section with at least this many keys gets its own table.
const LONG: usize = 9;

const PREFACE: &str = "\
# Configuration keys

`on-demand-broker schema --format markdown` prints this page. See [configure](../configure.md) for checks, and
[properties](properties.md) for the properties of the BOSH jobs.

- Defaults are in parentheses. **required**: if its section is present. A null value counts as absent.
- **New**: the Go programs do not have the key and ignore it.
- **Secret**: the value is never printed or logged.
- `[]` means each member of a list, `NAME` a name of your choice.
";

const BROKER_FILE: &str = "
## broker.yml

`on-demand-broker` and the errand `broker-post-start` read this file.
";

const ERRAND_FILES: &str = "
## The files of the errands

One file serves all [errands](errands.md#configuration-file): each ignores the keys of the others.
";

/// The keys of a file, and which errands read it.
const ERRANDS: [(&str, &Keys); 5] = [
    ("register-broker", &errands::REGISTER_BROKER),
    ("deregister-broker", &errands::DEREGISTER_BROKER),
    (
        "delete-all-service-instances, delete-all-service-instances-and-deregister-broker",
        &errands::DELETION,
    ),
    (
        "upgrade-all-service-instances, recreate-all-service-instances",
        &errands::FLEET,
    ),
    (
        "orphan-deployments, collect-service-metrics, operation, cancel-operation",
        &errands::BROKER_ONLY,
    ),
];

/// The reference of `broker.yml` and of the errands' files.
pub fn markdown_reference() -> String {
    let mut page = Page {
        text: PREFACE.to_owned() + BROKER_FILE,
        listed: None,
    };
    for key in ROOT.iter() {
        if let Some((keys, suffix)) = below(key) {
            let address = format!("{}{suffix}", key.name);
            page.table(&Table::of(address, key, keys, key.origin));
        }
    }
    page.text.push_str(ERRAND_FILES);
    page.listed = Some(Vec::new());
    for (names, keys) in ERRANDS {
        let first = names.split(',').next().unwrap_or(names);
        page.table(&Table {
            heading: names.to_owned(),
            address: first.to_owned(),
            what: "",
            keys,
            origin: Origin::GoBroker,
        });
    }
    page.text
}

/// The page so far.
struct Page {
    text: String,
    /// In the files of the errands: the sections so far with their addresses. One with the same keys refers to the
    /// first.
    listed: Option<Vec<(&'static Keys, String)>>,
}

/// A section or file with its own table.
struct Table {
    heading: String,
    /// The prefix of its keys' addresses, such as `broker`.
    address: String,
    what: &'static str,
    keys: &'static Keys,
    origin: Origin,
}

impl Table {
    fn of(address: String, key: &Key, keys: &'static Keys, origin: Origin) -> Self {
        Self {
            heading: address.clone(),
            address,
            what: key.what,
            keys,
            origin,
        }
    }
}

/// A section within the table of another one, or that one itself.
struct Location<'a> {
    table: &'a Table,
    /// The prefix of addresses below the table's own, such as `tls.`.
    within: &'a str,
    origin: Origin,
}

impl Page {
    /// A table, and then those of the long sections in it.
    fn table(&mut self, table: &Table) {
        let heading = &table.heading;
        // A text takes everything.
        let _ = writeln!(self.text, "\n### {heading}\n");
        if !table.what.is_empty() {
            let new = match table.origin {
                Origin::Added => " **New**, with every key.",
                Origin::GoBroker => "",
            };
            let _ = writeln!(self.text, "{}{new}\n", table.what);
        }
        self.line("key | value | meaning");
        self.line("---|---|---");
        let location = Location {
            table,
            within: "",
            origin: table.origin,
        };
        for section in self.keys(table.keys, &location) {
            self.table(&section);
        }
    }

    /// Adds the rows of a section, and returns the long sections in it, which get tables of their own.
    fn keys(&mut self, keys: &'static Keys, location: &Location<'_>) -> Vec<Table> {
        let mut later = Vec::new();
        for key in keys.iter() {
            let Some((keys, suffix)) = below(key) else {
                self.row(key, location, None);
                continue;
            };
            let listed = self.listed.iter().flatten();
            let first = listed
                .into_iter()
                .find(|(listed, _)| ptr::eq(*listed, keys));
            let listed = first.map(|(_, address)| address.clone());
            self.row(key, location, listed.as_deref());
            if listed.is_some() {
                continue;
            }
            let origin = inherited(location.origin, key.origin);
            let within = format!("{}{}{suffix}", location.within, key.name);
            let address = format!("{}.{}{}", location.table.address, location.within, key.name);
            if let Some(listed) = &mut self.listed {
                listed.push((keys, address));
            }
            if keys.iter().count() >= LONG {
                let address = format!("{}.{within}", location.table.address);
                later.push(Table::of(address, key, keys, origin));
            } else {
                let location = Location {
                    within: &format!("{within}."),
                    origin,
                    ..*location
                };
                later.extend(self.keys(keys, &location));
            }
        }
        later
    }

    /// A row. `listed` is the address of a section with the same keys.
    fn row(&mut self, key: &Key, location: &Location<'_>, listed: Option<&str>) {
        let address = format!("{}{}", location.within, key.name);
        let row = format!(
            "<a id=\"{table}.{address}\"></a>`{address}` | {values}{needed}{default} | {meaning}",
            table = location.table.address,
            values = values(&key.kind),
            needed = match key.presence {
                Presence::Required => ", required",
                Presence::Optional => "",
            },
            default = default(key.default),
            meaning = meaning(key, location.origin).replace('|', "\\|")
                + &listed.map_or_else(String::new, |first| format!(
                    " Keys as in [`{first}`](#{first})."
                )),
        );
        self.line(&row);
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }
}

/// The keys below a key, and the text between its name and theirs besides the dot.
fn below(key: &Key) -> Option<(&'static Keys, &'static str)> {
    match key.kind {
        Kind::Section(keys) => Some((keys, "")),
        Kind::Sections(keys) => Some((keys, "[]")),
        Kind::Named(keys) => Some((keys, ".NAME")),
        _ => None,
    }
}

fn inherited(section: Origin, own: Origin) -> Origin {
    match section {
        Origin::Added => Origin::Added,
        Origin::GoBroker => own,
    }
}

fn values(kind: &Kind) -> String {
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Certificates => "certificates".to_owned(),
        Kind::Choice(words) => quoted(words),
        Kind::Number { least: 0, most } if *most >= u64::from(u32::MAX) => "number".to_owned(),
        Kind::Number { least, most } => format!("{least} to {most}"),
        Kind::Flag => "boolean".to_owned(),
        Kind::Texts => "texts".to_owned(),
        Kind::Choices(words) => format!("any of {}", quoted(words)),
        Kind::VmCount => "number or percentage".to_owned(),
        Kind::TextMap => "map of texts".to_owned(),
        Kind::FreeMap => "map".to_owned(),
        Kind::Amounts => "map of numbers".to_owned(),
        Kind::Anything => "anything".to_owned(),
        Kind::Section(_) => "section".to_owned(),
        Kind::Sections(_) => "sections".to_owned(),
        Kind::Named(_) => "map of sections".to_owned(),
    }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

fn default(value: Option<DefaultValue>) -> String {
    match value {
        Some(DefaultValue::Number(number)) => format!(" ({number})"),
        Some(DefaultValue::Flag(flag)) => format!(" ({flag})"),
        None => String::new(),
    }
}

fn meaning(key: &Key, section: Origin) -> String {
    let mut meaning = key.what.to_owned();
    // The section already says that it is new.
    if (section, key.origin) == (Origin::GoBroker, Origin::Added) {
        meaning.push_str(" **New.**");
    }
    if key.is_secret {
        meaning.push_str(" **Secret.**");
    }
    match key.status {
        KeyStatus::Deprecated(instead) => {
            let _ = write!(meaning, " Deprecated: {instead}.");
        }
        KeyStatus::ReadElsewhere => meaning.push_str(" Not read here."),
        KeyStatus::Read | KeyStatus::OtherSpelling(_) => {}
    }
    meaning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_every_key_of_every_file() {
        let page = markdown_reference();
        expect_rows(&page, &ROOT, "");
        for (names, keys) in ERRANDS {
            let first = names.split(',').next().unwrap();
            expect_rows(&page, keys, first);
        }
    }

    fn expect_rows(page: &str, keys: &'static Keys, section: &str) {
        for key in keys.iter() {
            let address = match section {
                "" => key.name.to_owned(),
                section => format!("{section}.{}", key.name),
            };
            let is_reported = page.contains(&format!("<a id=\"{address}\"></a>"))
                || page.contains(&format!("\n### {address}\n"));
            assert!(is_reported, "{address}");
            let row = page
                .lines()
                .find(|line| line.contains(&format!("<a id=\"{address}\"></a>")));
            let refers = row.is_some_and(|row| row.contains("Keys as in [`"));
            if let Some((keys, suffix)) = below(key).filter(|_| !refers) {
                expect_rows(page, keys, &format!("{address}{suffix}"));
            }
        }
    }

    #[test]
    fn a_row_reports_bounds_default_need_secret_and_origin() {
        let page = markdown_reference();
        for row in [
            "`port` | 1 to 65535, required | The port that the broker listens on.",
            "`use_stdin` | boolean (true) | ",
            "`password` | text, required | The password that the platform and the errands authenticate with. **Secret.**",
            "`bind_address` | text | The IP address to listen on; all interfaces unless given. **New.**",
        ] {
            assert!(page.contains(row), "{row}");
        }
    }
}
