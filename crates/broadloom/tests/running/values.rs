//! Values of operations compared with loops written by hand from their definitions.
//!
//! A case has operands with whole numbers, the operation, and its definition: the result at each
//! index, in memory order (batch, output, input).

use broadloom::{
    Accumulate, Array, Builder, Combine, Error, Expr, Routine, Session, SliceIndex, SpecOptions,
};
use broadloom_testing::Dice;

use crate::numbers::{memory, treatments};

/// An operand as the definitions use it.
struct Cells {
    sizes: Vec<u64>,
    values: Vec<f64>,
}

impl Cells {
    fn at<const R: usize>(&self, index: [usize; R]) -> f64 {
        self.within(index.map(|at| at as i64)).expect("inside the operand")
    }

    /// The number at an index, if it is inside.
    fn within<const R: usize>(&self, index: [i64; R]) -> Option<f64> {
        assert_eq!(R, self.sizes.len());
        let place = index.iter().zip(&self.sizes).try_fold(0, |place, (at, size)| {
            (0..*size as i64).contains(at).then_some(place * *size as usize + *at as usize)
        })?;
        Some(self.values[place])
    }
}

/// The values of a function at all indices, the last one fastest.
fn table<const R: usize>(sizes: [usize; R], value: impl Fn([usize; R]) -> f64) -> Vec<f64> {
    let count: usize = sizes.iter().product();
    let index = |mut place: usize| {
        let mut index = [0; R];
        for axis in (0..R).rev() {
            index[axis] = place % sizes[axis];
            place /= sizes[axis];
        }
        index
    };
    (0..count).map(|place| value(index(place))).collect()
}

fn sum(count: usize, value: impl Fn(usize) -> f64) -> f64 {
    (0..count).map(value).sum()
}

fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

type Build<const N: usize> = for<'b> fn(&'b Builder, [Expr<'b>; N]) -> Vec<Expr<'b>>;

/// Compares the results of a program with the expected ones, in every way to run it.
fn check<const N: usize>(
    shapes: [&str; N],
    build: Build<N>,
    wanted: impl Fn([&Cells; N]) -> Vec<Vec<f64>>,
) -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let builder = Builder::new();
        let names = ["a", "b", "c", "d"];
        let operands: [Expr<'_>; N] = std::array::from_fn(|at| builder.data(names[at], shapes[at]));
        let results = build(&builder, operands);
        let results: Vec<_> = results.into_iter().map(Expr::tensor).collect();
        let operands = operands.map(Expr::tensor);
        let mut graph = builder.finish()?;
        let mut random = Dice::new(11);
        let mut cells = Vec::new();
        for operand in operands {
            let shape = graph.final_shape(operand)?;
            let values =
                (0..shape.elements()).map(|_| [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0][random.below(7)]);
            cells.push(Cells { sizes: memory(&shape), values: values.collect() });
        }
        let mut session = Session::with(graph, settings)?;
        for (operand, cells) in operands.iter().zip(&cells) {
            let values: Vec<f32> = cells.values.iter().map(|value| *value as f32).collect();
            session.set(*operand, &Array::from_slice(&cells.sizes, &values).expect("sizes that fit"))?;
        }
        let mut routine = Routine::new("values");
        results.iter().for_each(|result| {
            routine.forward(*result);
        });
        session.run(&routine)?;
        let wanted = wanted(std::array::from_fn(|at| &cells[at]));
        for (at, (result, wanted)) in results.iter().zip(wanted).enumerate() {
            assert_eq!(session.get(*result)?.to_f64s(), wanted, "{treatment}: result {at}");
        }
    }
    Ok(())
}

/// Cases, one test each: shapes, the operation, its definition.
macro_rules! cases {
    ($($(#[$attribute:meta])* $name:ident $shapes:tt $build:expr, $wanted:expr;)*) => {
        $(
            $(#[$attribute])*
            #[test]
            fn $name() -> Result<(), Error> {
                check($shapes, $build, $wanted)
            }
        )*
    };
}

fn by<'b>(
    b: &'b Builder,
    accumulate: Accumulate,
    combine: Combine,
    spec: &str,
    operands: &[Expr<'b>],
) -> Vec<Expr<'b>> {
    vec![b.einsum_with(spec, operands, &SpecOptions { accumulate, combine, ..SpecOptions::default() })]
}

fn accumulated<'b>(b: &'b Builder, a: Expr<'b>, c: Expr<'b>, d: Expr<'b>) -> Vec<Expr<'b>> {
    vec![b.with(|graph| graph.compose_accumulate(a.tensor(), c.tensor(), d.tensor()))]
}

mod broadcasting {
    use super::*;

    cases! {
        matrices ["3 -> 2", "4 -> 3"] |_, [a, b]| vec![a.compose(b)],
            |[a, b]| vec![table([2, 4], |[o, i]| sum(3, |k| a.at([o, k]) * b.at([k, i])))];
        a_layer ["3 -> 2", "5 | 3"] |_, [a, b]| vec![a.compose(b)],
            |[a, b]| vec![table([5, 2], |[n, o]| sum(3, |k| a.at([o, k]) * b.at([n, k])))];
        batches ["2, 1:unit | 3 -> 2", "4 | 3"] |_, [a, b]| vec![a.compose(b)],
            |[a, b]| vec![table([2, 4, 2], |[m, n, o]| sum(3, |k| a.at([m, 0, o, k]) * b.at([n, k])))];
        the_right_side_broadcasts ["3, 4 -> 2", "4"] |_, [a, b]| vec![a.compose(b)],
            |[a, b]| vec![table([2], |[o]| sum(3, |j| sum(4, |k| a.at([o, j, k]) * b.at([k]))))];
        and_a_sum ["3 -> 2", "5 | 3", "2"] |b, [a, c, d]| accumulated(b, a, c, d),
            |[a, b, d]| vec![table([5, 2], |[n, o]| sum(3, |k| a.at([o, k]) * b.at([n, k])) + d.at([o]))];
        and_a_wider_sum ["3 -> 2", "3", "4 | 2"] |b, [a, c, d]| accumulated(b, a, c, d),
            |[a, b, d]| vec![table([4, 2], |[n, o]| sum(3, |k| a.at([o, k]) * b.at([k])) + d.at([n, o]))];
        transposed ["2 | 3 -> 4, 2"] |_, [a]| vec![a.transpose()],
            |[a]| vec![table([2, 3, 4, 2], |[n, i, o, p]| a.at([n, o, p, i]))];
        rows_of_different_kinds ["2 |", "3", "4 -> 3"] |_, [a, b, c]| vec![a * b + c],
            |[a, b, c]| vec![table([2, 3, 4], |[n, o, i]| a.at([n]) * b.at([o]) + c.at([o, i]))];
        in_the_middle ["3, 4", "3, 2, 4"] |_, [a, b]| vec![a.sum("a, ..., b => a, ..., b") - b],
            |[a, b]| vec![table([3, 2, 4], |[i, j, k]| a.at([i, k]) - b.at([i, j, k]))];
        slice ["4, 2 | 3"] |_, [a]| vec![a.slice(SliceIndex::At(2))],
            |[a]| vec![table([2, 3], |[n, o]| a.at([2, n, o]))];
        means ["2 | 4, 2"] |_, [a]| vec![a.mean("... | ..d.. => ... |", &["d"])],
            |[a]| vec![table([2], |[n]| sum(4, |i| sum(2, |j| a.at([n, i, j]))) / 8.0)];
        positions ["2 | 3, 2"] |b, [a]| vec![a * b.range("position", "3, 2")],
            |[a]| vec![table([2, 3, 2], |[n, i, j]| a.at([n, i, j]) * (2 * i + j) as f64)];
        constants ["3"] |b, [a]| vec![b.einsum("i; i =>", &[a, b.constant(2.0)])],
            |[a]| vec![vec![2.0 * sum(3, |i| a.at([i]))]];
        selected ["4", "3, 4", "|"] |b, [a, c, d]| vec![b.select(a.less(2.0), c, d)],
            |[a, b, d]| vec![table([3, 4], |[i, j]| if a.at([j]) < 2.0 { b.at([i, j]) } else { d.at([]) })];
    }
}

mod specs {
    use super::*;

    cases! {
        one_axis ["3, 4"] |_, [a]| vec![a.sum("i j => j")],
            |[a]| vec![table([4], |[j]| sum(3, |i| a.at([i, j])))];
        diagonal ["4, 4"] |_, [a]| vec![a.sum("i i => i"), a.sum("i i =>")],
            |[a]| vec![table([4], |[i]| a.at([i, i])), vec![sum(4, |i| a.at([i, i]))]];
        diagonal_written ["3"] |_, [a]| vec![a.sum("i => i i")],
            |[a]| vec![table([3, 3], |[i, j]| if i == j { a.at([i]) } else { 0.0 })];
        column_read ["3, 4"] |_, [a]| vec![a.sum("i 2 => i")], |[a]| vec![table([3], |[i]| a.at([i, 2]))];
        column_written ["4"] |_, [a]| vec![a.sum("i => i 2")],
            |[a]| vec![table([4, 3], |[i, j]| if j == 2 { a.at([i]) } else { 0.0 })];
        wildcards ["2, 3, 4"] |_, [a]| vec![a.sum("_ i _ => i")],
            |[a]| vec![table([3], |[i]| sum(2, |x| sum(4, |y| a.at([x, i, y]))))];
        three ["2, 3", "3, 4", "4, 2"] |b, [x, y, z]| vec![b.einsum("i j; j k; k l => i l", &[x, y, z])],
            |[a, b, c]| vec![table([2, 2], |[i, l]| {
                sum(3, |j| sum(4, |k| a.at([i, j]) * b.at([j, k]) * c.at([k, l])))
            })];
        outer_as_a_map ["2", "3"] |b, [x, y]| vec![b.einsum("i; j => i -> j", &[x, y])],
            |[a, b]| vec![table([3, 2], |[j, i]| a.at([i]) * b.at([j]))];
        kinds_exchanged ["2, 3 | 4"] |_, [a]| vec![a.sum("..r.. | i => i -> ..r..")],
            |[a]| vec![table([2, 3, 4], |[r, s, i]| a.at([r, s, i]))];
        greatest_and_least ["3, 4"] |_, [a]| vec![a.max("i j => i"), a.min("i j => j"), a.product("i j => i")],
            |[a]| vec![
                table([3], |[i]| greatest((0..4).map(|j| a.at([i, j])))),
                table([4], |[j]| -greatest((0..3).map(|i| -a.at([i, j])))),
                table([3], |[i]| (0..4).map(|j| a.at([i, j])).product()),
            ];
        greatest_products ["3, 4", "4, 2"]
            |b, [x, y]| by(b, Accumulate::Max, Combine::Product, "i j; j k => i k", &[x, y]),
            |[a, b]| vec![table([3, 2], |[i, k]| greatest((0..4).map(|j| a.at([i, j]) * b.at([j, k]))))];
        least_sums ["3, 4", "4, 2"]
            |b, [x, y]| by(b, Accumulate::Min, Combine::Sum, "i j; j k => i k", &[x, y]),
            |[a, b]| vec![table([3, 2], |[i, k]| -greatest((0..4).map(|j| -a.at([i, j]) - b.at([j, k]))))];
        sums_of_sums ["3, 4", "4, 2"]
            |b, [x, y]| by(b, Accumulate::Sum, Combine::Sum, "i j; j k => i k", &[x, y]),
            |[a, b]| vec![table([3, 2], |[i, k]| sum(4, |j| a.at([i, j]) + b.at([j, k])))];
        products_of_sums ["3, 4", "4, 2"]
            |b, [x, y]| by(b, Accumulate::Product, Combine::Sum, "i j; j k => i k", &[x, y]),
            |[a, b]| vec![table([3, 2], |[i, k]| (0..4).map(|j| a.at([i, j]) + b.at([j, k])).product())];
    }
}

/// The offset of the first cell that a padded window of `k` taps at distance `d` reads: it is centred.
fn before(k: i64, d: i64) -> i64 {
    (d * (k - 1) + 1) / 2
}

mod windows {
    use super::*;

    cases! {
        strides ["12"] |_, [a]| vec![a.sum("2*i => i"), a.sum("3*i+2 => i")],
            |[a]| vec![table([6], |[i]| a.at([2 * i])), table([4], |[i]| a.at([3 * i + 2]))];
        offset ["7"] |_, [a]| vec![a.sum("i+3 => i")], |[a]| vec![table([4], |[i]| a.at([i + 3]))];
        strides_written ["3"] |_, [a]| vec![a.sum("i => 2*i+1")],
            |[a]| vec![table([6], |[i]| if i % 2 == 1 { a.at([i / 2]) } else { 0.0 })];
        valid ["9", "3"] |b, [x, k]| vec![b.einsum("o<+k; k => o", &[x, k]), b.einsum("2*o<+k; k => o", &[x, k])],
            |[a, w]| vec![
                table([7], |[o]| sum(3, |k| a.at([o + k]) * w.at([k]))),
                table([4], |[o]| sum(3, |k| a.at([2 * o + k]) * w.at([k]))),
            ];
        valid_and_dilated ["9", "3"] |b, [x, k]| vec![b.einsum("2*o<+3*k; k => o", &[x, k])],
            |[a, w]| vec![table([2], |[o]| sum(3, |k| a.at([2 * o + 3 * k]) * w.at([k])))];
        padded ["8", "3"] |b, [x, k]| vec![b.einsum("o=+k; k => o", &[x, k]), b.einsum("2*o=+k; k => o", &[x, k])],
            |[a, w]| {
                let at = |place: usize, k| a.within([(place + k) as i64 - before(3, 1)]).unwrap_or(0.0) * w.at([k]);
                vec![table([8], |[o]| sum(3, |k| at(o, k))), table([4], |[o]| sum(3, |k| at(2 * o, k)))]
            };
        padded_and_dilated ["8", "3"] |b, [x, k]| vec![b.einsum("o=+2*k; k => o", &[x, k])],
            |[a, w]| vec![table([8], |[o]| {
                sum(3, |k| a.within([(o + 2 * k) as i64 - before(3, 2)]).unwrap_or(0.0) * w.at([k]))
            })];
        padded_by_an_even_window ["6", "4"] |b, [x, k]| vec![b.einsum("o=+k; k => o", &[x, k])],
            |[a, w]| vec![table([6], |[o]| {
                sum(4, |k| a.within([(o + k) as i64 - before(4, 1)]).unwrap_or(0.0) * w.at([k]))
            })];
        padded_extremes ["6"]
            |_, [a]| vec![
                a.max("o=+w => o").set_size("w", 3),
                a.min("o=+w => o").set_size("w", 3),
                a.product("o=+w => o").set_size("w", 3),
                a.sum("o=+w => o").set_size("w", 3),
            ],
            |[a]| {
                let seen = |o: usize| (0..3).filter_map(move |k| a.within([(o + k) as i64 - 1]));
                vec![
                    table([6], |[o]| greatest(seen(o))),
                    table([6], |[o]| -greatest(seen(o).map(|value| -value))),
                    table([6], |[o]| seen(o).product()),
                    table([6], |[o]| seen(o).sum()),
                ]
            };
        pooled ["2 | 4, 6, 2"]
            |_, [a]| vec![a.max("... | 2*h<+x, 3*w<+y, c => ... | h, w, c").set_size("x", 2).set_size("y", 3)],
            |[a]| vec![table([2, 2, 2, 2], |[n, h, w, c]| {
                greatest((0..6).map(|at| a.at([n, 2 * h + at / 3, 3 * w + at % 3, c])))
            })];
        two_dimensions ["2 | 4, 5, 2", "2, 3, 2 -> 3"]
            |b, [x, k]| vec![b.einsum(
                "... | oh<+kh, ow<+kw, ..ic..; kh, kw, ..ic.. -> ..oc.. => ... | oh, ow, ..oc..", &[x, k],
            )],
            |[a, k]| vec![table([2, 3, 3, 3], |[n, h, w, o]| {
                sum(2, |x| sum(3, |y| sum(2, |c| a.at([n, h + x, w + y, c]) * k.at([o, x, y, c]))))
            })];
        written_to_a_window ["4", "3"] |b, [x, k]| vec![b.einsum("o; k => 2*o<+k", &[x, k])],
            |[a, w]| vec![table([9], |[at]| {
                sum(4, |o| sum(3, |k| if 2 * o + k == at { a.at([o]) * w.at([k]) } else { 0.0 }))
            })];
        rows_one_after_another ["3, 4"] |_, [a]| vec![a.sum("i, j => 4*i<+j")],
            |[a]| vec![table([12], |[at]| a.at([at / 4, at % 4]))];
    }
}

mod parts {
    use super::*;

    cases! {
        joined_outputs ["3", "2", "1"] |b, [x, y, z]| vec![b.einsum("a; b; c => a^b^c", &[x, y, z])],
            |[a, b, c]| vec![[&a.values[..], &b.values, &c.values].concat()];
        joined_inputs ["3 -> 2", "4 -> 2"] |b, [x, y]| vec![b.einsum("a -> o; b -> o => a^b -> o", &[x, y])],
            |[a, b]| vec![table([2, 7], |[o, i]| if i < 3 { a.at([o, i]) } else { b.at([o, i - 3]) })];
        joined_batches ["2 | 3", "4 | 3"] |b, [x, y]| vec![b.einsum("a | ...; b | ... => a^b | ...", &[x, y])],
            |[a, b]| vec![[&a.values[..], &b.values].concat()];
        joined_in_the_middle ["2, 3, 2", "2, 1, 2"]
            |b, [x, y]| vec![b.einsum("x, a, y; x, b, y => x, a^b, y", &[x, y])],
            |[a, b]| vec![table([2, 4, 2], |[x, at, y]| if at < 3 { a.at([x, at, y]) } else { b.at([x, 0, y]) })];
        blocks ["2, 3", "2, 2", "1, 3", "1, 2"]
            |b, [x, y, z, w]| vec![b.einsum("a, c; a, d; b, c; b, d => a^b, c^d", &[x, y, z, w])],
            |[a, b, c, d]| vec![table([3, 5], |[i, j]| match (i < 2, j < 3) {
                (true, true) => a.at([i, j]),
                (true, false) => b.at([i, j - 3]),
                (false, true) => c.at([i - 2, j]),
                (false, false) => d.at([i - 2, j - 3]),
            })];
        blocks_on_the_diagonal ["2, 3", "1, 2"] |b, [x, y]| vec![b.einsum("a, c; b, d => a^b, c^d", &[x, y]) * 2.0],
            |[a, d]| vec![table([3, 5], |[i, j]| match (i < 2, j < 3) {
                (true, true) => 2.0 * a.at([i, j]),
                (false, false) => 2.0 * d.at([i - 2, j - 3]),
                _ => 0.0,
            })];
        joined_by_the_greatest ["3", "2, 4"]
            |b, [x, y]| by(b, Accumulate::Max, Combine::Product, "a; b, k => a^b", &[x, y]),
            |[a, b]| vec![table([5], |[i]| {
                if i < 3 { a.at([i]) } else { greatest((0..4).map(|k| b.at([i - 3, k]))) }
            })];
        gaps ["3"] |_, [a]| vec![a.sum("a => 2^a^3"), a.max("a => 2^a^3")],
            |[a]| vec![
                table([8], |[i]| if (2..5).contains(&i) { a.at([i - 2]) } else { 0.0 }),
                table([8], |[i]| if (2..5).contains(&i) { a.at([i - 2]) } else { f64::NEG_INFINITY }),
            ];
        a_part ["8"] |_, [a]| vec![a.sum("2^a^3 => a"), a.sum("3^a => a")],
            |[a]| vec![a.values[2..5].to_vec(), a.values[3..].to_vec()];
        split ["2 | 7"]
            |b, [x]| {
                let parts = b.split("... | a^b => ... | a; ... | b", &[x]);
                vec![parts[0].set_size("a", 3), parts[1]]
            },
            |[a]| vec![table([2, 3], |[n, i]| a.at([n, i])), table([2, 4], |[n, i]| a.at([n, i + 3]))];
        another_shape ["12", "3, 4"]
            |b, [x, y]| {
                let other = b.with(|graph| graph.convert(x.tensor(), 1, 1));
                vec![other + y]
            },
            |[a, b]| vec![table([3, 4], |[i, j]| a.at([4 * i + j]) + b.at([i, j]))];
    }
}

/// Rows of a table, repeatedly and in any order, and rows of a computed table.
#[test]
fn rows_that_are_looked_up() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let b = Builder::new();
        let numbers: Vec<f32> = (0..12).map(|at| at as f32).collect();
        let table = b.array("table", "4 -> 3", Array::from_slice(&[3, 4], &numbers)?);
        let ids = b.array("ids", "2, 3 |", Array::from_slice(&[2, 3], &[3i64, 0, 3, 1, 2, 3])?);
        let (plain, computed) = (table.gather(ids).tensor(), (table * 2.0).gather(ids).tensor());
        let mut session = Session::with(b.finish()?, settings)?;
        let mut routine = Routine::new("rows");
        routine.forward(plain).forward(computed);
        session.run(&routine)?;
        // Element `o` of row `i` is `4 * o + i`.
        let rows = [3.0, 0.0, 3.0, 1.0, 2.0, 3.0];
        let wanted: Vec<f64> = rows.iter().flat_map(|row| [*row, row + 4.0, row + 8.0]).collect();
        assert_eq!(session.get(plain)?.to_f64s(), wanted, "{treatment}");
        let doubled: Vec<f64> = wanted.iter().map(|value| 2.0 * value).collect();
        assert_eq!(session.get(computed)?.to_f64s(), doubled, "{treatment}");
    }
    Ok(())
}

/// A slice whose position changes from run to run.
#[test]
fn slices_at_a_position_supplied_to_the_run() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let b = Builder::new();
        let x = b.array("x", "3 | 2", Array::from_slice(&[3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?);
        let (first, second) =
            (x.slice(SliceIndex::Run { range: None }), (x * 10.0).slice(SliceIndex::Run { range: Some(3) }));
        let (first, second, both) = (first.tensor(), second.tensor(), (first + second).tensor());
        let mut session = Session::with(b.finish()?, settings)?;
        let mut routine = Routine::new("slices");
        routine.forward(both);
        for (one, other, wanted) in [(0, 2, [51.0, 62.0]), (2, 2, [55.0, 66.0]), (1, 0, [13.0, 24.0])] {
            session.set_position(first, one)?;
            session.set_position(second, other)?;
            session.run(&routine)?;
            assert_eq!(session.get(both)?.to_f64s(), wanted, "{treatment}: {one} and {other}");
        }
    }
    Ok(())
}
