//! Sentences of the documents have at most 40 words, and fewer than 22 on average.

use odb_stories::Document;

const LONGEST: usize = 40;
const MEAN: usize = 22;

/// Shorter ones are cells and labels, which would lower the mean.
const SHORTEST: usize = 4;

#[test]
fn no_sentence_of_the_documents_is_long() {
    let mut too_long = Vec::new();
    for document in Document::all() {
        for sentence in sentences(&document.text) {
            let words = words(&sentence);
            if words > LONGEST {
                too_long.push(format!("{}: {words} words: {sentence}", document.path));
            }
        }
    }
    assert!(too_long.is_empty(), "{}", too_long.join("\n"));
}

#[test]
fn sentences_of_each_page_are_short_on_average() {
    for document in Document::all() {
        let lengths: Vec<usize> = sentences(&document.text)
            .iter()
            .map(|sentence| words(sentence))
            .filter(|words| *words >= SHORTEST)
            .collect();
        let total: usize = lengths.iter().sum();
        let count = lengths.len().max(1);
        assert!(
            total < MEAN * count,
            "{}: {total} words in {count} sentences",
            document.path
        );
    }
}

#[test]
fn cells_items_and_headings_are_sentences_of_their_own_and_code_counts_nothing() {
    let text = "# A title\n\nOne two.\nThree `four five`: six.\n\n- an item\n  goes on\n- another\n\n| a cell | [a link](x.md) |\n| --- | --- |\n\n```text\nno. sentence.\n```\n";
    let found = sentences(text);
    assert_eq!(
        found,
        [
            "One two.",
            "Three : six.",
            "an item goes on",
            "another",
            "a cell",
            "a link"
        ]
    );
    assert_eq!(words("Three : six."), 2);
}

fn words(sentence: &str) -> usize {
    let words = sentence.split_whitespace();
    words
        .filter(|word| word.contains(char::is_alphanumeric))
        .count()
}

/// The sentences of a page in Markdown, without headings, code and comments.
fn sentences(text: &str) -> Vec<String> {
    let (mut blocks, mut block, mut is_code) = (Vec::new(), String::new(), false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let item = line.strip_prefix("- ");
        let is_apart =
            line.is_empty() || line.starts_with(['#', '|', '`', '<', '>']) || item.is_some();
        if is_apart || is_code {
            blocks.push(std::mem::take(&mut block));
        }
        if is_code || line.starts_with(['#', '<']) || line.starts_with("```") {
            continue;
        }
        if let Some(row) = line.strip_prefix('|') {
            blocks.extend(row.split('|').map(|cell| cell.trim().to_owned()));
            continue;
        }
        block.push_str(item.unwrap_or(line));
        block.push(' ');
    }
    blocks.push(block);
    let blocks = blocks.iter().map(|block| without_code(block));
    blocks.flat_map(|block| split(&block)).collect()
}

/// Without inline code and the targets of links.
fn without_code(block: &str) -> String {
    let prose: String = block.split('`').step_by(2).collect();
    let mut text = String::new();
    let mut rest = prose.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(&before.replace('[', ""));
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text + &rest.replace('[', "")
}

fn split(block: &str) -> Vec<String> {
    let (mut sentences, mut sentence) = (Vec::new(), Vec::new());
    for word in block.split_whitespace() {
        sentence.push(word);
        if word.ends_with(['.', '!', '?']) {
            sentences.push(sentence.join(" "));
            sentence.clear();
        }
    }
    sentences.push(sentence.join(" "));
    sentences.retain(|sentence| sentence.contains(char::is_alphanumeric));
    sentences
}
