//! Commands that people may type next.

use std::{borrow::Cow, fmt::Display};

/// The characters that no shell changes, besides letters and digits.
const PLAIN: &str = "-._/@:";

/// A command and its flags.
#[derive(Clone, Debug)]
pub(crate) struct Typed(String);

impl Typed {
    pub(crate) fn new(command: &str) -> Self {
        Self(command.to_owned())
    }

    pub(crate) fn flag(&mut self, flag: &str, is_given: bool) {
        if is_given {
            self.0.extend([" ", flag]);
        }
    }

    /// The flag with each of the values.
    pub(crate) fn values(&mut self, flag: &str, values: impl IntoIterator<Item = impl Display>) {
        for value in values {
            let value = value.to_string();
            // A value of its own would be read as a flag.
            let separator = if value.starts_with('-') { "=" } else { " " };
            self.0.extend([" ", flag, separator, &*quoted(&value)]);
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// The text as one word of a shell.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || PLAIN.contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_change_is_quoted() {
        for (text, word) in [
            ("orders-cache", "orders-cache"),
            ("/a/b_c.yml", "/a/b_c.yml"),
            ("https://me@broker:443", "https://me@broker:443"),
            ("", "''"),
            ("my cache", "'my cache'"),
            ("$HOME;ls", "'$HOME;ls'"),
            ("it's", r"'it'\''s'"),
            ("größe", "'größe'"),
        ] {
            assert_eq!(quoted(text), word);
        }
    }

    #[test]
    fn flags_follow_the_command() {
        let mut command = Typed::new("odb rollout start");
        command.flag("--all", true);
        command.flag("--verbose", false);
        command.values("--plan", ["small", "very large", "-x"]);
        command.values("--config", None::<&str>);
        assert_eq!(
            command.into_text(),
            "odb rollout start --all --plan small --plan 'very large' --plan=-x"
        );
    }
}
