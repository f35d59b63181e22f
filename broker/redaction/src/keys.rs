//! Whether the value of a key is a secret.

use std::ops::Range;

use super::{
    signs::has_word,
    values::{self, Value},
};

/// Words that name a secret in every context.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "passcode", "pwd"];

/// Words that name a secret in data, but may be the topic of a sentence.
const OTHERS: &[&str] = &["secret", "token", "credential", "authorization", "cookie"];

/// Words of the language that end like `dbpass`.
const PLAIN: &str = "bypass,compass,encompass,overpass,surpass,trespass,underpass";

/// Names of cryptographic keys, without separators.
const KEYS: &str = "\
    apikey,privatekey,accesskey,secretkey,encryptionkey,signingkey,masterkey,accountkey,\
    sharedkey,authkey,sshkey";

/// Last parts of keys whose values describe a secret: `token_url`, `access_token_expired`.
const ABOUT: &str = "\
    name,names,id,ids,path,paths,url,urls,uri,uris,type,types,length,len,file,files,ref,refs,\
    reference,references,expired,expires,expiry,ttl,validity,policy,count,status,endpoint,\
    scope,scopes,format,version,versions,enabled,required,error";

/// First parts of the names of errors: `invalid_token`.
const ERRORS: &str = "invalid,missing,expired,unsupported,unknown,bad,wrong,no,insufficient";

/// Where a placeholder for a secret of the adapter begins; the name follows.
const PLACEHOLDER: &str = "odb_secret";

/// The longest text between a word and ` = ` or `: `.
const LONGEST_PHRASE: usize = 24;

/// The kind of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A password or similar.
    Password,
    /// A secret in data; in a sentence it may be the topic.
    Other,
    /// `key`, which is a secret only before an equals sign.
    PlainKey,
}

/// A word of a line that may be a key, with the text around it.
pub(super) struct Key<'l> {
    line: &'l str,
    at: Range<usize>,
}

/// The separator between a key and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Separator {
    sign: u8,
    /// The value begins here, or spaces before it do.
    end: usize,
    /// The key was quoted.
    is_after_quote: bool,
}

impl<'l> Key<'l> {
    /// The complete word around a part of it.
    pub(super) fn around(line: &'l str, part: &Range<usize>) -> Self {
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
        let bytes = line.as_bytes();
        let before = bytes[..part.start]
            .iter()
            .rev()
            .take_while(|byte| is_of_word(byte));
        let after = bytes[part.end..].iter().take_while(|byte| is_of_word(byte));
        let at = part.start - before.count()..part.end + after.count();
        Self { line, at }
    }

    pub(super) fn end(&self) -> usize {
        self.at.end
    }

    /// The value, if it must be masked.
    pub(super) fn value(&self) -> Option<Value> {
        let kind = kind(self.word())?;
        if let Some(value) = self.value_of_flag(kind) {
            return Some(value);
        }
        let separator = self.separator(kind)?;
        if kind == Kind::PlainKey && separator.sign != b'=' {
            return None;
        }
        if self.is_placeholder(separator) || self.is_working_folder(separator) {
            return None;
        }
        let mut value = values::after(self.line, separator.end, separator.sign)?;
        let text = &self.line[value.span.clone()];
        let word = if value.is_delimited {
            text
        } else {
            text.split(' ').next().unwrap_or_default()
        };
        // A name of CredHub, or of a file.
        if kind == Kind::Other && values::is_path(word) {
            return None;
        }
        value.goes_on &= self.is_first_on_line();
        if text.is_empty() {
            return value.goes_on.then_some(value);
        }
        if value.is_delimited {
            return Some(value);
        }
        let is_password =
            kind == Kind::Password && !separator.is_after_quote && !self.is_after_phrase(separator);
        if separator.sign == b':' && !is_password && self.is_in_prose(separator) {
            value.span = values::in_prose(self.line, &value.span)?;
        } else if self.is_header() {
            value.span.end = self.line.len();
        }
        Some(value)
    }

    fn word(&self) -> &'l str {
        &self.line[self.at.clone()]
    }

    /// `--password hunter2`, `requirepass hunter2`, `PASSWORD 'hunter2'`.
    fn value_of_flag(&self, kind: Kind) -> Option<Value> {
        let rest = &self.line[self.at.end..];
        let start = self.at.end + 1;
        if !rest.starts_with(' ') {
            return None;
        }
        let takes_next = kind != Kind::PlainKey && self.word().starts_with('-')
            || self.word().eq_ignore_ascii_case("requirepass");
        let is_quoted = kind == Kind::Password && rest.trim_start().starts_with(['\'', '"']);
        if takes_next {
            values::argument(self.line, start)
        } else if is_quoted {
            values::quoted(self.line, self.line.len() - rest.trim_start().len())
        } else {
            None
        }
    }

    fn separator(&self, kind: Kind) -> Option<Separator> {
        let bytes = self.line.as_bytes();
        let mut at = self.at.end;
        let escapes = bytes[at..]
            .iter()
            .take_while(|byte| **byte == b'\\')
            .count();
        let is_after_quote = matches!(bytes.get(at + escapes), Some(b'"' | b'\'' | b'`'));
        if is_after_quote {
            at += escapes + 1;
        }
        let is_in_tags =
            bytes.get(at) == Some(&b'>') && self.at.start > 0 && bytes[self.at.start - 1] == b'<';
        if is_in_tags {
            let (sign, end) = (b'>', at + 1);
            return Some(Separator {
                sign,
                end,
                is_after_quote: false,
            });
        }
        at += bytes[at..].iter().take_while(|byte| **byte == b' ').count();
        let separator = |sign, end| {
            Some(Separator {
                sign,
                end,
                is_after_quote,
            })
        };
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b':', Some(b':')) => None,
            (b':', Some(b'=')) | (b'=', Some(b'>' | b'=')) => separator(b'=', at + 2),
            (sign @ (b':' | b'='), _) => separator(*sign, at + 1),
            _ if is_after_quote || kind == Kind::PlainKey => None,
            _ => self.separator_after_phrase(),
        }
    }

    /// `the secret for the plan = hunter2`, `password for bob: hunter2`
    fn separator_after_phrase(&self) -> Option<Separator> {
        let rest = &self.line.as_bytes()[self.at.end..];
        let is_of_phrase = |byte: &&u8| byte.is_ascii_alphanumeric() || b" _-".contains(byte);
        let length = rest.iter().take(LONGEST_PHRASE + 1);
        let length = length.take_while(is_of_phrase).count();
        let (phrase, behind) = rest.split_at(length);
        let names_its_owner = [&b" for "[..], b" of "]
            .iter()
            .any(|start| phrase.starts_with(start));
        let sign = match behind {
            [b'=', b' ', ..] if phrase.ends_with(b" ") => b'=',
            [b':', b' ', ..] if names_its_owner => b':',
            _ => return None,
        };
        Some(Separator {
            sign,
            end: self.at.end + length + 2,
            is_after_quote: false,
        })
    }

    /// `odb_secret:name`, as in manifests and in the Director's errors.
    fn is_placeholder(&self, separator: Separator) -> bool {
        let name = self.line[separator.end..].chars().next();
        self.word().eq_ignore_ascii_case(PLACEHOLDER)
            && separator.sign == b':'
            && separator.end == self.at.end + 1
            && name.is_some_and(|letter| !letter.is_whitespace())
    }

    /// The shell's `PWD` and `OLDPWD`.
    fn is_working_folder(&self, separator: Separator) -> bool {
        matches!(self.word(), "PWD" | "OLDPWD") && self.line[separator.end..].starts_with('/')
    }

    /// Whether other words are between the key and its separator.
    fn is_after_phrase(&self, separator: Separator) -> bool {
        let between = &self.line[self.at.end..separator.end];
        between.starts_with(' ') && between.bytes().any(|byte| byte.is_ascii_alphanumeric())
    }

    /// Whether the word is part of a sentence or a path, and not the key of data.
    fn is_in_prose(&self, separator: Separator) -> bool {
        let before = &self.line[..self.at.start];
        if before.ends_with('/') || separator.is_after_quote || self.is_after_phrase(separator) {
            return true;
        }
        let is_plain = self.word().bytes().all(|byte| byte.is_ascii_alphabetic());
        let Some(sentence) = before.strip_suffix(' ').filter(|_| is_plain) else {
            return false;
        };
        let word = sentence.rsplit(|letter: char| !letter.is_ascii_alphabetic());
        let word = word.into_iter().next().unwrap_or_default();
        word.ends_with(|letter: char| letter.is_ascii_lowercase())
    }

    /// Semicolons and commas do not end the values of these.
    fn is_header(&self) -> bool {
        let word = self.word().to_ascii_lowercase();
        word.ends_with("authorization") || word.ends_with("cookie")
    }

    fn is_first_on_line(&self) -> bool {
        let before = self.line[..self.at.start].trim_end_matches(['"', '\'']);
        before
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'-'))
    }
}

fn kind(word: &str) -> Option<Kind> {
    let word = word.trim_matches(['-', '.']);
    if word.eq_ignore_ascii_case("key") {
        return Some(Kind::PlainKey);
    }
    let parts = parts(word);
    let (first, last) = (parts.first()?.as_str(), parts.last()?.as_str());
    let joined = parts.concat();
    let is_about = parts.len() > 1 && has_word(ABOUT, last) && !joined.ends_with("secretid");
    if is_about || parts.len() > 1 && has_word(ERRORS, first) {
        return None;
    }
    let is_password = |part: &String| {
        let begins = PASSWORDS[..4].iter().any(|word| part.starts_with(word));
        let ends = part.ends_with("pass") && !has_word(PLAIN, part);
        begins || ends || is_of(part, PASSWORDS)
    };
    let is_other = |part: &String| part.starts_with("secret") || is_of(part, OTHERS);
    if parts.iter().any(is_password) || KEYS.split(',').any(|key| joined.contains(key)) {
        Some(Kind::Password)
    } else if parts.iter().any(is_other) {
        Some(Kind::Other)
    } else {
        None
    }
}

/// Whether a part ends with one of the words, or with several of it.
fn is_of(part: &str, words: &[&str]) -> bool {
    let one = part.strip_suffix('s').unwrap_or(part);
    words
        .iter()
        .any(|word| part.ends_with(word) || one.ends_with(word))
}

/// `clientSecret`, `client_secret` and `client-secret` in small letters, part by part.
fn parts(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_small = false;
    for letter in word.chars() {
        let is_separator = matches!(letter, '-' | '_' | '.');
        if is_separator || was_small && letter.is_ascii_uppercase() {
            parts.push(String::new());
        }
        if let (false, Some(part)) = (is_separator, parts.last_mut()) {
            part.push(letter.to_ascii_lowercase());
        }
        was_small = letter.is_ascii_lowercase();
    }
    parts.retain(|part| !part.is_empty());
    parts
}
