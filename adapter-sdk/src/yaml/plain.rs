//! Which strings YAML may contain without quotation marks.

/// Whether every YAML 1.1 parser reads the plain text as a string.
///
/// That holds for plain words: a letter first, then letters, digits and characters that are common in names, unless
/// some parser reads the word as a boolean, a null or a number. It also holds for a BOSH variable such as
/// `((admin_password))`: placeholders are written like the paths that replace them, so a manifest has the same text
/// before and after. Any other text is quoted.
pub(super) fn is_plainly_a_word(text: &str) -> bool {
    let variable = text
        .strip_prefix("((")
        .and_then(|text| text.strip_suffix("))"));
    match variable {
        Some(name) => !name.is_empty() && name.chars().all(|c| is_common_in_names(c) || c == ':'),
        None => {
            text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.chars().all(is_common_in_names)
                && !means_something_else(text)
        }
    }
}

fn is_common_in_names(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')
}

/// Words of YAML 1.1, and words that some readers mistake for numbers.
fn means_something_else(word: &str) -> bool {
    const WORDS: [&str; 12] = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity",
    ];
    WORDS.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// Whether every parser reads a text of several lines unchanged from a literal block.
///
/// That needs printable characters and lines that end in something visible; the first line must not be indented or
/// empty, because it determines the block's indentation.
pub(super) fn is_fit_for_a_block(text: &str) -> bool {
    let Some(lines) = text.strip_suffix('\n') else {
        return false;
    };
    lines.contains('\n')
        && !text.starts_with([' ', '\n'])
        && lines.split('\n').all(|line| !line.ends_with(' '))
        && !lines.ends_with('\n')
        && text.chars().all(|c| c == '\n' || is_printable(c))
}

fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}
