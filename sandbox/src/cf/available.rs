//! The names to choose from, for errors about an unknown name.

use std::fmt;

use serde::Deserialize;

use super::client::Client;

/// How many names an error lists.
const LISTED: usize = 10;

/// The names that exist instead of an unknown one. Displayed as the end of an error message.
#[derive(Debug)]
pub(super) struct Available(Vec<String>);

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Available {
    /// Reads the names of a list. A list that cannot be read has none: the error about the unknown name matters more.
    pub(super) async fn of(client: &mut Client, path: &str, query: &[(&str, &str)]) -> Self {
        let found = client.list::<Named>(path, query).await;
        let found = found.map_or_else(|_| Vec::new(), |listing| listing.resources);
        let mut names: Vec<String> = found.into_iter().map(|resource| resource.name).collect();
        names.sort();
        Self(names)
    }
}

impl fmt::Display for Available {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(names) = self;
        if names.is_empty() {
            return Ok(());
        }
        let (listed, more) = names.split_at(names.len().min(LISTED));
        write!(f, "; available: {}", listed.join(", "))?;
        match more.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Available;

    #[test]
    fn at_most_ten_names_are_listed() {
        let names = |count: u32| Available((0..count).map(|n| format!("n{n}")).collect());
        assert_eq!(names(0).to_string(), "");
        assert_eq!(names(2).to_string(), "; available: n0, n1");
        assert!(names(12).to_string().ends_with(", n9 and 2 more"));
    }
}
