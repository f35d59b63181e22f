//! References to variables: `((name))`, `((name.member))`, `((/absolute/name.member))`.

use serde_json::Value;

use super::LookupError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::director) struct Reference {
    pub(in crate::director) name: String,
    members: Vec<String>,
}

/// Why a text is no reference. The texts are a real Director's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::director) enum ReferenceError {
    #[error(
        "Variable name '{0}' must only contain alphanumeric, underscores, dashes, or forward slash characters"
    )]
    Character(String),
    #[error("Variable name '{0}' must not end with a forward slash")]
    SlashAtEnd(String),
    #[error("Variable name '{0}' must not contain two consecutive forward slashes")]
    SlashTwice(String),
    #[error("Variable name '{0}' syntax error: Must not contain dots before the last slash")]
    DotBeforeSlash(String),
    #[error("Variable name '{0}' syntax error: Must not have segment starting with a dot")]
    DotAtStart(String),
    #[error("Variable name '{0}' syntax error: Must not end name with a dot")]
    DotAtEnd(String),
    #[error("Variable name '{0}' syntax error: Must not contain consecutive dots")]
    DotTwice(String),
    #[error(
        "Variable name '{0}' contains invalid character '!'. If it is included for spiff, it should only be at the beginning of the name. Note: it will not be considered a part of the name"
    )]
    Bang(String),
}

impl Reference {
    /// Parses the content of the parentheses in a manifest of this deployment.
    pub(in crate::director) fn parse(
        text: &str,
        director: &str,
        deployment: &str,
    ) -> Result<Self, ReferenceError> {
        check(text, |letter| matches!(letter, '.' | '!'))?;
        check_dots(text)?;
        let name = text.strip_prefix('!').unwrap_or(text);
        if name.is_empty() || name.contains('!') {
            return Err(ReferenceError::Bang(text.to_owned()));
        }
        let absolute = absolute_name(name, director, deployment);
        let mut parts = absolute.split('.').map(str::to_owned);
        Ok(Self {
            name: parts.next().unwrap_or_default(),
            members: parts.collect(),
        })
    }

    pub(super) fn part_of(&self, value: Value) -> Result<Value, LookupError> {
        let mut parent = self.name.clone();
        let mut part = value;
        for member in &self.members {
            let Value::Object(mut members) = part else {
                return Err(LookupError::NotAHash {
                    name: self.name.clone(),
                    parent,
                });
            };
            part = members
                .shift_remove(member)
                .ok_or_else(|| LookupError::NoSuchKey {
                    name: self.name.clone(),
                    parent: parent.clone(),
                    key: member.clone(),
                })?;
            parent = format!("{parent}.{member}");
        }
        Ok(part)
    }
}

/// The absolute form of a variable's name: names without a leading slash belong to the deployment.
pub(in crate::director) fn absolute_name(name: &str, director: &str, deployment: &str) -> String {
    if name.starts_with('/') {
        name.to_owned()
    } else {
        format!("/{director}/{deployment}/{name}")
    }
}

pub(in crate::director) fn check_declared(name: &str) -> Result<(), ReferenceError> {
    check(name, |_| false)
}

fn check(name: &str, also: impl Fn(char) -> bool) -> Result<(), ReferenceError> {
    let allowed = |letter: char| {
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '/') || also(letter)
    };
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(ReferenceError::Character(name.to_owned()));
    }
    if name.ends_with('/') {
        return Err(ReferenceError::SlashAtEnd(name.to_owned()));
    }
    if name.contains("//") {
        return Err(ReferenceError::SlashTwice(name.to_owned()));
    }
    Ok(())
}

fn check_dots(name: &str) -> Result<(), ReferenceError> {
    let (before, last) = name.rsplit_once('/').unwrap_or(("", name));
    if before.contains('.') {
        return Err(ReferenceError::DotBeforeSlash(name.to_owned()));
    }
    if last.starts_with('.') {
        return Err(ReferenceError::DotAtStart(name.to_owned()));
    }
    if last.ends_with('.') {
        return Err(ReferenceError::DotAtEnd(name.to_owned()));
    }
    if last.contains("..") {
        return Err(ReferenceError::DotTwice(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_belongs_to_its_deployment_unless_it_begins_with_a_slash() {
        let cases = [
            ("pw", "/d/a/pw", ""),
            ("!pw", "/d/a/pw", ""),
            ("cert.ca", "/d/a/cert", "ca"),
            ("shared/cert.ca.x", "/d/a/shared/cert", "ca.x"),
            ("/odb/x/pw", "/odb/x/pw", ""),
            ("/odb/x/pw.user", "/odb/x/pw", "user"),
        ];
        for (text, name, members) in cases {
            let reference = Reference::parse(text, "d", "a").unwrap();
            assert_eq!(
                (
                    reference.name.as_str(),
                    reference.members.join(".").as_str()
                ),
                (name, members)
            );
        }
    }

    #[test]
    fn what_is_no_reference_is_refused_for_its_reason() {
        let error = |text: &str| Reference::parse(text, "d", "a").unwrap_err();
        for (text, expected) in [
            ("a b", ReferenceError::Character("a b".to_owned())),
            ("", ReferenceError::Character(String::new())),
            ("a/", ReferenceError::SlashAtEnd("a/".to_owned())),
            ("a//b", ReferenceError::SlashTwice("a//b".to_owned())),
            ("a.b/c", ReferenceError::DotBeforeSlash("a.b/c".to_owned())),
            (".a", ReferenceError::DotAtStart(".a".to_owned())),
            ("a.", ReferenceError::DotAtEnd("a.".to_owned())),
            ("a..b", ReferenceError::DotTwice("a..b".to_owned())),
            ("a!", ReferenceError::Bang("a!".to_owned())),
            ("!", ReferenceError::Bang("!".to_owned())),
        ] {
            assert_eq!(error(text), expected);
        }
        assert!(check_declared("a/b-c_1").is_ok());
        assert!(check_declared("a.b").is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_names_an_absolute_path_without_dots(text in "[a-c./!]{1,8}") {
            if let Ok(reference) = Reference::parse(&text, "d", "a") {
                prop_assert!(reference.name.starts_with('/') && !reference.name.contains(['.', '!']));
                prop_assert!(reference.members.iter().all(|member| !member.is_empty()));
            }
        }
    }
}
