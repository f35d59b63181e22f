use std::fmt;

/// The names that there are instead of one that is not known, the nearest spelling first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NearNames(Vec<String>);

impl NearNames {
    pub(crate) fn to(wrong: &str, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
        names.sort_unstable();
        names.dedup();
        names.sort_by_key(|name| {
            let distance = strsim::damerau_levenshtein(wrong, name);
            (!is_part(wrong, name) && !is_part(name, wrong), distance)
        });
        Self(names)
    }
}

/// Whether a name was shortened: `admin` for `admin_password`.
fn is_part(short: &str, long: &str) -> bool {
    const SHORTEST: usize = 3;
    short.len() >= SHORTEST && long.contains(short)
}

impl fmt::Display for NearNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("there are none");
        }
        f.write_str("there are ")?;
        for (nth, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if nth > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::NearNames;

    #[test]
    fn the_nearest_spelling_comes_first() {
        let near = NearNames::to("paramters", ["context", "plan", "parameters"]);
        assert!(near.to_string().starts_with("there are `parameters`, "));
        let near = NearNames::to("admin", ["a", "region", "admin_password"]);
        assert!(near.to_string().starts_with("there are `admin_password`, "));
        assert_eq!(
            NearNames::to("a", Vec::<String>::new()).to_string(),
            "there are none"
        );
    }
}
