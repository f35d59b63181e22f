//! Paths into a document, as ops files write them.

use std::{fmt, str::FromStr};

/// A path such as `/instance_groups/name=broker/jobs/-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    text: String,
    steps: Vec<Step>,
}

/// A path that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    /// It begins with something else.
    #[error("a path begins with `/`")]
    NoSlash,
    /// The text after the colon is invalid.
    #[error("`:{0}` is none of `:prev`, `:next`, `:before` and `:after`")]
    UnknownModifier(String),
    /// A key is not in a list.
    #[error("`{0}` is the key of a map, which has no order")]
    ModifiedKey(String),
    /// There is nothing beside the place behind the end.
    #[error("`-` is the position behind the last item and cannot have a adjacent one")]
    ModifiedEnd,
    /// `:before` and `:after` say where something new is put, and nothing can follow that.
    #[error("nothing follows `:before` and `:after`")]
    AfterInsertion,
}

/// One step from a value to a value in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The value of a key.
    Key { key: String, presence: Presence },
    /// The item at a position; a negative one counts from the end.
    Index { index: i64, upstreams: Upstreams },
    /// The item that has this value at this key.
    Item {
        key: String,
        value: String,
        presence: Presence,
        upstreams: Upstreams,
    },
    /// The place behind the last item.
    End,
}

/// Whether something has to be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
}

/// Which item beside the one that a step names is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Upstreams {
    /// Items further to the end; negative ones are nearer to the beginning.
    pub(super) shift: i64,
    pub(super) insertion: Option<Insertion>,
}

/// Where a new item goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    Before,
    After,
}

impl Pointer {
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, PointerError> {
        let mut steps = Vec::new();
        if !text.is_empty() {
            let tokens = text.strip_prefix('/').ok_or(PointerError::NoSlash)?;
            let tokens: Vec<&str> = tokens.split('/').collect();
            // Behind something that need not be there, nothing has to be.
            let mut presence = Presence::Required;
            for (position, token) in tokens.iter().enumerate() {
                let is_last = position + 1 == tokens.len();
                steps.push(step(token, is_last, &mut presence)?);
            }
        }
        Ok(Self {
            text: text.to_owned(),
            steps,
        })
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn step(token: &str, is_last: bool, presence: &mut Presence) -> Result<Step, PointerError> {
    let mut pieces = token.split(':');
    let token = pieces.next().unwrap_or_default();
    let upstreams = upstreams(pieces)?;
    let is_modified = upstreams != Upstreams::default();
    if is_last && token == "-" {
        return if is_modified {
            Err(PointerError::ModifiedEnd)
        } else {
            Ok(Step::End)
        };
    }
    if let Ok(index) = token.parse() {
        return Ok(Step::Index { index, upstreams });
    }
    let token = match token.strip_suffix('?') {
        Some(token) => {
            *presence = Presence::Optional;
            token
        }
        None => token,
    };
    let presence = *presence;
    match token.split_once('=') {
        Some((key, value)) => Ok(Step::Item {
            key: unescaped(key),
            value: unescaped(value),
            presence,
            upstreams,
        }),
        None if is_modified => Err(PointerError::ModifiedKey(unescaped(token))),
        None => Ok(Step::Key {
            key: unescaped(token),
            presence,
        }),
    }
}

fn upstreams<'t>(modifiers: impl Iterator<Item = &'t str>) -> Result<Upstreams, PointerError> {
    let mut found = Upstreams::default();
    for modifier in modifiers {
        if found.insertion.is_some() {
            return Err(PointerError::AfterInsertion);
        }
        match modifier {
            "prev" => found.shift -= 1,
            "next" => found.shift += 1,
            "before" => found.insertion = Some(Insertion::Before),
            "after" => found.insertion = Some(Insertion::After),
            other => return Err(PointerError::UnknownModifier(other.to_owned())),
        }
    }
    Ok(found)
}

/// `~0` last, because its replacement begins the others.
fn unescaped(token: &str) -> String {
    let escapes = [
        ("~1", "/"),
        ("~2", "?"),
        ("~3", "="),
        ("~7", ":"),
        ("~0", "~"),
    ];
    let replace = |text: String, (escape, meant): (&str, &str)| text.replace(escape, meant);
    escapes.into_iter().fold(token.to_owned(), replace)
}

#[cfg(test)]
mod tests {
    use super::{Pointer, PointerError, Presence, Step};

    fn steps(text: &str) -> Vec<Step> {
        text.parse::<Pointer>().unwrap().steps().to_vec()
    }

    #[test]
    fn nothing_is_required_behind_what_is_optional() {
        let presences: Vec<_> = steps("/a/b?/c")
            .into_iter()
            .map(|step| match step {
                Step::Key { presence, .. } => presence,
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [Presence::Required, Presence::Optional, Presence::Optional];
        assert_eq!(presences, expected);
    }

    #[test]
    fn escapes_stand_for_what_has_a_meaning() {
        let [Step::Key { key, .. }] = &steps("/~1a~2b~3c~7d~0e~01")[..] else {
            panic!("one key");
        };
        assert_eq!(key, "/a?b=c:d~e~1");
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let error = |text: &str| text.parse::<Pointer>().unwrap_err();
        assert_eq!(error("a"), PointerError::NoSlash);
        assert_eq!(error("/a:next"), PointerError::ModifiedKey("a".to_owned()));
        assert_eq!(error("/-:prev"), PointerError::ModifiedEnd);
        assert_eq!(error("/0:after:next"), PointerError::AfterInsertion);
        let expected = PointerError::UnknownModifier("beside".to_owned());
        assert_eq!(error("/0:beside"), expected);
    }
}
