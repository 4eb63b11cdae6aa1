//! What somebody may have meant.

/// The name that resembles this one most, if any does.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LEAST: f64 = 0.75;
    let likeness = |known: &'a str| (strsim::jaro_winkler(&name.to_lowercase(), known), known);
    let near = known.into_iter().map(likeness).filter(|(likeness, _)| *likeness > LEAST);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}
