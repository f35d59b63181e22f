use std::cmp::Ordering;

/// A release's version as far as it can be ordered: `7`, `7.4`, `1.2.3-rc.1`, `1.2+dev.3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Version {
    /// Whatever is newest; it cannot be compared.
    Latest,
    Numbered {
        numbers: Vec<u64>,
        /// What follows a hyphen: comes before the version without it.
        pre: Option<Vec<Part>>,
        /// What follows a plus sign: comes after the version without it.
        post: Option<Vec<Part>>,
    },
}

/// Numbers come before words, as in semantic versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Number(u64),
    Word(String),
}

impl Version {
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let (rest, post) = split(text, '+');
        let (numbers, pre) = split(rest, '-');
        let mut numbers: Vec<u64> = numbers
            .split('.')
            .map(|number| number.parse().ok())
            .collect::<Option<_>>()?;
        // `7` and `7.0` are one version.
        while numbers.len() > 1 && numbers.last() == Some(&0) {
            numbers.pop();
        }
        Some(Self::Numbered {
            numbers,
            pre: pre.map(parts),
            post: post.map(parts),
        })
    }

    /// Whether this version is known to be lower.
    pub(crate) fn is_lower_than(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Less)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let (
            Self::Numbered { numbers, pre, post },
            Self::Numbered {
                numbers: other_numbers,
                pre: other_pre,
                post: other_post,
            },
        ) = (self, other)
        else {
            return None;
        };
        let by_pre = match (pre, other_pre) {
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (pre, other) => pre.cmp(other),
        };
        Some(
            numbers
                .cmp(other_numbers)
                .then(by_pre)
                .then_with(|| post.cmp(other_post)),
        )
    }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((text, rest)) => (text, Some(rest)),
        None => (text, None),
    }
}

fn parts(text: &str) -> Vec<Part> {
    let parts = text.split('.');
    parts
        .map(|part| match part.parse() {
            Ok(number) => Part::Number(number),
            Err(_) => Part::Word(part.to_owned()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let ordered = [
            "1",
            "1.2-rc.1",
            "1.2",
            "1.2+dev.2",
            "1.2+dev.10",
            "1.2.1",
            "1.9",
            "1.10",
            "2.0.0-1",
            "2",
        ];
        for (nth, low) in ordered.iter().enumerate() {
            for high in &ordered[nth + 1..] {
                let [low, high] = [low, high].map(|text| Version::read(text).unwrap());
                assert!(
                    low.is_lower_than(&high) && !high.is_lower_than(&low),
                    "{low:?} {high:?}"
                );
            }
        }
        let [seven, seven_nought, latest] =
            ["7", "7.0", "latest"].map(|text| Version::read(text).unwrap());
        assert!(!seven.is_lower_than(&seven_nought) && !seven_nought.is_lower_than(&seven));
        assert!(!seven.is_lower_than(&latest) && !latest.is_lower_than(&seven));
        assert_eq!(Version::read("new"), None);
    }
}
