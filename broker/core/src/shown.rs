//! Texts of an adapter that users see: addresses to click on, and messages.

const LONGEST_MESSAGE: usize = 2048;

const LONGEST_ADDRESS: usize = 2048;

const WEB: &[&str] = &["https", "http"];

const DRAINS: &[&str] = &["syslog", "syslog-tls", "https", "https-batch"];

/// Why an address is not shown. The address itself may hold a secret and is not part of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnusableAddress(String);

pub fn check_dashboard(address: &str) -> Result<(), UnusableAddress> {
    check(address, WEB, "`https` or `http`")
}

pub fn check_log_drain(address: &str) -> Result<(), UnusableAddress> {
    let schemes = "`syslog`, `syslog-tls`, `https` or `https-batch`";
    check(address, DRAINS, schemes)
}

fn check(address: &str, known: &[&str], schemes: &str) -> Result<(), UnusableAddress> {
    if address.len() > LONGEST_ADDRESS {
        let too_long = format!("is longer than {LONGEST_ADDRESS} bytes");
        return Err(UnusableAddress(too_long));
    }
    if address.contains(|letter: char| letter.is_whitespace() || is_hidden(letter)) {
        let letters = "has a space or a control character".to_owned();
        return Err(UnusableAddress(letters));
    }
    let is_known = address.split_once("://").is_some_and(|(scheme, rest)| {
        let has_host = rest.starts_with(|letter: char| !matches!(letter, '/' | '?' | '#'));
        has_host && known.iter().any(|known| scheme.eq_ignore_ascii_case(known))
    });
    if is_known {
        Ok(())
    } else {
        let other = format!("is not an address with the scheme {schemes}");
        Err(UnusableAddress(other))
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
        let scheme = "is not an address with the scheme `https` or `http`";
        let letters = "has a space or a control character";
        for (address, error) in [
            ("javascript:alert(1)", scheme),
            ("javascript://%0aalert(1)", scheme),
            ("ftp://host", scheme),
            ("https:host", scheme),
            ("https:///path", scheme),
            ("host/path", scheme),
            ("https://host/\u{1b}[2J", letters),
            ("https://host/a b", letters),
            ("https://host/\u{202e}moc", letters),
            (
                &*format!("https://{}", "x".repeat(2048)),
                "is longer than 2048 bytes",
            ),
        ] {
            let refused = check_dashboard(address).unwrap_err().to_string();
            assert_eq!(refused, error, "{address}");
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
            assert!(error.to_string().contains("scheme"), "{address}");
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
