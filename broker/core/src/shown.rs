//! Texts of an adapter that users see: addresses to click on, and messages.

/// The most of an adapter's own message that a platform user gets to read, in characters.
const LONGEST_MESSAGE: usize = 2048;

/// The longest address in bytes that every browser accepts.
const LONGEST_ADDRESS: usize = 2048;

/// Schemes that a browser opens.
const WEB: &[&str] = &["https", "http"];

/// Schemes of the log drains that Cloud Foundry knows.
const DRAINS: &[&str] = &["syslog", "syslog-tls", "https", "https-batch"];

/// Why an address is not shown. The address itself may hold a secret and is not part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableAddress {
    /// No browser takes it.
    #[error("is longer than {LONGEST_ADDRESS} bytes")]
    TooLong,
    /// It could change the display of a terminal.
    #[error("has a space or a control character")]
    Letters,
    /// Nothing, or another scheme.
    #[error("is not an address with the scheme {schemes}")]
    Scheme {
        /// Those that would do.
        schemes: &'static str,
    },
}

/// Checks the address of a dashboard.
pub fn check_dashboard(address: &str) -> Result<(), UnusableAddress> {
    check(address, WEB, "`https` or `http`")
}

/// Checks where an application's logs shall go.
pub fn check_log_drain(address: &str) -> Result<(), UnusableAddress> {
    let schemes = "`syslog`, `syslog-tls`, `https` or `https-batch`";
    check(address, DRAINS, schemes)
}

fn check(address: &str, known: &[&str], schemes: &'static str) -> Result<(), UnusableAddress> {
    if address.len() > LONGEST_ADDRESS {
        return Err(UnusableAddress::TooLong);
    }
    if address.contains(|letter: char| letter.is_whitespace() || is_hidden(letter)) {
        return Err(UnusableAddress::Letters);
    }
    let is_known = address.split_once("://").is_some_and(|(scheme, rest)| {
        let has_host = rest.starts_with(|letter: char| !matches!(letter, '/' | '?' | '#'));
        has_host && known.iter().any(|known| scheme.eq_ignore_ascii_case(known))
    });
    if is_known {
        Ok(())
    } else {
        Err(UnusableAddress::Scheme { schemes })
    }
}

/// An adapter's message in one line, of a length that platforms show. Control characters could forge lines in a log, or
/// change the display of a terminal.
pub fn message(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || is_hidden(letter));
    let mut message = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if !message.is_empty() {
            message.push(' ');
        }
        message.push_str(word);
        if message.len() > 4 * LONGEST_MESSAGE {
            break;
        }
    }
    message.chars().take(LONGEST_MESSAGE).collect()
}

/// Control characters, and those that turn the direction of a text around.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dashboards_are_for_browsers() {
        for fine in [
            "https://d",
            "HTTP://example_dashboard.com/i-1?a=b#c",
            "http://[::1]:80/",
        ] {
            assert_eq!(check_dashboard(fine), Ok(()), "{fine}");
        }
        let scheme = UnusableAddress::Scheme {
            schemes: "`https` or `http`",
        };
        for (address, error) in [
            ("javascript:alert(1)", scheme),
            ("javascript://%0aalert(1)", scheme),
            ("ftp://host", scheme),
            ("https:host", scheme),
            ("https:///path", scheme),
            ("host/path", scheme),
            ("https://host/\u{1b}[2J", UnusableAddress::Letters),
            ("https://host/a b", UnusableAddress::Letters),
            ("https://host/\u{202e}moc", UnusableAddress::Letters),
            (
                &*format!("https://{}", "x".repeat(2048)),
                UnusableAddress::TooLong,
            ),
        ] {
            assert_eq!(check_dashboard(address), Err(error), "{address}");
        }
    }

    #[test]
    fn logs_go_where_the_platform_sends_them() {
        for fine in [
            "syslog://logs:514",
            "syslog-tls://logs",
            "https://logs/path?drain-type=all",
            "https-batch://logs",
        ] {
            assert_eq!(check_log_drain(fine), Ok(()), "{fine}");
        }
        for address in [
            "http://logs",
            "logs:514",
            "syslog:logs",
            "file:///etc/passwd",
        ] {
            let error = check_log_drain(address).unwrap_err();
            assert!(matches!(error, UnusableAddress::Scheme { .. }), "{address}");
        }
    }

    #[test]
    fn a_message_is_one_line_without_control_characters() {
        assert_eq!(
            message(" choose\r\n\u{1b}[31manother\tname \u{7}\u{202e}. "),
            "choose [31manother name ."
        );
        assert_eq!(message("\n\u{0}\n"), "");
    }

    proptest! {
        #[test]
        fn a_message_is_never_too_long_and_never_more_than_a_line(text in "\\PC{0,20}|(.|\\n|\\r|\u{1b}){0,3000}") {
            let message = message(&text);
            prop_assert!(message.chars().count() <= LONGEST_MESSAGE);
            prop_assert!(!message.contains(char::is_control));
        }
    }
}
