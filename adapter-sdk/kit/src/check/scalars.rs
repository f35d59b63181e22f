/// Unquoted values that parsers of YAML 1.1 and 1.2 read differently, with the numbers of their lines
/// (`spec/contracts/adapter-protocol.md`, "YAML: what readers on the other side do").
///
/// Only block collections with one value a line are checked, not flow collections or block texts.
pub(super) fn ambiguous_scalars(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut block_text: Option<usize> = None;
    for (nth, line) in text.lines().enumerate() {
        let indentation = line.len() - line.trim_start().len();
        if line.trim().is_empty() {
            continue;
        }
        if block_text.is_some_and(|outer| indentation > outer) {
            continue;
        }
        block_text = None;
        let Some(value) = value_of(line.trim()) else {
            continue;
        };
        if value.starts_with(['|', '>']) {
            block_text = Some(indentation);
        } else if let Some(kind) = ambiguity(value) {
            found.push((nth + 1, kind));
        }
    }
    found
}

/// The value at the end of a line, if it is in plain style.
fn value_of(line: &str) -> Option<&str> {
    let mut rest = line;
    let mut is_value = false;
    while let Some(item) = rest.strip_prefix("- ") {
        rest = item.trim_start();
        is_value = true;
    }
    if let Some((key, value)) = rest.split_once(": ")
        && !key.starts_with(['"', '\'', '{', '['])
    {
        rest = value.trim_start();
        is_value = true;
    }
    let value = rest.split(" #").next().unwrap_or(rest).trim_end();
    let is_plain = !value.starts_with(['"', '\'', '{', '[', '&', '*', '!', '#', '(']);
    (is_value && is_plain && !value.is_empty()).then_some(value)
}

/// The other type of a plain value, if parsers disagree.
fn ambiguity(value: &str) -> Option<&'static str> {
    let lower = value.to_lowercase();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_cased = value == lower || value.chars().all(char::is_uppercase) || {
        let mut rest = value.chars();
        rest.next().is_some_and(char::is_uppercase) && rest.all(char::is_lowercase)
    };
    if is_cased && ["yes", "no", "on", "off", "y", "n"].contains(&lower.as_str()) {
        return Some("a boolean to some");
    }
    if value.contains(':') && value.split(':').all(digits) {
        return Some("a number of base 60 to some");
    }
    if value.contains(',') && value.split(',').all(digits) {
        return Some("a number with separators to some");
    }
    if value.len() > 1 && value.starts_with('0') && digits(value) {
        return Some("an octal number to some");
    }
    if value.starts_with("0o") && digits(&value[2..]) {
        return Some("an octal number to others");
    }
    if value.starts_with(':') && value.len() > 1 {
        return Some("a symbol to some");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_readers_disagree_about_are_found_with_their_lines() {
        let text =
            "name: a\n- x: yes\n  y: 'no'\n- 12:30\nz: 010 # eight\nw: 0o10\nv: 1,000\nu: :a\n";
        let lines: Vec<usize> = ambiguous_scalars(text)
            .into_iter()
            .map(|(line, _)| line)
            .collect();
        assert_eq!(lines, [2, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn what_is_quoted_or_in_a_block_text_or_plainly_a_word_is_left_alone() {
        let text = "a: |\n  x: yes\n  - no\nb: true\nc: 30000-240000\nd: \"yes\"\ne: ((x))\nf: 0.1.2\ng: 10\n\"h\": \"no\",\ni: nO\n";
        assert_eq!(ambiguous_scalars(text), []);
    }
}
