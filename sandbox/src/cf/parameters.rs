//! Parameters for the broker, as they were given.

use std::path::PathBuf;

use serde_json::value::RawValue;

use super::error::CfError;

/// A JSON object that is passed on letter by letter.
pub(super) type Parameters = Box<RawValue>;

/// Reads the argument of `-c`: a JSON object, or the name of a file that holds one.
pub(super) async fn read(argument: Option<String>) -> Result<Option<Parameters>, CfError> {
    let Some(argument) = argument else {
        return Ok(None);
    };
    let text = if argument.trim_start().starts_with('{') {
        argument
    } else {
        let path = PathBuf::from(argument);
        tokio::fs::read_to_string(&path)
            .await
            .map_err(|source| CfError::ReadParameters { path, source })?
    };
    object(&text)
        .map(Some)
        .map_err(|source| CfError::Parameters { source })
}

fn object(text: &str) -> Result<Parameters, serde_json::Error> {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)?;
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::object;

    #[test]
    fn parameters_pass_letter_by_letter() {
        let text = r#"{"maxclients": 1e2, "big": 12345678901234567890123}"#;
        assert_eq!(object(text).unwrap().get(), text);
    }

    #[test]
    fn only_an_object_is_taken_as_parameters() {
        for text in ["[]", "1", "{", "{} {}", ""] {
            assert!(object(text).is_err(), "{text}");
        }
    }
}
