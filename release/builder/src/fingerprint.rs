//! The fingerprint of a job or package.
//!
//! The rule is that of the `bosh` command line (`release/resource/fingerprint.go` in its sources): one SHA-256 digest
//! over `v2`, the path, digest and mode of each file in the order of the paths, and the names of the packages it
//! depends on. The mode of `packaging` and the modes of licences do not count.

use crate::{
    contents::{Contents, ContentsError, Mode},
    digest::Digest,
};

/// Objects with a fingerprint.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A job. Its `spec` is among its files, as `job.MF`.
    Job,
    /// A package and the names of those it depends on. Its `spec` is not among its files.
    Package {
        /// In any order.
        dependencies: &'a [String],
    },
    /// The licence of the release.
    License,
}

/// The fingerprint: 64 hexadecimal digits.
pub fn fingerprint(contents: &Contents, subject: Subject<'_>) -> Result<String, ContentsError> {
    let mut text = String::from("v2");
    for (name, entry) in contents.iter() {
        text.push_str(name);
        text.push_str(&entry.digest()?.to_string());
        if counts_mode(subject, name) {
            text.push_str(match entry.mode {
                Mode::Plain => "100644",
                Mode::Executable => "100755",
            });
        }
    }
    if let Subject::Package { dependencies } = subject {
        let mut sorted = dependencies.to_vec();
        sorted.sort();
        text.push_str(&sorted.join(","));
    }
    Ok(Digest::of(text.as_bytes()).digits().to_owned())
}

fn counts_mode(subject: Subject<'_>, name: &str) -> bool {
    match subject {
        Subject::Job => true,
        Subject::Package { .. } => name != "packaging",
        Subject::License => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(files: &[(&str, &str, Mode)]) -> Contents {
        let mut contents = Contents::default();
        for (name, text, mode) in files {
            contents.add_bytes((*name).to_owned(), text.as_bytes().to_vec(), *mode);
        }
        contents
    }

    #[test]
    fn a_fingerprint_is_what_the_rule_says() -> Result<(), ContentsError> {
        let files = contents(&[
            ("packaging", "echo", Mode::Executable),
            ("a/b", "", Mode::Executable),
        ]);
        // Of the empty text and of `echo`, as `sha256sum` says.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let echo = "092c79e8f80e559e404bcf660c48f3522b67aba9ff1484b0367e1a4ddef7431d";
        let text = format!("v2a/bsha256:{empty}100755packagingsha256:{echo}one,two");
        let dependencies = ["two".to_owned(), "one".to_owned()];
        assert_eq!(
            fingerprint(
                &files,
                Subject::Package {
                    dependencies: &dependencies
                }
            )?,
            Digest::of(text.as_bytes()).digits()
        );
        Ok(())
    }

    #[test]
    fn path_bytes_mode_and_dependencies_change_it_and_nothing_else_does()
    -> Result<(), ContentsError> {
        let none: &[String] = &[];
        let package = Subject::Package { dependencies: none };
        let base = fingerprint(&contents(&[("a", "x", Mode::Plain)]), package)?;
        assert_eq!(
            base,
            fingerprint(&contents(&[("a", "x", Mode::Plain)]), package)?
        );
        for other in [
            contents(&[("b", "x", Mode::Plain)]),
            contents(&[("a", "y", Mode::Plain)]),
            contents(&[("a", "x", Mode::Executable)]),
        ] {
            assert_ne!(base, fingerprint(&other, package)?);
        }
        let one = ["rust".to_owned()];
        let depends = Subject::Package { dependencies: &one };
        assert_ne!(
            base,
            fingerprint(&contents(&[("a", "x", Mode::Plain)]), depends)?
        );
        Ok(())
    }
}
