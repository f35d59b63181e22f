//! The server's words in an error message.

use std::fmt;

/// The words at the end of a sentence; empty if there are none.
pub(crate) struct Words<'a>(pub(crate) &'a str);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            words => write!(f, ": `{words}`"),
        }
    }
}

/// The service's name for an error of this status; empty if it has none.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            name => write!(f, ", `{name}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_quoted_where_nothing_was_said() {
        let reported = |name, words| format!("status 404{}{}", Name(name), Words(words));
        assert_eq!(reported("", ""), "status 404");
        assert_eq!(reported("not_found", ""), "status 404, `not_found`");
        assert_eq!(reported("", "no page"), "status 404: `no page`");
    }
}
