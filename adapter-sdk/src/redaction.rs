//! Texts without values that may be secret: parser messages, which quote the document, and formatted types.

/// Formats a type by these of its members and by no others.
macro_rules! shows_only {
    ($type:ident { $($member:ident),* }) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($member), &self.$member))*
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use shows_only;

/// The message of a parser or of serde, with what it quotes of the document replaced by an ellipsis.
///
/// Names of fields and of the values that would have been right are the program's own and stay.
pub(crate) fn without_values(message: &str) -> String {
    let names_a_field = ["missing field ", "duplicate field ", "unknown field "];
    if names_a_field.iter().any(|start| message.starts_with(start)) {
        return message.to_owned();
    }
    let mentions_a_value = ["invalid ", "unknown variant "];
    if mentions_a_value
        .iter()
        .any(|start| message.starts_with(start))
        && let Some((found, expected)) = message.rsplit_once(", expected ")
    {
        return format!("{}, expected {expected}", without_quotes(found));
    }
    without_quotes(message)
}

/// Everything from the first quotation mark to the last, as a quoted value may hold such marks itself.
fn without_quotes(text: &str) -> String {
    let is_mark = |c| c == '"' || c == '`';
    match (text.find(is_mark), text.rfind(is_mark)) {
        (Some(first), Some(last)) if first < last => {
            format!("{}`…`{}", &text[..first], &text[last + 1..])
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_the_wrong_type_is_not_repeated() {
        assert_eq!(
            without_values(r#"invalid type: string "p\"w, expected u8", expected u16"#),
            "invalid type: string `…`, expected u16"
        );
        assert_eq!(
            without_values("unknown variant `hunter2`, expected `serial` or `parallel`"),
            "unknown variant `…`, expected `serial` or `parallel`"
        );
    }

    #[test]
    fn what_an_own_type_quotes_is_not_repeated() {
        assert_eq!(
            without_values("`hunter2` is no percentage"),
            "`…` is no percentage"
        );
    }

    #[test]
    fn names_of_fields_stay() {
        assert_eq!(
            without_values("missing field `name`"),
            "missing field `name`"
        );
    }
}
