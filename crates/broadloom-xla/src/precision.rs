//! The precision of products: how many digits of 32-bit floats a sum of products takes into account.
//!
//! GPUs and TPUs multiply short floats many times faster than floats of 32 bits, so XLA has a choice. It concerns `dot_general` and
//! `convolution` alone: other operations compute in the type that they have.
//!
//! ```text
//! highest   precision = [HIGHEST, HIGHEST]
//! high      precision = [HIGH, HIGH]         on a GPU as `default`; on a TPU three products of short floats for one
//! default   precision = [DEFAULT, DEFAULT]   on a GPU 10 bits after the point (tf32), on a TPU 7
//! bf16      factors are converted, and the sum is one of 32-bit floats: 7 bits on every device
//! ```
//!
//! StableHLO can ask for an algorithm, too (`BF16_BF16_F32`), but `convolution` cannot, and CPUs ignore it: nothing could be tried there.

use crate::tensor::Element;

/// The precision of products of 32-bit floats on XLA. Sums are 32-bit floats in any case, and products of 64-bit floats are exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Precision {
    /// As 32-bit floats, on every device.
    #[default]
    Highest,
    /// Between [`Highest`](Precision::Highest) and [`Default`](Precision::Default), where a device has something between.
    High,
    /// As the device does it fastest with 32-bit factors.
    Default,
    /// Factors are rounded to `bf16`, on every device.
    Bf16,
}

impl Precision {
    /// Every precision, the most exact first.
    pub const ALL: [Precision; 4] =
        [Precision::Highest, Precision::High, Precision::Default, Precision::Bf16];

    /// The name that users give it.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Highest => "highest",
            Precision::High => "high",
            Precision::Default => "default",
            Precision::Bf16 => "bf16",
        }
    }

    /// The precision of a name.
    ///
    /// ```
    /// use broadloom_xla::Precision;
    /// assert_eq!(Precision::of_name("bf16"), Some(Precision::Bf16));
    /// assert_eq!(Precision::of_name("double"), None);
    /// ```
    pub fn of_name(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// The word that StableHLO has for it, for factors of some type whose products are summed in another.
    pub(crate) fn word(self, factors: Element, sum: Element) -> &'static str {
        match self {
            // Products of two `bf16` are exact in 32 bits: there is nothing to choose, and XLA has fast code only where nothing is asked for.
            _ if factors == Element::BF16 => "DEFAULT",
            _ if sum == Element::F64 => "HIGHEST",
            Precision::Highest => "HIGHEST",
            Precision::High => "HIGH",
            Precision::Default | Precision::Bf16 => "DEFAULT",
        }
    }
}
