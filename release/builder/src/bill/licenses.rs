//! One text with the licences of a package and of all of its parts. Many crates share a text, which is there once.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use anyhow::{Context, bail};

use super::{Component, Origin, Subject};
use crate::contents::unreadable;

/// For crates that name the licence and do not have its text.
const MIT: &str = r#"Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify,
merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."#;

const LINE: &str =
    "================================================================================";

pub(super) fn text(
    project: &Path,
    subject: &Subject,
    components: &[Component],
) -> anyhow::Result<String> {
    let own = read(&project.join("LICENSE"))?;
    let mut holders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for component in components
        .iter()
        .filter(|component| component.origin != Origin::Project)
    {
        let title = format!("{} {}", component.name, component.version);
        let license = component.license.as_deref().unwrap_or("see below");
        let _ = writeln!(list, "{title}: {license}");
        for text in texts(component, &own)? {
            let titles = holders.entry(text).or_default();
            if titles.last() != Some(&title) {
                titles.push(title.clone());
            }
        }
    }
    // In the order of the parts.
    let mut sections: Vec<(Vec<String>, String)> = holders
        .into_iter()
        .map(|(text, titles)| (titles, text))
        .collect();
    sections.sort();
    let mut all = format!(
        "{} {} is licensed as follows.\n\n{own}\n{LINE}\n\nIt contains these parts:\n\n{list}",
        subject.name, subject.version
    );
    for (titles, text) in sections {
        let _ = write!(all, "\n{LINE}\n\n{}\n\n{text}\n", titles.join(", "));
    }
    Ok(all)
}

/// The texts of a part, or, if it has none, the standard text of a licence that it names.
fn texts(component: &Component, own: &str) -> anyhow::Result<Vec<String>> {
    if !component.texts.is_empty() {
        return component.texts.iter().map(|path| read(path)).collect();
    }
    let license = component.license.as_deref().unwrap_or_default();
    let offers = |name: &str| license.split(" OR ").any(|offered| offered == name);
    let standard = if offers("MIT") {
        let holders = match component.authors.join(", ") {
            unnamed if unnamed.is_empty() => format!("the authors of {}", component.name),
            named => named,
        };
        format!("MIT License\n\nCopyright (c) {holders}\n\n{MIT}")
    } else if offers("Apache-2.0") {
        own.to_owned()
    } else {
        bail!(
            "`{}` {} is licensed as `{license}` and has no text of it; add the text to this program",
            component.name,
            component.version
        );
    };
    Ok(vec![standard])
}

fn read(path: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(path).with_context(|| unreadable(path))?;
    let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(license: &str) -> Component {
        Component {
            name: "part".to_owned(),
            version: "1.0.0".to_owned(),
            purl: "pkg:cargo/part@1.0.0".to_owned(),
            origin: Origin::Registry,
            license: Some(license.to_owned()),
            sha256: None,
            texts: Vec::new(),
            authors: vec!["A. Author".to_owned()],
            uses: Vec::new(),
        }
    }

    #[test]
    fn a_part_without_a_text_gets_the_standard_text_with_its_authors() {
        let text = texts(&part("Apache-2.0 OR MIT"), "own").unwrap();
        assert!(text[0].contains("Copyright (c) A. Author"), "{text:?}");
        assert_eq!(texts(&part("Apache-2.0"), "own").unwrap(), ["own"]);
    }

    #[test]
    fn a_part_with_an_unknown_licence_and_no_text_is_an_error() {
        let error = texts(&part("MIT-0"), "own").unwrap_err();
        assert!(error.to_string().contains("`part` 1.0.0"), "{error}");
    }
}
