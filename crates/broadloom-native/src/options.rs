//! The options that C is compiled with.

/// Options of the compiler. Everything is computed as it is written, except that exception flags
/// are not kept, because they are never read. Loops whose sums may be reordered are marked in the
/// source.
pub(crate) const OPTIONS: [&str; 11] = [
    "-O3",
    "-march=native",
    "-std=gnu11",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp-simd",
    "-ffp-contract=off",
];

/// The recommended options for speed when the C is not compiled as a library.
pub(crate) fn advice() -> String {
    let library = ["-fPIC", "-shared", "-fvisibility=hidden"];
    OPTIONS.into_iter().filter(|option| !library.contains(option)).collect::<Vec<_>>().join(" ")
}
