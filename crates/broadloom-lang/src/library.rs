//! The standard library, written in `.loom`: what is available in every program.

/// The files, in the order they are read.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("std/functions.loom", include_str!("../std/functions.loom")),
    ("std/layers.loom", include_str!("../std/layers.loom")),
    ("std/images.loom", include_str!("../std/images.loom")),
    ("std/sequences.loom", include_str!("../std/sequences.loom")),
    ("std/losses.loom", include_str!("../std/losses.loom")),
    ("std/optimisers.loom", include_str!("../std/optimisers.loom")),
];
