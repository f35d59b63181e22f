//! Signs of a secret.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, Input, MatchKind};

/// A sign of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Part of a key whose value may be a secret.
    Word,
    /// `((`, before a name that is none.
    Reference,
    /// The start of a key or certificate.
    Pem,
    /// The scheme of an `Authorization` header.
    Scheme,
    /// The text between the scheme and the rest of an address.
    Address,
    /// The start of a JSON web token.
    WebToken,
    /// `-p`, with a password behind it.
    PasswordFlag,
    /// `-u`, before `user:password`.
    UserFlag,
    /// `-a`, before the password of `redis-cli`.
    RedisFlag,
    /// `IDENTIFIED BY`, before a password.
    Sql,
}

const SIGNS: &[(&str, Sign)] = &[
    ("pass", Sign::Word),
    ("pwd", Sign::Word),
    ("secret", Sign::Word),
    ("token", Sign::Word),
    ("credential", Sign::Word),
    ("authorization", Sign::Word),
    ("cookie", Sign::Word),
    ("key", Sign::Word),
    ("((", Sign::Reference),
    (super::PEM_BEGIN, Sign::Pem),
    ("bearer ", Sign::Scheme),
    ("basic ", Sign::Scheme),
    ("://", Sign::Address),
    ("eyJ", Sign::WebToken),
    ("-p", Sign::PasswordFlag),
    ("-u ", Sign::UserFlag),
    ("--user ", Sign::UserFlag),
    ("-a ", Sign::RedisFlag),
    ("identified by", Sign::Sql),
];

static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(SIGNS.iter().map(|(text, _)| text))
        .expect("a few short patterns fit into an automaton")
});

/// The first sign at `from` or later.
pub(super) fn next_sign(text: &str, from: usize) -> Option<(Sign, Range<usize>)> {
    let found = FINDER.find(Input::new(text).range(from.min(text.len())..))?;
    let (_, sign) = SIGNS.get(found.pattern().as_usize())?;
    Some((*sign, found.range()))
}

/// Whether a list of words, with commas between them, has this one.
pub(super) fn has_word(words: &str, wanted: &str) -> bool {
    words.split(',').any(|word| word == wanted)
}
