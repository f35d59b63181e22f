//! A document of the project and what can be tried of it.

use std::{
    fs,
    path::{Path, PathBuf},
};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Where documents are, beside the README of each of these folders.
const FOLDERS: [&str; 3] = ["docs", "release", "adapters"];

/// The line above a block that a test of its own runs; the test follows, and ` -->`.
const RUN_BY: &str = "<!-- run by ";

/// A block that shows what the commands of the block above it print.
const OUTPUT: &str = "text output";

#[derive(Clone, Debug)]
pub struct Document {
    pub path: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The info string after the back-ticks, such as `sh`.
    pub information: String,
    pub line: usize,
    pub text: String,
    /// The tests that run it, according to the line above: tests of the project, by binary and name, or scripts.
    pub run_by: Vec<String>,
    /// What its commands print, according to the block `text output` below it.
    pub output: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub target: String,
    pub line: usize,
}

pub(crate) fn project() -> &'static Path {
    Path::new(PROJECT)
}

impl Document {
    pub fn open(path: &str) -> Self {
        let file = Path::new(PROJECT).join(path);
        let text = fs::read_to_string(&file);
        Self {
            path: path.to_owned(),
            text: text.unwrap_or_else(|error| panic!("{path}: {error}")),
        }
    }

    /// All that are for readers: the `README.md` at the top, what is below `docs`, and the `README.md` of the release
    /// and of each adapter.
    pub fn all() -> Vec<Self> {
        let mut files = [
            "README.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
        ]
        .map(PathBuf::from)
        .to_vec();
        for folder in FOLDERS {
            let found = markdown_below(Path::new(folder));
            let is_for_readers =
                |file: &PathBuf| file.starts_with("docs") || file.ends_with("README.md");
            files.extend(found.into_iter().filter(is_for_readers));
        }
        files
            .iter()
            .map(|file| Self::open(&file.display().to_string()))
            .collect()
    }

    pub fn fences(&self) -> Vec<Fence> {
        fences(&self.text)
    }

    /// Its links to other places, outside of fenced blocks and of code.
    pub fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for (line, text) in self.prose() {
            let mut rest = without_code(text);
            while let Some((_, behind)) = rest.split_once("](") {
                let Some((target, behind)) = behind.split_once(')') else {
                    break;
                };
                links.push(Link {
                    target: target.to_owned(),
                    line,
                });
                rest = behind.to_owned();
            }
        }
        links
    }

    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, text) in self.prose() {
            if let Some(heading) = heading(text) {
                let again = anchors.iter().filter(|one| **one == heading).count();
                anchors.push(match again {
                    0 => heading,
                    again => format!("{heading}-{again}"),
                });
            }
            let marked = text
                .split("<a id=\"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next());
            anchors.extend(marked.map(str::to_owned));
        }
        anchors
    }

    pub fn code(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (line, text) in self.prose() {
            let spans = text.split('`').skip(1).step_by(2);
            found.extend(spans.map(|span| (line, span.to_owned())));
        }
        found
    }

    /// The lines that are in no fenced block, each with its number.
    fn prose(&self) -> Vec<(usize, &str)> {
        let mut lines = Vec::new();
        let mut is_fenced = false;
        for (number, text) in self.text.lines().enumerate() {
            if text.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
            } else if !is_fenced {
                lines.push((number + 1, text));
            }
        }
        lines
    }
}

impl Fence {
    /// Whether a [`Reader`](super::Reader) runs it and sees what it prints.
    fn is_run_by_readers(&self) -> bool {
        self.language() == "sh" && self.run_by.is_empty() && self.output.is_none()
    }

    /// The first word behind the back-ticks, such as `yaml`.
    pub fn language(&self) -> &str {
        self.information.split(' ').next().unwrap_or_default()
    }
}

pub fn fences(document: &str) -> Vec<Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let mut above = "";
    let mut lines = document.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        if let Some(information) = line.trim_start().strip_prefix("```") {
            let block = lines.by_ref().map(|(_, line)| line);
            let block = block.take_while(|line| line.trim() != "```");
            let block: Vec<&str> = block.map(|line| line.get(indent..).unwrap_or("")).collect();
            let text = block.join("\n");
            let commands = found.last_mut().filter(|last| last.is_run_by_readers());
            match commands {
                Some(commands) if information.trim_end() == OUTPUT => commands.output = Some(text),
                _ => found.push(Fence {
                    information: information.trim_end().to_owned(),
                    line: number + 1,
                    text,
                    run_by: runners(above),
                    output: None,
                }),
            }
        }
        above = line;
    }
    found
}

fn runners(line: &str) -> Vec<String> {
    let list = line.trim().strip_prefix(RUN_BY);
    let list = list.and_then(|rest| rest.strip_suffix(" -->"));
    let names = list.into_iter().flat_map(|list| list.split(" and "));
    names
        .map(|name| name.trim_matches('`').to_owned())
        .collect()
}

fn heading(line: &str) -> Option<String> {
    let text = line
        .strip_prefix('#')?
        .trim_start_matches('#')
        .strip_prefix(' ')?;
    let kept = text
        .chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

/// The line without code between back-ticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

fn markdown_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(Path::new(PROJECT).join(folder)) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.expect("the folder can be read");
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            files.extend(markdown_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_knows_its_line_its_kind_and_who_runs_it_and_loses_its_indentation() {
        let text = "# Title\n\n<!-- run by story::check::it_works -->\n```sh\none\n```\n\
            - item:\n  ```yaml ops\n  - path: /a\n    type: remove\n  ```\n";
        let found = fences(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].line, found[0].information.as_str()), (4, "sh"));
        assert_eq!(found[0].run_by, ["story::check::it_works"]);
        assert_eq!(found[1].text, "- path: /a\n  type: remove");
        assert_eq!(found[1].language(), "yaml");
        assert!(found[1].run_by.is_empty());
    }

    #[test]
    fn shown_output_belongs_to_the_commands_above_it() {
        let of_a_test =
            "<!-- run by story::check::it_works -->\n```sh\none\n```\n```text output\n1\n```\n";
        let kinds = |text: &str| -> Vec<String> {
            let found = fences(text).into_iter();
            found.map(|fence| fence.information).collect()
        };
        assert_eq!(kinds(of_a_test), ["sh", "text output"]);
        let text = "```sh\none\n```\n\n```text output\n1\n```\n";
        assert_eq!(fences(text)[0].output.as_deref(), Some("1"));
        assert_eq!(kinds(text), ["sh"]);
    }

    #[test]
    fn links_and_anchors_are_found_outside_of_blocks() {
        let document = Document {
            path: "x.md".to_owned(),
            text: "# A `b` c: d\n[one](y.md#z) and `[no](no)`\n```text\n[no](no)\n```\n<a id=\"k.v\"></a>\n# A b c d\n"
                .to_owned(),
        };
        let targets: Vec<String> = document
            .links()
            .into_iter()
            .map(|link| link.target)
            .collect();
        assert_eq!(targets, ["y.md#z"]);
        assert_eq!(document.anchors(), ["a-b-c-d", "k.v", "a-b-c-d-1"]);
    }
}
