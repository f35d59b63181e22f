//! Which strings may stand in YAML without quotation marks.

/// Whether every YAML 1.1 reader takes the text for a string when it stands there plain.
///
/// That is so for what is plainly a word: a letter first, then letters, digits and what is common in
/// names, unless the word is a boolean, a null or a number to somebody. It is also so for a BOSH
/// variable such as `((admin_password))`; that placeholders of the broker are written like the paths
/// that it puts in their place keeps a manifest the same text before and after. Anything else is
/// quoted; quotes never hurt.
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

/// Words of YAML 1.1, and what some readers take for a number that is none.
fn means_something_else(word: &str) -> bool {
    const WORDS: [&str; 12] = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity",
    ];
    WORDS.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// Whether a text of several lines survives as a literal block, in every reader.
///
/// That takes printable characters and lines that end in something visible; the first one must not
/// be indented or empty, as the block's indentation is read off it.
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
