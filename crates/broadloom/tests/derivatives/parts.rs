//! Concatenation, and taking apart.

use super::*;
use Accumulate::Max;

cases! {
    joined_outputs ["3", "4"] |m, [a, b]| m.einsum("a; b => a^b", &[a, b]);
    joined_inputs ["3 -> 2", "4 -> 2"] |m, [a, b]| m.einsum("a -> o; b -> o => a^b -> o", &[a, b]);
    joined_batches ["2 | 3", "4 | 3"] |m, [a, b]| m.einsum("a | ...; b | ... => a^b | ...", &[a, b]);
    joined_in_the_middle ["2, 3, 2", "2, 1, 2"] |m, [a, b]| m.einsum("x, a, y; x, b, y => x, a^b, y", &[a, b]);
    joined_three ["3", "1", "2"] |m, [a, b, c]| m.einsum("a; b; c => a^b^c", &[a, b, c]);
    joined_with_itself ["3"] |m, [a]| m.einsum("a; b => a^b", &[a, a]).square();
    joined_after_a_computation ["3", "2"] |m, [a, b]| m.einsum("a; b => a^b", &[a.exp(), a.sum("i => 0") * b]);
    joined_by_the_greatest ["3", "2, 4"] |m, [a, b]| m.by(Max, Combine::Product, "a; b, k => a^b", &[a, b]);
    blocks ["2, 3", "2, 2", "1, 3", "1, 2"] |m, [a, b, c, d]| {
        m.einsum("a, c; a, d; b, c; b, d => a^b, c^d", &[a, b, c, d])
    };
    blocks_on_the_diagonal ["2, 3", "1, 2"] |m, [a, b]| m.einsum("a, c; b, d => a^b, c^d", &[a, b]);
    gaps ["3"] |_, [a]| a.sum("a => 2^a^3");
    without_the_first ["7"] |_, [a]| a.sum("3^a => a");
    a_part_from_the_middle ["8"] |_, [a]| a.sum("2^a^3 => a");
    split ["2 | 7"] |m, [a]| {
        let parts = m.builder.split("... | a^b => ... | a; ... | b", &[a]);
        let first = parts[0].set_size("a", 3);
        first * parts[1].sum("... | b => ... | 0")
    };
    split_with_one_part_unused ["7"] |m, [a]| {
        let parts = m.builder.split("a^b => a; b", &[a]);
        let _ = parts[0].set_size("a", 3);
        parts[1].square()
    };
    split_in_three_and_joined ["6"] |m, [a]| {
        let parts = m.builder.split("a^b^c => a; b; c", &[a]);
        let _ = (parts[0].set_size("a", 1), parts[0].set_size("b", 2));
        m.einsum("a; b; c => b^c^a", &[parts[0].exp(), parts[1].sin(), parts[2].square()])
    };
    split_of_a_product ["5", "5"] |m, [a, b]| {
        let parts = m.builder.split("a^b; a^b => a; b", &[a, b]);
        parts[0].set_size("a", 2).sum("i =>") * parts[1]
    };
    slice_at_a_place ["4, 2 | 3"] |_, [a]| a.slice(SliceIndex::At(2));
    slice_of_something_computed ["4 | 3 -> 2"] |_, [a]| a.square().slice(SliceIndex::At(3));
    slice_when_run ["4, 2 | 3"] |m, [a]| m.slice_when_run(a, Some(4), 1);
    slice_when_run_of_something_computed ["4 | 3"] |m, [a]| {
        m.slice_when_run(a.exp(), None, 3) * m.slice_when_run(a, None, 0)
    };
    another_shape ["12", "3, 4"] |m, [a, b]| {
        m.graph(&[a], |graph, tensors| graph.convert(tensors[0], 1, 1)) * b
    };
}
