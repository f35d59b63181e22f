//! Secrets without a key: in addresses, headers and command lines.

use std::ops::Range;

use super::{
    PEM_END,
    signs::has_word,
    values::{self, looks_random},
};

/// Flags that begin with a `p` and take no password.
const FLAGS: &str = "\
    package,page,parallel,param,parameters,params,partition,partitions,patch,path,pattern,\
    persist,persistence,persistent,pid,pidfile,plan,pod,pods,policy,poll,polling,pool,port,\
    ports,post,pre,prefix,preserve,pretty,print,process,processes,profile,project,properties,\
    property,protected,protocol,provider,proxy,prune,public,purge,push";

/// CredHub accepts names of 1024 characters; the other parts of a reference are short.
const LONGEST_REFERENCE: usize = 2048;

/// Where a reference that begins at `start` ends: `((name))`.
pub(super) fn after_reference(text: &str, start: usize) -> Option<usize> {
    let inside = text[start..].strip_prefix("((")?;
    let near = &inside.as_bytes()[..inside.len().min(LONGEST_REFERENCE)];
    let length = near.windows(2).position(|end| end == b"))")?;
    let name = &inside[..length];
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./!:".contains(&byte);
    let is_placeholder = name.trim_start_matches('!').starts_with("odb_secret:");
    let is_reference = !name.is_empty()
        && (name.bytes().all(is_name) || is_placeholder && !name.contains(['(', ')']));
    is_reference.then_some(start + length + 4)
}

/// A key or certificate on one line.
pub(super) fn pem(line: &str, start: usize) -> Range<usize> {
    let end = line[start..].find(PEM_END).map(|end| start + end);
    let end = end.and_then(|end| {
        let name = end + PEM_END.len();
        line[name..].find("-----").map(|dashes| name + dashes + 5)
    });
    start..end.unwrap_or(line.len())
}

/// The credentials after `Basic` or `Bearer`.
pub(super) fn credentials_of_scheme(line: &str, start: usize) -> Option<Range<usize>> {
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=._~-".contains(&byte);
    let length = line[start..].bytes().take_while(|byte| is_of_token(*byte));
    let span = start..start + length.count();
    let word = line[span.clone()].trim_end_matches('.');
    (word.len() >= 8 && looks_random(word)).then_some(span)
}

/// The password of an address, or a user that is one: `redis://:PW@host`, `https://TOKEN@host`.
pub(super) fn userinfo(line: &str, start: usize) -> Option<Range<usize>> {
    let rest = &line[start..];
    let end = rest.find(|letter: char| letter.is_whitespace() || "\"'`<>".contains(letter));
    let rest = &rest[..end.unwrap_or(rest.len())];
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let colon = authority.find(':').map(|colon| start + colon + 1);
    // A password may have an `@` in it, and a `/` although it should not.
    let at = match (authority.rfind('@'), colon) {
        (Some(at), _) => start + at,
        (None, Some(colon)) => {
            let port = &line[colon..start + authority.len()];
            let is_port = colon > start + 1 && port.bytes().all(|byte| byte.is_ascii_digit());
            start + rest.rfind('@').filter(|_| !is_port)?
        }
        (None, None) => return None,
    };
    let secret = match colon {
        Some(colon) if colon <= at => colon..at,
        _ => start..at,
    };
    let user = &line[secret.clone()];
    let is_user = secret.start == start && colon.is_none_or(|colon| colon > at);
    let is_reference = after_reference(user, 0) == Some(user.len());
    (!is_reference && (!is_user || user.len() > 12 && looks_random(user))).then_some(secret)
}

/// A JSON web token: two parts at least, in Base64.
pub(super) fn web_token(line: &str, start: usize) -> Option<Range<usize>> {
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let length = line[start..].bytes().take_while(|byte| is_of_token(*byte));
    let span = start..start + length.count();
    let token = &line[span.clone()];
    (token.starts_with("eyJ") && token.len() > 16 && token.contains('.')).then_some(span)
}

/// `-pPASSWORD`
pub(super) fn password_flag(line: &str, flag: &Range<usize>) -> Option<Range<usize>> {
    if !starts_argument(line, flag.start) || !line[flag.clone()].ends_with('p') {
        return None;
    }
    let rest = &line[flag.end..];
    let end = rest.find(|letter: char| letter.is_whitespace() || "\"'`".contains(letter));
    let password = &rest[..end.unwrap_or(rest.len())];
    let name = format!("p{password}");
    let name = name
        .split(|letter: char| !letter.is_ascii_lowercase())
        .next();
    let is_flag = name.is_some_and(|name| has_word(FLAGS, name) || name.starts_with("pass"));
    let is_reference = after_reference(password, 0).is_some();
    (!password.is_empty() && !is_flag && !is_reference).then(|| flag.end..flag.end + password.len())
}

/// `-u user:PASSWORD`
pub(super) fn user_flag(line: &str, flag: &Range<usize>) -> Option<Range<usize>> {
    if !starts_argument(line, flag.start) {
        return None;
    }
    let span = values::argument(line, flag.end)?.span;
    let user = &line[span.clone()];
    let colon = user.find(':')?;
    // As in `1000:1000`.
    let are_numbers = user
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b':');
    (!are_numbers).then_some(span.start + colon + 1..span.end)
}

/// `redis-cli -a PASSWORD`
pub(super) fn redis_flag(line: &str, flag: &Range<usize>) -> Option<Range<usize>> {
    let is_redis = starts_argument(line, flag.start) && line[..flag.start].contains("redis-cli");
    is_redis
        .then(|| values::argument(line, flag.end))
        .flatten()
        .map(|value| value.span)
}

/// `IDENTIFIED BY 'PASSWORD'`
pub(super) fn sql(line: &str, start: usize) -> Option<Range<usize>> {
    let start = line.len() - line[start..].trim_start().len();
    values::quoted(line, start).map(|value| value.span)
}

fn starts_argument(line: &str, at: usize) -> bool {
    let before = line[..at].chars().next_back();
    before.is_none_or(|letter| letter.is_whitespace() || "\"'`".contains(letter))
}
