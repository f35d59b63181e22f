//! The confirmation of a deletion: the user gives the number of deployments.

use crate::{
    Dependencies,
    confirmation::{Audience, is_typed},
};

/// Nothing is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unconfirmed {
    /// Another number was given.
    #[error(
        "nothing was deleted: {there} deployments would be deleted, not {said}; list them with --explain"
    )]
    WrongCount {
        /// How many there are.
        there: usize,
        /// How many were said.
        said: usize,
    },
    /// No number was given, and there is no terminal for a prompt.
    #[error(
        "nothing was deleted: confirm {there} deletions with --confirm {there}; list them with --explain"
    )]
    NotGiven {
        /// How many there are.
        there: usize,
    },
    /// Something else was typed.
    #[error("nothing was deleted: the input is not {there}")]
    NotTyped {
        /// How many there are.
        there: usize,
    },
}

/// Succeeds if `said` is their number, or if the user types it.
pub(super) async fn confirm(
    dependencies: &Dependencies,
    there: usize,
    said: Option<usize>,
) -> anyhow::Result<()> {
    if let Some(said) = said {
        return Ok(compared(there, said)?);
    }
    if Audience::of_this_process() != Audience::Person {
        return Err(Unconfirmed::NotGiven { there }.into());
    }
    let prompt = format!(
        "These {there} deployments will be deleted with all their data. Type their number to continue:"
    );
    if is_typed(dependencies, &prompt, there).await? {
        Ok(())
    } else {
        Err(Unconfirmed::NotTyped { there }.into())
    }
}

fn compared(there: usize, said: usize) -> Result<(), Unconfirmed> {
    if said == there {
        Ok(())
    } else {
        Err(Unconfirmed::WrongCount { there, said })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_number_passes() {
        assert_eq!(compared(2, 2), Ok(()));
        assert_eq!(
            compared(2, 3),
            Err(Unconfirmed::WrongCount { there: 2, said: 3 })
        );
    }
}
