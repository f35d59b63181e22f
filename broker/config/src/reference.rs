//! The reference of every key, for operators, in Markdown. It is generated from the declarations of the reader, and
//! committed as `docs/operators/reference/configuration.md`.

use std::fmt::Write;

use super::keys::{FILES, Key, KeyStatus, Keys, Kind};

/// A section with at least this many keys gets its own table.
const LONG: usize = 9;

const PREFACE: &str = "\
# Configuration keys

`on-demand-broker schema --format markdown` prints this page. See [configure](../configure.md) for checks, and
[properties](properties.md) for the properties of the BOSH jobs.

- Defaults are in parentheses. **required**: if its section is present. A null value counts as absent.
- **New**: the Go programs do not have the key and ignore it.
- **Secret**: the value is never printed or logged. It can be in [a file or an environment variable](../secure.md#secrets-outside-the-file).
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

fn errands() -> [(&'static str, &'static Keys); 5] {
    [
        ("register-broker", &FILES.register_broker),
        ("deregister-broker", &FILES.deregister_broker),
        (
            "delete-all-service-instances, delete-all-service-instances-and-deregister-broker",
            &FILES.deletion,
        ),
        (
            "upgrade-all-service-instances, recreate-all-service-instances",
            &FILES.fleet,
        ),
        (
            "orphan-deployments, collect-service-metrics, operation, cancel-operation",
            &FILES.broker_only,
        ),
    ]
}

/// The reference of `broker.yml` and of the errands' files.
pub fn markdown_reference() -> String {
    let mut page = Page {
        text: PREFACE.to_owned() + BROKER_FILE,
        listed: None,
    };
    for key in FILES.broker.iter() {
        if let Some((keys, suffix)) = below(key) {
            page.table(&Table::of(
                format!("{}{suffix}", key.name),
                key,
                keys,
                key.new,
            ));
        }
    }
    page.text.push_str(ERRAND_FILES);
    page.listed = Some(Vec::new());
    for (names, keys) in errands() {
        let first = names.split(',').next().unwrap_or(names);
        page.table(&Table {
            heading: names.to_owned(),
            address: first.to_owned(),
            what: "",
            keys,
            new: false,
        });
    }
    page.text
}

struct Page {
    text: String,
    /// In the files of the errands: the sections so far with their addresses. One with the same keys refers to the
    /// first.
    listed: Option<Vec<(&'static Keys, String)>>,
}

struct Table {
    heading: String,
    /// The prefix of its keys' addresses, such as `broker`.
    address: String,
    what: &'static str,
    keys: &'static Keys,
    new: bool,
}

impl Table {
    fn of(address: String, key: &'static Key, keys: &'static Keys, new: bool) -> Self {
        Self {
            heading: address.clone(),
            address,
            what: &key.what,
            keys,
            new,
        }
    }
}

impl Page {
    /// A table, and then those of the long sections in it.
    fn table(&mut self, table: &Table) {
        let new = if table.new {
            " **New**, with every key."
        } else {
            ""
        };
        let what = match table.what {
            "" => String::new(),
            what => format!("{what}{new}\n\n"),
        };
        // Writing to a string does not fail.
        let _ = write!(
            self.text,
            "\n### {}\n\n{what}key | value | meaning\n---|---|---\n",
            table.heading
        );
        for section in self.rows(table.keys, &table.address, "", table.new) {
            self.table(&section);
        }
    }

    /// Adds the rows of a section, and returns the long sections in it, which get tables of their own. `within` is the
    /// prefix of its keys in the table, such as `tls.`; `is_new` that the section has been called new before.
    fn rows(&mut self, keys: &'static Keys, table: &str, within: &str, is_new: bool) -> Vec<Table> {
        let mut later = Vec::new();
        for key in keys.iter() {
            let name = format!("{within}{}", key.name);
            let below = below(key);
            let mut listed = self.listed.iter().flatten();
            let first = listed.find(|(listed, _)| below.is_some_and(|(keys, _)| *listed == keys));
            let first = first.map(|(_, address)| address.clone());
            self.row(key, table, &name, is_new, first.as_deref());
            let Some((keys, suffix)) = below.filter(|_| first.is_none()) else {
                continue;
            };
            if let Some(listed) = &mut self.listed {
                listed.push((keys, format!("{table}.{name}")));
            }
            let (within, new) = (format!("{name}{suffix}"), is_new || key.new);
            if keys.iter().count() >= LONG {
                later.push(Table::of(format!("{table}.{within}"), key, keys, new));
            } else {
                later.extend(self.rows(keys, table, &format!("{within}."), new));
            }
        }
        later
    }

    /// A row. `listed` is the address of a section with the same keys.
    fn row(&mut self, key: &Key, table: &str, name: &str, is_new: bool, listed: Option<&str>) {
        let required = if key.required { ", required" } else { "" };
        let default = key.default.as_ref();
        let default = default.map(|value| format!(" ({value})"));
        let listed = listed.map(|first| format!(" Keys as in [`{first}`](#{first})."));
        let _ = writeln!(
            self.text,
            "<a id=\"{table}.{name}\"></a>`{name}` | {values}{required}{default} | {meaning}{listed}",
            values = values(key),
            default = default.unwrap_or_default(),
            meaning = meaning(key, is_new).replace('|', "\\|"),
            listed = listed.unwrap_or_default(),
        );
    }
}

/// The keys below a key, and the text between its name and theirs besides the dot.
fn below(key: &'static Key) -> Option<(&'static Keys, &'static str)> {
    let suffix = match key.kind {
        Kind::Sections => "[]",
        Kind::Named => ".NAME",
        _ => "",
    };
    Some((key.keys.as_ref()?, suffix))
}

fn values(key: &Key) -> String {
    let words: Vec<String> = key.words.iter().map(|word| format!("`{word}`")).collect();
    let words = words.join(", ");
    let name = match key.kind {
        Kind::Choice => return words,
        Kind::Choices => return format!("any of {words}"),
        Kind::Number if key.least > 0 || key.most < u64::from(u32::MAX) => {
            return format!("{} to {}", key.least, key.most);
        }
        Kind::Number => "number",
        Kind::Text => "text",
        Kind::SecretFile => "path",
        Kind::Certificates => "certificates",
        Kind::Flag => "boolean",
        Kind::Texts => "texts",
        Kind::VmCount => "number or percentage",
        Kind::TextMap => "map of texts",
        Kind::FreeMap => "map",
        Kind::Amounts => "map of numbers",
        Kind::Anything => "anything",
        Kind::Section => "section",
        Kind::Sections => "sections",
        Kind::Named => "map of sections",
    };
    name.to_owned()
}

fn meaning(key: &Key, section_is_new: bool) -> String {
    let mut meaning = key.what.clone();
    if key.new && !section_is_new {
        meaning.push_str(" **New.**");
    }
    if key.secret {
        meaning.push_str(" **Secret.**");
    }
    match &key.status {
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
        expect_rows(&page, &FILES.broker, "");
        for (names, keys) in errands() {
            let first = names.split(',').next().unwrap();
            expect_rows(&page, keys, first);
        }
    }

    fn expect_rows(page: &str, keys: &'static Keys, section: &str) {
        for key in keys.iter() {
            let address = match section {
                "" => key.name.clone(),
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
            "`bind_address` | text | The IP address to listen on. Default: all interfaces. **New.**",
        ] {
            assert!(page.contains(row), "{row}");
        }
    }
}
