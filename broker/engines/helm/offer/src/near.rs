//! The known name that a mistyped one is closest to.

/// The nearest known name, if one is near enough to be meant.
pub(crate) fn nearest<'k>(
    wrong: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let longest_distance = (wrong.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(known, wrong), known))
        .filter(|(distance, _)| *distance <= longest_distance)
        .min()
        .map(|(_, known)| known)
}

/// `did you mean KNOWN?`, or the list of known names.
pub(crate) fn remedy(wrong: &str, known: &[&str]) -> String {
    match nearest(wrong, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => String::new(),
        None => format!("known are `{}`", known.join("`, `")),
    }
}
