//! Specs with explicit values. `x` is 0, 1, 2, … in memory order: batch, output, input.

use crate::meaning::array::{Array, each_point, table};
use crate::meaning::runner::{Arithmetic, SUM};
use crate::meaning::sheet::Sheet;

/// The number of a cell of a range.
fn at(sizes: &[u64], place: &[u64]) -> u64 {
    sizes.iter().zip(place).fold(0, |total, (size, at)| total * size + at)
}

/// Checks the shape and the numbers of a spec on ranges.
fn check(operands: &[&str], spec: &str, shape: &str, values: &[f64]) {
    let mut sheet = Sheet::default();
    let operands: Vec<_> = operands.iter().map(|shape| sheet.range(shape)).collect();
    let result = sheet.einsum(spec, &operands);
    assert_eq!(sheet.shape(result), shape, "{spec}");
    assert_eq!(sheet.values(result), values, "{spec}");
}

#[test]
fn permutations() {
    let x = |b, o, i| at(&[2, 4, 3], &[b, o, i]);
    let turned = table(&[4, 3, 2], |p| x(p[2], p[0], p[1]));
    check(&["2 | 3 -> 4"], "b|i->o => o|b->i", "4 | 2 -> 3", &turned);
    let turned = table(&[2, 3, 4], |p| x(p[0], p[2], p[1]));
    check(&["2 | 3 -> 4"], "...|i->o => ...|o->i", "2 | 4 -> 3", &turned);
    let turned = table(&[4, 2, 3], |p| x(p[1], p[0], p[2]));
    check(&["2 | 3 -> 4"], "b|...->o => o|...->b", "4 | 3 -> 2", &turned);

    // In memory the operand is a, b, e, f, c, d.
    let large = |p: [u64; 6]| at(&[2, 3, 6, 7, 4, 5], &p);
    let turned = table(&[4, 7, 5, 3, 2, 6], |p| large([p[4], p[3], p[5], p[1], p[0], p[2]]));
    check(&["2, 3 | 4, 5 -> 6, 7"], "ab|cd->ef => cf|ae->db", "4, 7 | 2, 6 -> 5, 3", &turned);
    // Memory order of the result: the batch hole, i; the input hole's place is taken by the output's.
    let turned = table(&[2, 5, 6, 3, 4, 7], |p| large([p[0], p[3], p[2], p[5], p[4], p[1]]));
    let spec = "...b|...i->...o => ...i|...o->...b";
    check(&["2, 3 | 4, 5 -> 6, 7"], spec, "2, 5 | 4, 7 -> 6, 3", &turned);
}

#[test]
fn sums() {
    let sums = [18.0, 22.0, 26.0, 66.0, 70.0, 74.0];
    check(&["2 | 3 -> 4"], "b|i->o => b|i", "2 | 3", &sums);
    check(&["2 | 3 -> 4"], "...|...->... => ...|...->0", "2 | 3 -> _", &sums);
    check(&["2 -> 3"], "...|...->... => 0", "_", &[15.0]);
    check(&["2 | 3 -> 4"], "...|...->...o => o", "4", &[42.0, 60.0, 78.0, 96.0]);
    check(&["3, 4"], "...|...->...o => o", "4", &[12.0, 15.0, 18.0, 21.0]);

    let large = |p: [u64; 6]| at(&[2, 3, 6, 7, 4, 5], &p);
    let total = |sizes: [u64; 3], value: &dyn Fn(&[u64]) -> u64| {
        let mut sum = 0;
        each_point(&sizes, |p| {
            sum += value(p);
            Ok(())
        })
        .expect("nothing can fail");
        sum
    };
    let kept = table(&[4, 5, 2], |p| total([3, 6, 7], &|q| large([p[2], q[0], q[1], q[2], p[0], p[1]])));
    check(&["2, 3 | 4, 5 -> 6, 7"], "ab|cd->ef => c|a->d", "4 | 2 -> 5", &kept);
    let kept = table(&[5, 3, 7], |p| total([2, 6, 4], &|q| large([q[0], p[1], q[1], p[2], q[2], p[0]])));
    check(&["2, 3 | 4, 5 -> 6, 7"], "...b|...i->...o => i|o->b", "5 | 7 -> 3", &kept);
}

#[test]
fn products() {
    let mut sheet = Sheet::default();
    let (x, y) = (sheet.range("2"), sheet.range("3"));
    let x = sheet.successor(x);
    let outer = sheet.einsum("i; j => i->j", &[x, y]);
    assert_eq!(sheet.shape(outer), "2 -> 3");
    assert_eq!(sheet.values(outer), [0.0, 0.0, 1.0, 2.0, 2.0, 4.0]);

    let outer = table(&[2, 5, 4, 7, 3, 6], |p| {
        at(&[2, 4, 3], &[p[0], p[2], p[4]]) * at(&[5, 7, 6], &[p[1], p[3], p[5]])
    });
    let spec = "i|j->k; l|m->n => il|jm->kn";
    check(&["2 | 3 -> 4", "5 | 6 -> 7"], spec, "2, 5 | 3, 6 -> 4, 7", &outer);

    let mut sheet = Sheet::default();
    let a = sheet.range("2 | 3 -> 4");
    let square = sheet.einsum("b|i->o; b|i->o => b|i->o", &[a, a]);
    assert_eq!(sheet.values(square), table(&[24], |p| p[0] * p[0]));

    let a = |b, h, i| at(&[2, 4, 3], &[b, h, i]);
    let b = |b, o, h| at(&[2, 5, 4], &[b, o, h]);
    let matrices = table(&[2, 5, 3], |p| (0..4).map(|h| b(p[0], p[1], h) * a(p[0], h, p[2])).sum());
    assert_eq!(matrices[..3], [42.0, 48.0, 54.0]);
    check(&["2 | 4 -> 5", "2 | 3 -> 4"], "b|h->o; b|i->h => b|i->o", "2 | 3 -> 5", &matrices);
    let all = table(&[2, 2, 5, 3], |p| (0..4).map(|h| b(p[1], p[2], h) * a(p[0], h, p[3])).sum());
    check(&["2 | 3 -> 4", "2 | 4 -> 5"], "a|i->h; b|h->o => ab|i->o", "2, 2 | 3 -> 5", &all);
}

#[test]
fn sums_of_products() {
    let ends = |spec: &str, first: [f64; 3], last: [f64; 3]| {
        let mut sheet = Sheet::default();
        let (a, b) = (sheet.range("2 | 3 -> 4"), sheet.range("2 | 4 -> 5"));
        let result = sheet.einsum(spec, &[a, b]);
        assert_eq!(sheet.shape(result), "3 -> 5");
        let values = sheet.values(result);
        assert_eq!((&values[..3], &values[12..]), (&first[..], &last[..]), "{spec}");
    };
    ends("b|i->h; b|h->o => i->o", [1476.0, 1568.0, 1660.0], [2820.0, 3040.0, 3260.0]);
    ends("a|i->h; b|h->o => i->o", [1992.0, 2176.0, 2360.0], [4680.0, 5120.0, 5560.0]);

    let moved = table(&[3, 2, 4], |p| at(&[3, 4, 2], &[p[0], p[2], p[1]]));
    check(&["2 -> 3, 4"], "i->...o => ...io", "3, 2, 4", &moved);
    let both = table(&[3, 2, 4], |p| at(&[3, 2], &[p[0], p[1]]) * at(&[3, 4], &[p[0], p[2]]));
    check(&["2 -> 3", "4 -> 3"], "i->...;j->... => ...ij", "3, 2, 4", &both);

    let operands = ["3 | 4 -> 2", "3 | 1 -> 4"];
    let values = [0.0, 6.0, 16.0, 30.0, 80.0, 110.0, 144.0, 182.0, 288.0, 342.0, 400.0, 462.0];
    check(&operands, "...|i->...; ...|...->i => ...|i", "3 | 4", &values);
    let values = [0.0, 5.0, 12.0, 21.0, 48.0, 65.0, 84.0, 105.0, 160.0, 189.0, 220.0, 253.0];
    check(&operands, "...|i->1; ...|...->i => ...|i", "3 | 4", &values);

    let mut sheet = Sheet::default();
    let (a, b) = (sheet.range("3 | 4 -> 2"), sheet.range("3 | 2, 3 -> 4"));
    let result = sheet.einsum("...|i->1; ...|j...->i => ...|ij", &[a, b]);
    assert_eq!(sheet.shape(result), "3 | 4, 2");
    assert_eq!(sheet.values(result)[..8], [12.0, 48.0, 105.0, 150.0, 234.0, 288.0, 399.0, 462.0]);

    let c = table(&[3, 2, 4], |p| at(&[2, 2], &[1, p[1]]) * at(&[2, 2, 3, 4], &[0, p[1], p[0], p[2]]));
    check(&["2 -> 2", "2, 3, 4 -> 2"], "i->1; ij...->0 => ...->ji", "4 -> 3, 2", &c);
}

#[test]
fn indices() {
    let values = [1.0, 4.0, 7.0, 10.0, 13.0, 16.0, 19.0, 22.0];
    check(&["2 | 3 -> 4"], "...|1->... => ...|...", "2 | 4", &values);
    check(&["2 -> 3"], "i->j => i0j", "2, _, 3", &[0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    let seconds: Vec<f64> = Array::range(vec![12]).values;
    let slot = table(&[3, 2, 4], |p| if p[1] == 1 { at(&[3, 4], &[p[0], p[2]]) } else { 0 });
    check(&["3, 4"], "ij=>i1j", "3, 2, 4", &slot);
    let slots = table(&[3, 2, 4, 3], |p| if p[1] == 1 && p[3] == 2 { at(&[3, 4], &[p[0], p[2]]) } else { 0 });
    check(&["3, 4"], "ij=>i1j2", "3, 2, 4, 3", &slots);
    check(&["12"], "i=>i0", "12, _", &seconds);
    check(&["4"], "i=>i0j", "4, _, _", &[0.0, 1.0, 2.0, 3.0]);
}

/// Three ranges on three slots of one axis, added up: each cell holds its own coordinates.
#[test]
fn coordinates() {
    let mut sheet = Sheet::default();
    let slot = |sheet: &mut Sheet, size: &str, spec: &str| {
        let range = sheet.range(size);
        let slotted = sheet.einsum(spec, &[range]);
        // A reader of the last slot makes the axis long enough for all three.
        sheet.einsum("i2=>i", &[slotted]);
        slotted
    };
    let first = slot(&mut sheet, "4", "i=>i0");
    let second = slot(&mut sheet, "5", "j=>j1");
    let third = slot(&mut sheet, "6", "k=>k2");
    assert_eq!([sheet.shape(first), sheet.shape(third)], ["4, 3", "6, 3"]);
    let sum = Arithmetic { combine: |a, b| a + b, ..SUM };
    let two = sheet.einsum_by(sum, "il;jl=>ijl", &[first, second]);
    let three = sheet.einsum_by(sum, "ijl;kl=>ijkl", &[two, third]);
    assert_eq!(sheet.shape(three), "4, 5, 6, 3");
    assert_eq!(sheet.values(three), table(&[4, 5, 6, 3], |p| p[p[3] as usize]));
}
