//! Strides, windows and offsets.

use super::*;
use Accumulate::{Max, Min, Product};

cases! {
    every_second ["8"] |_, [a]| a.sum("2*i => i");
    every_third_from_the_third ["12"] |_, [a]| a.sum("3*i+2 => i");
    every_second_written ["4"] |_, [a]| a.sum("i => 2*i+1");
    without_the_first ["7"] |_, [a]| a.sum("i+3 => i");
    valid ["7", "3"] |m, [a, k]| m.einsum("o<+k; k => o", &[a, k]);
    padded ["6", "3"] |m, [a, k]| m.einsum("o=+k; k => o", &[a, k]);
    padded_by_an_even_window ["6", "4"] |m, [a, k]| m.einsum("o=+k; k => o", &[a, k]);
    padded_beyond_the_axis ["3", "7"] |m, [a, k]| m.einsum("o=+k; k => o", &[a, k]);
    valid_with_a_stride ["9", "3"] |m, [a, k]| m.einsum("2*o<+k; k => o", &[a, k]);
    padded_with_a_stride ["8", "3"] |m, [a, k]| m.einsum("2*o=+k; k => o", &[a, k]);
    padded_with_a_wide_stride ["9", "2"] |m, [a, k]| m.einsum("3*o=+k; k => o", &[a, k]);
    valid_and_dilated ["9", "3"] |m, [a, k]| m.einsum("o<+2*k; k => o", &[a, k]);
    padded_and_dilated ["8", "3"] |m, [a, k]| m.einsum("o=+2*k; k => o", &[a, k]);
    strided_and_dilated ["9", "3"] |m, [a, k]| m.einsum("2*o<+3*k; k => o", &[a, k]);
    window_left_to_the_caller ["8", "3"] |m, [a, k]| {
        let options = SpecOptions { padding: Some(Padding::Padded), coefficients: &[("s", 2)], ..SpecOptions::default() };
        m.builder.einsum_with("s*o+k; k => o", &[a, k], &options)
    };
    two_dimensions ["2 | 4, 5, 2", "2, 3, 2 -> 3"] |m, [a, k]| {
        m.einsum("... | oh<+kh, ow<+kw, ..ic..; kh, kw, ..ic.. -> ..oc.. => ... | oh, ow, ..oc..", &[a, k])
    };
    two_dimensions_padded ["4, 4, 2", "3, 3, 2 -> 2"] |m, [a, k]| {
        m.einsum("... | 2*oh=+kh, 2*ow=+kw, ..ic..; kh, kw, ..ic.. -> ..oc.. => ... | oh, ow, ..oc..", &[a, k])
    };
    depthwise ["5, 3", "3, 3"] |m, [a, k]| m.einsum("o=+k, c; k, c => o, c", &[a, k]);
    written_to_a_window ["3, 2"] |_, [a]| a.sum("i, j => i<+3*j");
    written_one_over_another ["3, 4"] |_, [a]| a.sum("i, j => 2*i<+j").square();
    transposed_convolution ["4", "3"] |m, [a, k]| m.einsum("o; k => 2*o<+k", &[a, k]);
    rows_one_after_another ["3, 4"] |_, [a]| a.sum("i, j => 4*i<+j");
    greatest_of_windows ["8"] |_, [a]| a.max("2*o<+w => o").set_size("w", 2);
    greatest_of_overlapping_windows ["7"] |_, [a]| a.max("2*o<+w => o").set_size("w", 3);
    greatest_of_padded_windows ["6"] |_, [a]| a.max("o=+w => o").set_size("w", 3);
    least_of_padded_windows ["6"] |_, [a]| a.min("o=+w => o").set_size("w", 3);
    sum_of_padded_windows ["6"] |_, [a]| a.sum("o=+w => o").set_size("w", 3);
    product_of_padded_windows ["6"] |_, [a]| a.product("o=+w => o").set_size("w", 3);
    greatest_sum_of_valid_windows ["6", "3"] |m, [a, k]| m.by(Max, Combine::Sum, "o<+k; k => o", &[a, k]);
    greatest_sum_of_padded_windows ["6", "3"] |m, [a, k]| m.by(Max, Combine::Sum, "o=+k; k => o", &[a, k]);
    least_sum_of_padded_windows ["6", "3"] |m, [a, k]| m.by(Min, Combine::Sum, "o=+k; k => o", &[a, k]);
    product_of_valid_windows ["5", "3"] |m, [a, k]| m.by(Product, Combine::Product, "o<+k; k => o", &[a, k]);
    readers_that_want_other_margins ["6"] |_, [a]| {
        let (sums, greatest) = (a.sum("o=+w => o").set_size("w", 3), a.max("o=+w => o").set_size("w", 5));
        sums * greatest
    };
    margins_of_something_computed ["6", "3"] |m, [a, k]| {
        let squares = a.square();
        let sums = m.einsum("o=+k; k => o", &[squares, k]);
        sums * squares.min("o=+w => o").set_size("w", 3) * squares.max("o=+w => o").set_size("w", 3)
    };
    even_and_odd ["2 | 6", "3"] |_, [a, b]| {
        let (even, odd) = (a.sum("... | 2*i => ... | i"), a.sum("... | 2*i+1 => ... | i"));
        (even * b).sum("... | i => ... | 2*i") + (odd / b).sum("... | i => ... | 2*i+1")
    };
}
