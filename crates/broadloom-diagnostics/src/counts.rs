//! Numbers of axes in words.

/// A number of axes: `0 axes`, `1 axis`, `2 axes`.
///
/// ```
/// assert_eq!([0, 1, 2].map(broadloom_diagnostics::axes), ["0 axes", "1 axis", "2 axes"]);
/// ```
pub fn axes(count: usize) -> String {
    format!("{count} {}", if count == 1 { "axis" } else { "axes" })
}

/// The same, with `no axes` for 0.
///
/// ```
/// assert_eq!([0, 1, 2].map(broadloom_diagnostics::axes_or_none), ["no axes", "1 axis", "2 axes"]);
/// ```
pub fn axes_or_none(count: usize) -> String {
    if count == 0 { "no axes".into() } else { axes(count) }
}
