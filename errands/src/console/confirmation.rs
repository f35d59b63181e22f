//! A user at a terminal confirms a deletion by typing the number of objects.

use std::io::{self, IsTerminal};

use anyhow::Context;

use crate::Dependencies;

/// Who uses the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A program; there is no terminal for input.
    Program,
    /// A person types, but does not see stderr.
    Blind,
    /// A person reads and types.
    Person,
}

impl Audience {
    /// Who uses this process.
    pub fn of_this_process() -> Self {
        Self::of(io::stdin().is_terminal(), io::stderr().is_terminal())
    }

    fn of(types: bool, reads: bool) -> Self {
        match (types, reads) {
            (false, _) => Self::Program,
            (true, false) => Self::Blind,
            (true, true) => Self::Person,
        }
    }
}

/// Prompts for a number, and returns whether it was typed.
pub(crate) async fn is_typed(
    dependencies: &Dependencies,
    prompt: &str,
    number: usize,
) -> anyhow::Result<bool> {
    let typed = read_line(dependencies, prompt).await?;
    Ok(is_number(&typed, number))
}

/// Prompts for a line, and returns it.
pub async fn read_line(dependencies: &Dependencies, prompt: &str) -> anyhow::Result<String> {
    dependencies.console.screen().line(prompt);
    let typed = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let typed = dependencies.unless_stopped(typed).await??;
    typed.context("the answer could not be read")
}

fn is_number(typed: &str, number: usize) -> bool {
    typed.trim() == number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_number_itself_is_a_confirmation() {
        assert!(is_number(" 12\n", 12));
        for other in ["", "\n", "y\n", "yes\n", "1\n", "-12\n", "012\n", "12 13\n"] {
            assert!(!is_number(other, 12), "{other}");
        }
    }

    #[test]
    fn without_a_terminal_there_is_no_prompt() {
        assert_eq!(Audience::of(true, true), Audience::Person);
        assert_eq!(Audience::of(true, false), Audience::Blind);
        assert_eq!(Audience::of(false, true), Audience::Program);
        assert_eq!(Audience::of(false, false), Audience::Program);
    }
}
