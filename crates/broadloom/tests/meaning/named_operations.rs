//! Operations with explicit values: diagonals, windows, pools, parts, slices, and rows that
//! broadcast inside.

use broadloom::{SliceIndex, Tensor};
use broadloom_core::projection::Verdict::{No, Yes};

use crate::meaning::array::table;
use crate::meaning::runner::{Arithmetic, SUM};
use crate::meaning::sheet::Sheet;

#[test]
fn what_is_written_once_and_everywhere() {
    let cases = [
        ("5", "i=>ii", "5, 5", [Yes, No]),
        ("4", "i=>i0", "4, _", [Yes, Yes]),
        ("4", "i=>i0j", "4, _, _", [Yes, Yes]),
        ("3, 4", "ij=>i1j", "3, 2, 4", [Yes, No]),
        ("3, 4", "ij=>i1j2", "3, 2, 4, 3", [Yes, No]),
        ("3, 4", "ij=>ji", "4, 3", [Yes, Yes]),
        ("3, 4", "ij=>iji", "3, 4, 3", [Yes, No]),
        ("3, 4", "ij=>j", "4", [No, Yes]),
        ("2, 5", "i, j => i<+3*j", "14", [Yes, No]),
        ("3, 5", "i, j => i<+3*j", "15", [Yes, Yes]),
        ("4, 5", "i, j => i<+3*j", "16", [No, Yes]),
    ];
    for (operand, spec, shape, verdicts) in cases {
        let mut sheet = Sheet::default();
        let x = sheet.range(operand);
        let y = sheet.einsum(spec, &[x]);
        assert_eq!((sheet.shape(y).as_str(), sheet.verdicts(y)), (shape, verdicts), "{spec}");
        sheet.values(y);
    }
}

#[test]
fn what_is_not_written_is_zero() {
    let mut sheet = Sheet::default();
    let x = sheet.range("5");
    let diagonal = sheet.einsum("i=>ii", &[x]);
    assert_eq!(sheet.values(diagonal), table(&[5, 5], |p| if p[0] == p[1] { p[0] } else { 0 }));
    let more = sheet.successor(diagonal);
    assert_eq!(sheet.values(more), table(&[5, 5], |p| if p[0] == p[1] { p[0] + 1 } else { 1 }));

    let mut sheet = Sheet::default();
    let x = sheet.range("3, 4");
    let spread = sheet.einsum("ij=>iji", &[x]);
    let more = sheet.successor(spread);
    assert_eq!(sheet.values(more), table(&[3, 4, 3], |p| if p[0] == p[2] { 4 * p[0] + p[1] + 1 } else { 1 }));

    let mut sheet = Sheet::default();
    let x = sheet.range("4");
    let column = sheet.einsum("i=>i0", &[x]);
    sheet.einsum("i2=>i", &[column]);
    assert_eq!(sheet.shape(column), "4, 3");
    assert_eq!(sheet.verdicts(column), [Yes, No]);
    assert_eq!(sheet.values(column), table(&[4, 3], |p| if p[1] == 0 { p[0] } else { 0 }));

    let mut sheet = Sheet::default();
    let x = sheet.range("2, 5");
    let y = sheet.einsum("i, j => i<+3*j", &[x]);
    let written = [0.0, 5.0, 0.0, 1.0, 6.0, 0.0, 2.0, 7.0, 0.0, 3.0, 8.0, 0.0, 4.0, 9.0];
    assert_eq!(sheet.values(y), written);
}

/// Images of 0, 1, 2, … under a kernel of ones, in four channels that are all the same.
#[test]
fn convolutions() {
    let convolve = |side: u64, stride: &str, padding: &str, shape: &str| {
        let mut sheet = Sheet::default();
        let (image, kernel) = (sheet.range(&format!("{side}, {side}, 1")), sheet.param("3, 3, 1 -> 4", 1.0));
        let spec =
            format!("{stride}oh{padding}+kh, {stride}ow{padding}+kw, ic; kh, kw, ic -> oc => oh, ow, oc");
        let result = sheet.einsum(&spec, &[image, kernel]);
        assert_eq!(sheet.shape(result), shape);
        let values = sheet.values(result);
        let channels: Vec<&[f64]> = values.chunks(4).collect();
        assert!(channels.iter().all(|channels| channels.iter().all(|value| *value == channels[0])));
        channels.iter().map(|channels| channels[0]).collect::<Vec<f64>>()
    };
    let padded = [
        [12.0, 21.0, 27.0, 33.0, 24.0],
        [33.0, 54.0, 63.0, 72.0, 51.0],
        [63.0, 99.0, 108.0, 117.0, 81.0],
        [93.0, 144.0, 153.0, 162.0, 111.0],
        [72.0, 111.0, 117.0, 123.0, 84.0],
    ];
    assert_eq!(convolve(5, "", "=", "5, 5, 4"), padded.concat());
    let inside = [[54.0, 63.0, 72.0], [99.0, 108.0, 117.0], [144.0, 153.0, 162.0]];
    assert_eq!(convolve(5, "", "<", "3, 3, 4"), inside.concat());
    let strided = [[14.0, 30.0, 42.0], [75.0, 126.0, 144.0], [147.0, 234.0, 252.0]];
    assert_eq!(convolve(6, "2*", "=", "3, 3, 4"), strided.concat());
    let inside = convolve(9, "2*", "<", "4, 4, 4");
    assert_eq!(
        (&inside[..4], &inside[12..]),
        (&[90.0, 108.0, 126.0, 144.0][..], &[576.0, 594.0, 612.0, 630.0][..])
    );
}

const MAX: Arithmetic = Arithmetic { accumulate: f64::max, neutral: f64::NEG_INFINITY, ..SUM };

#[test]
fn pools() {
    let pool = |sheet: &mut Sheet, image: Tensor, window: u64| {
        let ones = sheet.param(&format!("{window}, {window}"), 1.0);
        let spec = "... | 2*oh<+wh, 2*ow<+ww, ..c..; wh, ww => ... | oh, ow, ..c..";
        sheet.einsum_by(MAX, spec, &[image, ones])
    };
    let check = |image: &str, window: u64, shape: &str, values: &[f64]| {
        let mut sheet = Sheet::default();
        let image = sheet.range(image);
        let pooled = pool(&mut sheet, image, window);
        assert_eq!(sheet.shape(pooled), shape);
        assert_eq!(sheet.values(pooled), values);
    };
    check("4, 4, 1", 2, "2, 2, 1", &[5.0, 7.0, 13.0, 15.0]);
    check("3, 3, 1", 3, "1, 1, 1", &[8.0]);
    let channels = [15.0, 16.0, 17.0, 21.0, 22.0, 23.0, 39.0, 40.0, 41.0, 45.0, 46.0, 47.0];
    check("4, 4, 3", 2, "2, 2, 3", &channels);

    let mut sheet = Sheet::default();
    let image = sheet.range("7, 7, 2");
    let pooled = pool(&mut sheet, image, 3);
    assert_eq!(sheet.shape(pooled), "3, 3, 2");
    let first: Vec<f64> = sheet.values(pooled).into_iter().step_by(2).collect();
    assert_eq!(first, [32.0, 36.0, 40.0, 60.0, 64.0, 68.0, 88.0, 92.0, 96.0]);

    let mut sheet = Sheet::default();
    let image = [9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 8.0, 1.0, 7.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0];
    let image = sheet.data("4, 4", &image);
    let pooled = pool(&mut sheet, image, 2);
    assert_eq!(sheet.values(pooled), [9.0, 8.0, 7.0, 6.0]);
}

/// The value of padding depends on the reader: minus infinity for a maximum, zero for a sum.
#[test]
fn padding_is_neutral() {
    let mut sheet = Sheet::default();
    let values: Vec<f64> = (-16..0).map(f64::from).collect();
    let (image, ones) = (sheet.data("4, 4", &values), sheet.param("3, 3", 1.0));
    let spec = "oh=+wh, ow=+ww; wh, ww => oh, ow";
    let (most, sum) = (sheet.einsum_by(MAX, spec, &[image, ones]), sheet.einsum(spec, &[image, ones]));
    let expected = [[-11, -10, -9, -9], [-7, -6, -5, -5], [-3, -2, -1, -1], [-3, -2, -1, -1]].concat();
    assert_eq!(sheet.values(most), expected.into_iter().map(f64::from).collect::<Vec<_>>());
    let expected =
        [[-54, -78, -72, -46], [-69, -99, -90, -57], [-45, -63, -54, -33], [-22, -30, -24, -14]].concat();
    assert_eq!(sheet.values(sum), expected.into_iter().map(f64::from).collect::<Vec<_>>());
}

#[test]
fn interleaving() {
    let mut sheet = Sheet::default();
    let (a, b) = (sheet.data("3", &[1.0, 2.0, 3.0]), sheet.data("3", &[4.0, 5.0, 6.0]));
    let (even, odd) = (sheet.einsum("i => 2*i", &[a]), sheet.einsum("i => 2*i+1", &[b]));
    let both = sheet.add(even, odd);
    assert_eq!(sheet.shape(both), "6");
    assert_eq!(sheet.values(both), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(sheet.verdicts(odd), [Yes, No]);
    let (first, second) = (sheet.einsum("2*i => i", &[both]), sheet.einsum("2*i+1 => i", &[both]));
    assert_eq!((sheet.values(first), sheet.values(second)), (vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]));
    let (even, odd) = (sheet.einsum("i => 2*i", &[first]), sheet.einsum("i => 2*i+1", &[second]));
    let again = sheet.add(even, odd);
    assert_eq!(sheet.values(again), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
}

#[test]
fn composition() {
    let mut sheet = Sheet::default();
    let a = sheet.data("3 -> 2", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = sheet.data("1 -> 3", &[1.0, 0.0, 1.0]);
    let product = sheet.compose(a, b);
    assert_eq!(sheet.shape(product), "1 -> 2");
    assert_eq!(sheet.values(product), [4.0, 10.0]);

    let (x, y) = (sheet.data("2", &[2.0, 3.0]), sheet.data("3", &[4.0, 5.0, 6.0]));
    let w = sheet.param("... -> ...", 7.0);
    let map = sheet.compose(w, x);
    let moved = sheet.add(map, y);
    assert_eq!((sheet.shape(w), sheet.values(moved)), (String::from("2 -> 3"), vec![39.0, 40.0, 41.0]));

    // The same map twice: three loops, not one or two.
    let square = sheet.data("2 -> 2", &[1.0, 2.0, 3.0, 4.0]);
    let squared = sheet.compose(square, square);
    assert_eq!(sheet.values(squared), [7.0, 10.0, 15.0, 22.0]);
}

#[test]
fn graphs() {
    let mut sheet = Sheet::default();
    let (x, y) = (sheet.range("3, 4"), sheet.range("3, 4"));
    let pairs = sheet.einsum("i, f; j, f => i, j, f", &[x, y]);
    assert_eq!(sheet.shape(pairs), "3, 3, 4");
    assert_eq!(sheet.values(pairs), table(&[3, 3, 4], |p| (4 * p[0] + p[2]) * (4 * p[1] + p[2])));

    let (x, y) = (sheet.range("2 | 3, 4"), sheet.range("2 | 3, 4"));
    let pairs = sheet.einsum("..g.. | i, f; ..g.. | j, f => ..g.. | i, j, f", &[x, y]);
    assert_eq!(sheet.shape(pairs), "2 | 3, 3, 4");
    let cell = |g, i, f| 12 * g + 4 * i + f;
    assert_eq!(
        sheet.values(pairs),
        table(&[2, 3, 3, 4], |p| cell(p[0], p[1], p[3]) * cell(p[0], p[2], p[3]))
    );

    let neighbours = sheet.range("2 | 3, 3");
    let gathered = sheet.einsum("..g.. | v, u; ..g.. | u, f => ..g.. | v, f", &[neighbours, x]);
    assert_eq!(sheet.shape(gathered), "2 | 3, 4");
    let edge = |g, v, u| 9 * g + 3 * v + u;
    let value = |p: &[u64]| (0..3).map(|u| edge(p[0], p[1], u) * cell(p[0], u, p[2])).sum();
    assert_eq!(sheet.values(gathered), table(&[2, 3, 4], value));
}

#[test]
fn parts() {
    let mut sheet = Sheet::default();
    let (a, b, c) =
        (sheet.data("3", &[1.0, 2.0, 3.0]), sheet.data("2", &[4.0, 5.0]), sheet.data("1", &[6.0]));
    let two = sheet.einsum("a; b => a^b", &[a, b]);
    assert_eq!((sheet.shape(two), sheet.values(two)), (String::from("5"), vec![1.0, 2.0, 3.0, 4.0, 5.0]));
    let three = sheet.einsum("a; b; c => a^c^b", &[a, b, c]);
    assert_eq!(sheet.values(three), [1.0, 2.0, 3.0, 6.0, 4.0, 5.0]);
    let nested = sheet.einsum("a; b => a^b", &[two, c]);
    assert_eq!(sheet.values(nested), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let gaps = sheet.einsum("a => 2^a^1", &[a]);
    assert_eq!(sheet.values(gaps), [0.0, 0.0, 1.0, 2.0, 3.0, 0.0]);
    let rest = sheet.einsum("3^a => a", &[nested]);
    assert_eq!(sheet.values(rest), [4.0, 5.0, 6.0]);
    let halves = sheet.split("a^b => a; b", &[two], &[("a", 2)]);
    assert_eq!((sheet.values(halves[0]), sheet.values(halves[1])), (vec![1.0, 2.0], vec![3.0, 4.0, 5.0]));
    let swapped = sheet.split("a^b => b^a", &[two], &[("a", 2)])[0];
    assert_eq!(sheet.values(swapped), [3.0, 4.0, 5.0, 1.0, 2.0]);
    let sum = sheet.split("a^b => ", &[two], &[("a", 2)])[0];
    assert_eq!(sheet.values(sum), [15.0]);
}

#[test]
fn blocks() {
    let mut sheet = Sheet::default();
    let blocks = [("2, 2", 10.0), ("2, 1", 20.0), ("1, 2", 30.0), ("1, 1", 40.0)].map(|(shape, first)| {
        let range = sheet.range(shape);
        let start = sheet.param("...", first);
        sheet.add(range, start)
    });
    let matrix = sheet.einsum("a,c; a,d; b,c; b,d => a^b, c^d", &blocks);
    assert_eq!(sheet.shape(matrix), "3, 3");
    assert_eq!(sheet.values(matrix), [10.0, 11.0, 20.0, 12.0, 13.0, 21.0, 30.0, 31.0, 40.0]);
}

#[test]
fn slices() {
    let mut sheet = Sheet::default();
    let parent = sheet.data("2 | 3", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let first = sheet.slice(parent, SliceIndex::At(0), 0);
    let second = sheet.slice(parent, SliceIndex::Run { range: Some(2) }, 1);
    assert_eq!(sheet.shape(second), "3");
    assert_eq!((sheet.values(first), sheet.values(second)), (vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]));
}

/// Axes before a hole stay first when a row broadcasts: `y[i, k]` at `z[i, j, k]`.
#[test]
fn broadcasting_inside_a_row() {
    for middle in [3, 5] {
        let mut sheet = Sheet::default();
        let (x, w) = (sheet.range("3, 4"), sheet.param(&format!("3, {middle}, 4"), 100.0));
        let y = sheet.einsum("a, ..., b => a, ..., b", &[x]);
        let z = sheet.add(y, w);
        assert_eq!(sheet.shape(z), format!("3, {middle}, 4"));
        assert_eq!(sheet.values(z), table(&[3, middle, 4], |p| 4 * p[0] + p[2] + 100));
    }
}

/// A conversion that preserves the number of elements keeps their order in memory, whatever rows
/// they are in.
#[test]
fn reshapes() {
    for shape in ["24", "24 |", "2 | 3 -> 4", "2, 3, 4", "2, 1, 3 | 2 -> 2", "2, 2 | 2, 3"] {
        let mut sheet = Sheet::default();
        let x = sheet.range("24");
        let y = sheet.reshape(x);
        let zeros = sheet.data(shape, &[0.0; 24]);
        sheet.add(y, zeros);
        assert_eq!(sheet.shape(y), shape);
        assert_eq!(sheet.values(y), table(&[24], |p| p[0]), "{shape}");
        assert_eq!(sheet.verdicts(y), [Yes, Yes], "{shape}");
    }
    let mut sheet = Sheet::default();
    let one = sheet.data("1", &[5.0]);
    let number = sheet.reshape(one);
    assert_eq!(sheet.values(number), [5.0]);
}
