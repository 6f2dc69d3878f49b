//! The names that every program has: the standard library, written in `.loom`, and the built-in
//! names of the language.

/// The files, in the order they are read.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("std/functions.loom", include_str!("../std/functions.loom")),
    ("std/layers.loom", include_str!("../std/layers.loom")),
    ("std/images.loom", include_str!("../std/images.loom")),
    ("std/sequences.loom", include_str!("../std/sequences.loom")),
    ("std/losses.loom", include_str!("../std/losses.loom")),
    ("std/optimisers.loom", include_str!("../std/optimisers.loom")),
];

/// The built-in names of the language, without the library: functions, and values such as `pi`.
///
/// ```
/// assert!(broadloom_lang::builtins().any(|name| name == "einsum"));
/// assert!(broadloom_lang::builtins().all(|name| name != "linear"));
/// ```
pub fn builtins() -> impl Iterator<Item = &'static str> {
    let functions = crate::builtin::all().iter().map(|builtin| builtin.name);
    functions.chain(crate::builtin::values().into_iter().map(|(name, _)| name))
}
