//! Gradients against finite differences, for every operation and every operand.
//!
//! A case is a line: a name, the shapes of its operands, and a function of them. Its loss is the
//! sum of the result times fixed random weights. Gradients are computed in each way to run a
//! program, in 64 and in 32 bits, and compared with central differences in 64 bits. Operands hold
//! numbers of which no two have the same size and none is near 0, so that small changes cross no
//! kink and no tie.
//!
//! ```text
//! product ["3 -> 2", "4 -> 3"] |_, [a, b]| a.compose(b);
//! ```

use std::cell::RefCell;

use broadloom::{
    Accumulate, Along, Array, Builder, Combine, Dtype, Error, Expr, Graph, Initial, Kind, Operation, Padding,
    Pointwise, Routine, Session, Settings, SliceIndex, SpecOptions, Tensor,
};
use broadloom_testing::Dice;

use crate::numbers;
use numbers::{apart, array, close, declared, memory, treatments};

/// The distance by which an operand is moved to each side.
const STEP: f64 = 1e-5;

/// The types in which gradients are computed, and their tolerances against the difference
/// quotients.
const TYPES: [(Dtype, f64); 2] = [(Dtype::F64, 1e-7), (Dtype::F32, 1e-3)];

/// The tools that cases are built with.
struct Made<'b> {
    builder: &'b Builder,
    /// The positions of run-time slices.
    positions: RefCell<Vec<(Tensor, u64)>>,
}

impl<'b> Made<'b> {
    fn graph(
        &self,
        operands: &[Expr<'b>],
        make: impl FnOnce(&mut Graph, &[Tensor]) -> Result<Tensor, Error>,
    ) -> Expr<'b> {
        let tensors: Vec<Tensor> = operands.iter().map(|operand| operand.tensor()).collect();
        self.builder.with(|graph| make(graph, &tensors))
    }

    fn pointwise(&self, name: &'static str, operands: &[Expr<'b>]) -> Expr<'b> {
        self.graph(operands, |graph, tensors| graph.pointwise(name, tensors))
    }

    fn einsum(&self, spec: &str, operands: &[Expr<'b>]) -> Expr<'b> {
        self.builder.einsum(spec, operands)
    }

    fn by(&self, accumulate: Accumulate, combine: Combine, spec: &str, operands: &[Expr<'b>]) -> Expr<'b> {
        let options = SpecOptions { accumulate, combine, ..SpecOptions::default() };
        self.builder.einsum_with(spec, operands, &options)
    }

    fn apply_by(&self, operation: &Operation, spec: &str, operands: &[Expr<'b>]) -> Expr<'b> {
        self.graph(operands, |graph, tensors| {
            graph.apply_by(operation, spec, tensors, &SpecOptions::default())
        })
    }

    fn ids(&self, shape: &str, sizes: &[u64], ids: &[i64]) -> Expr<'b> {
        self.builder.array("ids", shape, Array::from_slice(sizes, ids).expect("as many as the sizes say"))
    }

    fn slice_when_run(&self, operand: Expr<'b>, range: Option<u64>, position: u64) -> Expr<'b> {
        let slice = operand.slice(SliceIndex::Run { range });
        self.positions.borrow_mut().push((slice.tensor(), position));
        slice
    }
}

/// A graph with a loss, the operands in it, and the positions of its slices.
struct Program {
    graph: Graph,
    operands: Vec<Tensor>,
    values: Vec<Array>,
    weights: (Tensor, Array),
    positions: Vec<(Tensor, u64)>,
    loss: Tensor,
}

type Build<const N: usize> = for<'b> fn(&Made<'b>, [Expr<'b>; N]) -> Expr<'b>;

fn program<const N: usize>(dtype: Dtype, shapes: [&str; N], build: Build<N>) -> Result<Program, Error> {
    let mut random = Dice::new(7);
    let builder = Builder::new();
    builder.with(|graph| {
        graph.set_default_precision(dtype);
        Ok(graph.number(0.0))
    });
    let names = ["a", "b", "c", "d"];
    let operands: [Expr<'_>; N] = std::array::from_fn(|at| builder.param_shaped(names[at], shapes[at]));
    let made = Made { builder: &builder, positions: RefCell::default() };
    let result = build(&made, operands).tensor();
    let (operands, positions) = (operands.map(Expr::tensor), made.positions.into_inner());
    let mut graph = builder.finish()?;
    let shape = graph.final_shape(result)?;
    let weights = graph.data("weights", &declared(&shape))?;
    let weighted = graph.mul(result, weights)?;
    let loss = graph.einsum("... | ... -> ... =>", &[weighted])?;
    let numbers: Vec<f64> = (0..shape.elements()).map(|_| random.signed()).collect();
    let weights = (weights, array(&memory(&shape), &numbers));
    let mut values = Vec::new();
    let elements: Vec<_> = operands.iter().map(|each| graph.final_shape(*each)).collect::<Result<_, _>>()?;
    let total: u64 = elements.iter().map(|shape| shape.elements()).sum();
    let mut all = apart(&mut random, total as usize).into_iter();
    for shape in &elements {
        let own: Vec<f64> = all.by_ref().take(shape.elements() as usize).collect();
        values.push(array(&memory(shape), &own));
    }
    Ok(Program { graph, operands: operands.to_vec(), values, weights, positions, loss })
}

impl Program {
    /// A session with all values and positions set.
    fn session(self, settings: Settings) -> Result<(Session, Vec<Tensor>, Vec<Array>, Tensor), Error> {
        let Program { graph, operands, values, weights, positions, loss } = self;
        let mut session = Session::with(graph, settings)?;
        session.set(weights.0, &weights.1)?;
        operands.iter().zip(&values).try_for_each(|(tensor, values)| session.set(*tensor, values))?;
        positions.into_iter().try_for_each(|(slice, position)| session.set_position(slice, position))?;
        Ok((session, operands, values, loss))
    }

    /// The loss and its gradients by each operand.
    fn gradients(mut self, settings: Settings) -> Result<(f64, Vec<Vec<f64>>), Error> {
        let mut routine = Routine::new("gradients");
        routine.backward(&mut self.graph, self.loss)?;
        let gradients: Vec<Tensor> =
            self.operands.iter().map(|operand| self.graph.gradient(*operand)).collect::<Result<_, _>>()?;
        gradients.iter().for_each(|gradient| {
            routine.keep(*gradient);
        });
        let (mut session, _, _, loss) = self.session(settings)?;
        session.run(&routine)?;
        let loss = session.item(loss)?;
        let numbers = gradients.into_iter().map(|gradient| Ok(session.get(gradient)?.to_f64s()));
        Ok((loss, numbers.collect::<Result<_, Error>>()?))
    }

    /// The loss and its difference quotients.
    fn differences(self, settings: Settings) -> Result<(f64, Vec<Vec<f64>>), Error> {
        let (mut session, operands, values, loss) = self.session(settings)?;
        let mut routine = Routine::new("loss");
        routine.forward(loss);
        let mut quotients = Vec::new();
        for (operand, values) in operands.iter().zip(&values) {
            let numbers = values.to_f64s();
            let mut moved_to = |at: usize, by: f64| -> Result<f64, Error> {
                let mut moved = numbers.clone();
                moved[at] += by;
                session.set(*operand, &array(values.sizes(), &moved))?;
                session.run(&routine)?;
                session.item(loss)
            };
            let quotient = |at: usize| Ok((moved_to(at, STEP)? - moved_to(at, -STEP)?) / (2.0 * STEP));
            quotients.push((0..numbers.len()).map(quotient).collect::<Result<_, Error>>()?);
            session.set(*operand, values)?;
        }
        session.run(&routine)?;
        Ok((session.item(loss)?, quotients))
    }
}

/// Compares the gradients by every operand with difference quotients, in every way to run the program.
fn check<const N: usize>(shapes: [&str; N], build: Build<N>) -> Result<(), Error> {
    let [(_, judge), ..] = treatments();
    let (loss, quotients) = program(Dtype::F64, shapes, build)?.differences(judge)?;
    for ((dtype, tolerance), (way, settings)) in
        TYPES.iter().flat_map(|each| treatments().map(|way| (*each, way)))
    {
        let (found, gradients) = program(dtype, shapes, build)?.gradients(settings)?;
        assert!(close(found, loss, tolerance), "{way}, {dtype}: the loss is {found}, by the judge {loss}");
        for (operand, (gradients, quotients)) in gradients.iter().zip(&quotients).enumerate() {
            assert_eq!(gradients.len(), quotients.len());
            for (at, (gradient, quotient)) in gradients.iter().zip(quotients).enumerate() {
                assert!(
                    close(*gradient, *quotient, tolerance),
                    "{way}, {dtype}: the gradient by element {at} of operand {operand} is {gradient}, \
                     the difference quotient is {quotient}\n{gradients:?}\n{quotients:?}"
                );
            }
        }
    }
    Ok(())
}

/// Cases, one test each.
macro_rules! cases {
    ($($(#[$attribute:meta])* $name:ident $shapes:tt $build:expr;)*) => {
        $(
            $(#[$attribute])*
            #[test]
            fn $name() -> Result<(), Error> {
                check($shapes, $build)
            }
        )*
    };
}

mod own;
mod parts;
mod pointwise;
mod windows;

/// Broadcasting: gradients are summed over the missing axes.
mod broadcasting {
    use super::*;

    cases! {
        a_number ["2 | 3", "|"] |_, [a, b]| a * b;
        a_bias ["2, 3 | 4", "4"] |_, [a, b]| a / b;
        rows_of_different_kinds ["2 |", "3", "4 -> 3"] |_, [a, b, c]| (a - b) * c;
        both_sides_widen ["2, 1:unit", "1:unit, 3"] |_, [a, b]| a.maximum(b);
        a_unit_in_the_middle ["2, 1:unit, 3", "2, 4, 3"] |_, [a, b]| a / b;
        in_the_middle ["3, 4", "3, 2, 4"] |m, [a, b]| m.einsum("a, ..., b => a, ..., b", &[a]) * b;
        select_from_a_number ["4", "|", "3, 4"] |m, [a, b, c]| m.builder.select(a.greater(0.0), b, c);
        one_operand_twice ["4"] |_, [a]| a * a + a;
        one_operand_thrice ["3, 3"] |m, [a]| m.einsum("i j; j k; k l => i l", &[a, a, a]);
        by_a_constant ["2 | 3"] |m, [a]| a / m.builder.constant(3.0);
        by_positions ["2 | 3"] |m, [a]| a * m.builder.range("position", "n");
        by_a_size ["2 | 3, 4"] |_, [a]| a.square().mean("... | ..d.. => ... | 0", &["d"]);
    }
}

/// Composition and transposition.
mod composition {
    use super::*;

    cases! {
        matrices ["3 -> 2", "4 -> 3"] |_, [a, b]| a.compose(b);
        a_layer ["3 -> 2", "5 | 3"] |_, [a, b]| a.compose(b);
        several_axes ["3, 2 -> 4", "5 | 3, 2"] |_, [a, b]| a.compose(b);
        batches_of_both ["5 | 3 -> 2", "5 | 4 -> 3"] |_, [a, b]| a.compose(b);
        batches_that_broadcast ["3, 1:unit | 2 -> 2", "4 | 2"] |_, [a, b]| a.compose(b);
        the_right_side_broadcasts ["3, 4 -> 2", "4"] |_, [a, b]| a.compose(b);
        a_matrix_with_itself ["3 -> 3"] |_, [a]| a.compose(a);
        a_matrix_three_times ["3 -> 3"] |_, [a]| a.compose(a).compose(a);
        and_a_sum ["3 -> 2", "5 | 3", "5 | 2"] |m, [a, b, c]| {
            m.graph(&[a, b, c], |graph, t| graph.compose_accumulate(t[0], t[1], t[2]))
        };
        and_a_bias ["3 -> 2", "5 | 3", "2"] |m, [a, b, c]| {
            m.graph(&[a, b, c], |graph, t| graph.compose_accumulate(t[0], t[1], t[2]))
        };
        and_a_wider_sum ["3 -> 2", "3", "4 | 2"] |m, [a, b, c]| {
            m.graph(&[a, b, c], |graph, t| graph.compose_accumulate(t[0], t[1], t[2]))
        };
        transposed ["3 -> 2"] |_, [a]| a.transpose();
        transposed_in_a_batch ["4 | 3, 2 -> 2"] |_, [a]| a.transpose().square();
        by_its_transpose ["3 -> 2"] |_, [a]| a.compose(a.transpose());
        transposed_with_itself ["3 -> 3"] |_, [a]| a + a.transpose();
        two_layers ["3 -> 4", "4", "4 -> 2", "5 | 3"] |_, [w, bias, v, x]| v.compose((w.compose(x) + bias).relu());
    }
}

/// Operations by a spec, without windows and concatenations.
mod specs {
    use super::*;

    cases! {
        sum_of_everything ["2 | 3 -> 4"] |_, [a]| a.sum("... | ... -> ... =>");
        sum_of_one_axis ["3, 4"] |_, [a]| a.sum("i j => j");
        sum_with_a_unit ["2 | 3, 4"] |_, [a]| a * a.sum("... | i j => ... | 0");
        permuted ["2, 3, 4"] |_, [a]| a.sum("i j k => k i j");
        diagonal ["4, 4"] |_, [a]| a.sum("i i => i");
        trace ["4, 4"] |_, [a]| a.sum("i i =>");
        diagonal_of_three ["3, 3, 3"] |_, [a]| a.sum("i i i => i");
        diagonal_written ["4"] |_, [a]| a.sum("i => i i");
        column_read ["3, 4"] |_, [a]| a.sum("i 2 => i");
        column_written ["4"] |_, [a]| a.sum("i => i 2");
        wildcards ["2, 3, 4"] |_, [a]| a.sum("_ i _ => i");
        kinds_exchanged ["2, 3 | 4"] |_, [a]| a.sum("..r.. | i => i -> ..r..");
        a_label_of_the_result_alone ["3"] |_, [a]| a.sum("i => i j");
        product_of_two ["3, 4", "4, 5"] |m, [a, b]| m.einsum("i j; j k => i k", &[a, b]);
        product_of_three ["2, 3", "3, 4", "4, 2"] |m, [a, b, c]| m.einsum("i j; j k; k l => i l", &[a, b, c]);
        three_that_share_a_label ["3", "3, 2", "2, 3"] |m, [a, b, c]| m.einsum("i; i j; j i => j", &[a, b, c]);
        outer ["3", "4"] |m, [a, b]| m.einsum("i; j => i -> j", &[a, b]);
        outer_with_itself ["3"] |m, [a]| m.einsum("i; j => i j", &[a, a]);
        inner ["5", "5"] |m, [a, b]| m.einsum("i; i =>", &[a, b]);
        diagonal_of_a_product ["3, 3", "3"] |m, [a, b]| m.einsum("i i; i => i", &[a, b]);
        rows_of_axes ["8 | 3, 2", "3, 2 -> 4"] |m, [a, b]| m.einsum("... | ..r..; ..r.. -> o => ... | o", &[a, b]);
        a_sum_beside_a_product ["3, 4", "3"] |m, [a, b]| m.einsum("i j; i => i", &[a, b]);
        scores ["2, 3 | 2, 4", "2, 5 | 2, 4"] |m, [q, k]| {
            m.einsum("... s | h d; ... t | h d => ... s | t -> h", &[q, k])
        };
        by_a_vector_of_ones ["4"] |m, [a]| m.einsum("i; i =>", &[a, m.builder.constant(1.0)]);
    }
}

/// Other accumulations, and sums instead of products.
mod accumulations {
    use super::*;
    use Accumulate::{Max, Min, Product, Sum};

    cases! {
        greatest ["3, 4"] |_, [a]| a.max("i j => i");
        greatest_of_all ["3, 4"] |_, [a]| a.max("... =>");
        least ["3, 4"] |_, [a]| a.min("i j => j");
        product ["3, 4"] |_, [a]| a.product("i j => i");
        product_of_all ["2 | 4"] |_, [a]| a.product("... | ... =>");
        product_of_nothing_more ["4"] |_, [a]| a.product("i => i");
        greatest_product ["3, 4", "4"] |m, [a, b]| m.by(Max, Combine::Product, "i j; j => i", &[a, b]);
        least_product ["3, 4", "4, 2"] |m, [a, b]| m.by(Min, Combine::Product, "i j; j k => i k", &[a, b]);
        product_of_products ["2, 4", "4, 3"] |m, [a, b]| m.by(Product, Combine::Product, "i j; j k => i k", &[a, b]);
        greatest_sum ["3, 4", "4, 2"] |m, [a, b]| m.by(Max, Combine::Sum, "i j; j k => i k", &[a, b]);
        least_sum ["3, 4", "4, 2"] |m, [a, b]| m.by(Min, Combine::Sum, "i j; j k => i k", &[a, b]);
        sum_of_sums ["3, 4", "4, 2"] |m, [a, b]| m.by(Sum, Combine::Sum, "i j; j k => i k", &[a, b]);
        product_of_sums ["2, 4", "4, 3"] |m, [a, b]| m.by(Product, Combine::Sum, "i j; j k => i k", &[a, b]);
        greatest_sum_of_three ["3, 2", "2", "3"] |m, [a, b, c]| m.by(Max, Combine::Sum, "i j; j; i => i", &[a, b, c]);
        least_sum_of_products ["4"] |m, [a]| {
            let scaled = a * -0.7;
            m.by(Min, Combine::Sum, "a; q => q", &[scaled, a * scaled])
        };
        sum_of_choices ["3, 4", "4", "3, 4"] |m, [a, b, c]| m.by(Sum, Combine::Where, "i j; j; i j => i", &[a.greater(0.1), b, c]);
        greatest_choice ["3, 4", "4", "3, 4"] |m, [a, b, c]| m.by(Max, Combine::Where, "i j; j; i j => i", &[a.greater(0.1), b, c]);
        product_of_choices ["3, 4", "4", "3, 4"] |m, [a, b, c]| m.by(Product, Combine::Where, "i j; j; i j => i", &[a.greater(0.1), b, c]);
        product_with_zeros ["3, 4"] |_, [a]| (a * a.greater(0.1)).product("i j => i");
        product_on_a_diagonal ["3, 3"] |_, [a]| a.product("i i =>");
    }
}

/// Rows looked up by integers.
mod lookups {
    use super::*;

    cases! {
        rows ["5 -> 2"] |m, [a]| a.gather(m.ids("4 |", &[4], &[0, 4, 2, 1]));
        rows_again_and_again ["3 -> 2"] |m, [a]| a.gather(m.ids("2, 4 |", &[2, 4], &[1, 1, 2, 1, 0, 1, 1, 2])).square();
        rows_of_several_axes ["4 -> 2, 3"] |m, [a]| a.gather(m.ids("3 |", &[3], &[3, 0, 3]));
        numbers ["4 ->"] |m, [a]| a.gather(m.ids("5 |", &[5], &[3, 0, 3, 2, 3])).exp();
        rows_of_something_computed ["4 -> 2", "2"] |m, [a, b]| (a.exp() * b).gather(m.ids("3 |", &[3], &[1, 0, 1]));
        one_row ["4 -> 2"] |m, [a]| a.gather(m.ids("|", &[], &[2]));
        elements ["4, 2 | 3"] |m, [a]| {
            let ids = m.ids("2, 3 |", &[2, 3], &[1, 3, 1, 0, 1, 2]);
            m.graph(&[a, ids], |g, t| g.elements(t[0], t[1])).square()
        };
        taken_along_an_output ["2 | 4, 3"] |m, [a]| {
            let ids = m.ids("5 |", &[5], &[3, 0, 3, 2, 3]);
            m.graph(&[a.exp(), ids], |g, t| g.take(t[0], t[1], Along::first(Kind::Output)))
        };
        taken_along_a_batch_behind ["2, 4 | 3"] |m, [a]| {
            let ids = m.ids("2, 2 |", &[2, 2], &[3, 0, 3, 2]);
            m.graph(&[a, ids], |g, t| g.take(t[0], t[1], Along::last(Kind::Batch))).square()
        };
        taken_in_each_row ["2 | 3, 4", "|"] |m, [a, b]| {
            let ids = m.ids("2 | 3, 2", &[2, 3, 2], &[3, 0, 1, 1, 0, 2, 3, 3, 2, 1, 0, 0]);
            m.graph(&[a * b, ids], |g, t| g.take_along(t[0], t[1], Along::last(Kind::Output))).square()
        };
        taken_in_each_column ["4 | 3"] |m, [a]| {
            let ids = m.ids("2 | 3", &[2, 3], &[3, 0, 1, 3, 2, 1]);
            m.graph(&[a.tanh(), ids], |g, t| g.take_along(t[0], t[1], Along::first(Kind::Batch)))
        };
        scattered_sums ["5 | 3", "4 | 3"] |m, [a, b]| scattered(m, a.square(), Accumulate::Sum) * b;
        scattered_products ["5 | 3"] |m, [a]| scattered(m, a, Accumulate::Product);
        scattered_greatest ["5 | 2", "4 | 2"] |m, [a, b]| finite(scattered(m, a, Accumulate::Max)) * b;
        scattered_least ["5 | 2", "4 | 2"] |m, [a, b]| finite(scattered(m, a.exp(), Accumulate::Min)) * b;
        tied ["4 -> 3"] |m, [a]| a.transpose().compose(a.gather(m.ids("2 |", &[2], &[3, 1])));
    }
}

/// Elements put at integers, of which some are equal and one is nobody's.
fn scattered<'b>(m: &Made<'b>, x: Expr<'b>, accumulate: Accumulate) -> Expr<'b> {
    let ids = m.ids("5 |", &[5], &[1, 3, 1, 0, 3]);
    m.graph(&[x, ids], |graph, tensors| {
        let made = graph.scatter(tensors[0], tensors[1], accumulate)?;
        let size = graph.captured(made, "n")?;
        graph.set(size, 4)?;
        Ok(made)
    })
}

/// Squashes what may be infinite, where nothing was scattered to.
fn finite(x: Expr<'_>) -> Expr<'_> {
    x.tanh()
}

/// Recurrences over an axis.
mod recurrences {
    use super::*;
    use std::num::NonZeroU64;

    /// `h = tanh(w @ h + x)` over the first axis of `x`: all values, or the last one.
    fn scanned<'b>(m: &Made<'b>, [w, h, x]: [Expr<'b>; 3], all: bool, every: Option<u64>) -> Expr<'b> {
        m.graph(&[w, h, x], |graph, tensors| {
            let mut scan = graph.begin_scan(&[("h", tensors[1])], &[tensors[2]])?;
            every.and_then(NonZeroU64::new).into_iter().for_each(|turns| scan.checkpoint_every(turns));
            let turned = graph.compose(tensors[0], scan.carried[0])?;
            let sum = graph.add(turned, scan.elements[0])?;
            let next = graph.tanh(sum)?;
            let made = graph.end_scan(scan, &[next], &[next])?;
            Ok(if all { made.collected[0] } else { made.last[0] })
        })
    }

    cases! {
        all_values ["3 -> 3", "3", "5, 2 | 3"] |m, operands| scanned(m, operands, true, None);
        the_last_value ["3 -> 3", "3", "5, 2 | 3"] |m, operands| scanned(m, operands, false, None);
        a_note_every_second_turn ["3 -> 3", "3", "5 | 3"] |m, operands| scanned(m, operands, true, Some(2)).square();
        of_a_number ["3 -> 3", "|", "4 | 3"] |m, [w, h, x]| scanned(m, [w, h * 0.5, x.square()], true, None);
        prefix_products ["6 | 2"] |m, [x]| {
            let one = m.builder.constant(1.0);
            m.graph(&[one, x], |graph, tensors| {
                let scan = graph.begin_scan(&[("p", tensors[0])], &[tensors[1]])?;
                let next = graph.mul(scan.carried[0], scan.elements[0])?;
                Ok(graph.end_scan(scan, &[next], &[next])?.collected[0])
            })
        };
    }
}

/// Several operations at once.
mod together {
    use super::*;

    cases! {
        softmax ["2 | 5"] |_, [a]| {
            let shifted = (a - a.max("... | i => ... | 0")).exp();
            shifted / shifted.sum("... | i => ... | 0")
        };
        normalised ["2 | 5", "5"] |_, [a, gain]| {
            let centred = a - a.mean("... | i => ... | 0", &["i"]);
            let variance = centred.square().mean("... | i => ... | 0", &["i"]);
            gain * centred / (variance + 1e-5).sqrt()
        };
        attention ["3 | 4", "4 -> 2, 2", "4 -> 2, 2", "4 -> 2, 2"] |m, [x, q, k, v]| {
            let (q, k, v) = (q.compose(x), k.compose(x), v.compose(x));
            let scores = m.einsum("s | h d; t | h d => s | t -> h", &[q, k]).exp();
            let weights = scores / scores.sum("... | t -> ... => ... | 0 -> ...");
            m.einsum("s | t -> h; t | h e => s | h e", &[weights, v])
        };
        pooled_convolution ["7", "4", "|"] |m, [x, k, bias]| {
            let y = (m.einsum("o<+k; k => o", &[x, k]) + bias).relu();
            y.max("2*o<+w => o").set_size("w", 2)
        };
        through_and_around ["3 -> 3", "3"] |_, [w, x]| x + w.compose(x + w.compose(x).tanh()).tanh();
    }
}

/// From the values of the operands and the weights to the gradients.
type Wanted = fn(&[Vec<f64>], &[f64]) -> Vec<Vec<f64>>;

/// Compares the gradient by each operand with the expected one.
fn exactly<const N: usize>(shapes: [&str; N], build: Build<N>, wanted: Wanted) -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let made = program(Dtype::F64, shapes, build)?;
        let values: Vec<Vec<f64>> = made.values.iter().map(Array::to_f64s).collect();
        let weights = made.weights.1.to_f64s();
        let (_, gradients) = made.gradients(settings)?;
        let wanted = wanted(&values, &weights);
        for (found, wanted) in gradients.iter().flatten().zip(wanted.iter().flatten()) {
            assert!(close(*found, *wanted, 1e-14), "{treatment}: {found}, not {wanted}");
        }
    }
    Ok(())
}

/// Difference quotients do not show this: the value goes through, the gradient does not.
#[test]
fn gradients_stop_where_they_are_told_to() -> Result<(), Error> {
    exactly(
        ["5"],
        |_, [a]| a.stop_gradient() * a,
        |values, weights| vec![values[0].iter().zip(weights).map(|(a, weight)| a * weight).collect()],
    )?;
    exactly(
        ["5", "5"],
        |_, [a, b]| (a * b).exp().stop_gradient() + b,
        |_, weights| vec![vec![0.0; 5], weights.to_vec()],
    )
}

/// Equal candidates share the gradient: elements of a reduction, and operands.
#[test]
fn ties() -> Result<(), Error> {
    exactly(["4"], |_, [a]| (a * 0.0).max("i =>"), |_, _| vec![vec![0.0; 4]])?;
    exactly(["4"], |_, [a]| a.sign().square().max("i =>") * a, |_, weights| vec![weights.to_vec()])?;
    exactly(
        ["3", "3"],
        |_, [a, b]| (a - a.stop_gradient()).maximum(b - b.stop_gradient()),
        |_, weights| {
            let half: Vec<f64> = weights.iter().map(|weight| weight / 2.0).collect();
            vec![half.clone(), half]
        },
    )?;
    exactly(
        ["3"],
        |_, [a]| (a - a.stop_gradient()).max("i =>"),
        |_, weights| vec![vec![weights[0] / 3.0; 3]],
    )?;
    // Candidates in different parts of a concatenation share it too.
    exactly(
        ["2", "1"],
        |m, [a, b]| {
            let joined = m.einsum("a; b => a^b", &[a - a.stop_gradient(), b - b.stop_gradient()]);
            joined.max("a^b => ").set_size("a", 2)
        },
        |_, weights| vec![vec![weights[0] / 3.0; 2], vec![weights[0] / 3.0]],
    )?;
    exactly(["3"], |_, [a]| (a - a.stop_gradient()).relu(), |_, _| vec![vec![0.0; 3]])
}

/// The gradient of data and of an intermediate tensor, when it is requested.
#[test]
fn gradients_of_what_is_no_parameter() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        g.set_default_precision(Dtype::F64);
        let (x, w) = (g.data("x", "2")?, g.param_shaped("w", "2")?);
        g.set_initial(w, Initial::Values(array(&[2], &[3.0, 5.0])))?;
        let product = g.mul(x, w)?;
        let square = g.square(product)?;
        let loss = g.einsum("i =>", &[square])?;
        let unused = g.data("unused", "3")?;
        let mut routine = Routine::new("gradients");
        routine.backward(&mut g, loss)?;
        let asked = [x, w, product, loss, unused];
        let gradients: Vec<Tensor> = asked.iter().map(|each| g.gradient(*each)).collect::<Result<_, _>>()?;
        gradients.iter().for_each(|gradient| {
            routine.keep(*gradient);
        });
        let mut session = Session::with(g, settings)?;
        session.set(x, &array(&[2], &[1.0, -2.0]))?;
        session.run(&routine)?;
        let wanted = [vec![18.0, -100.0], vec![6.0, 40.0], vec![6.0, -20.0], vec![1.0], vec![0.0; 3]];
        for (gradient, wanted) in gradients.into_iter().zip(wanted) {
            assert_eq!(session.get(gradient)?.to_f64s(), wanted, "{treatment}");
        }
    }
    Ok(())
}

/// Operands at which an operation and its neighbourhood are defined, one list for each operand.
fn inside(operation: &Operation, random: &mut Dice, count: usize) -> Vec<Vec<f64>> {
    let arity = operation.arity();
    let mut chosen = vec![Vec::new(); arity];
    for attempt in 0..1000 {
        // Some are defined for larger numbers only.
        let beyond = if attempt < 500 { 0.0 } else { 2.5 };
        let operands: Vec<f64> = apart(random, arity).into_iter().map(|operand| operand + beyond).collect();
        let is_defined = |at: usize, by: f64| {
            let mut moved = operands.clone();
            moved[at] += by;
            operation.is_defined(&moved)
        };
        if chosen[0].len() < count && (0..arity).all(|at| is_defined(at, STEP) && is_defined(at, -STEP)) {
            chosen.iter_mut().zip(operands).for_each(|(list, operand)| list.push(operand));
        }
    }
    assert_eq!(chosen[0].len(), count, "{} is defined almost nowhere", operation.name());
    chosen
}

/// The gradients of the sum of an operation and its operands, by operand. Without the operands
/// themselves, a loss through an operation without gradients would depend on no parameter.
fn gradients_at(
    operation: &Operation,
    points: &[Vec<f64>],
    settings: Settings,
) -> Result<Vec<Vec<f64>>, Error> {
    let mut g = Graph::new();
    g.set_default_precision(Dtype::F64);
    let names = &["a", "b", "c"][..operation.arity()];
    let operands: Vec<Tensor> =
        names.iter().map(|name| g.param_shaped(name, "5")).collect::<Result<_, _>>()?;
    let mut total = g.pointwise(operation.name(), &operands)?;
    for operand in &operands {
        total = g.add(total, *operand)?;
    }
    let loss = g.einsum("... =>", &[total])?;
    let mut routine = Routine::new("gradients");
    routine.backward(&mut g, loss)?;
    let gradients: Vec<Tensor> =
        operands.iter().map(|operand| g.gradient(*operand)).collect::<Result<_, _>>()?;
    for gradient in &gradients {
        routine.keep(*gradient);
    }
    let mut session = Session::with(g, settings)?;
    for (operand, numbers) in operands.iter().zip(points) {
        session.set(*operand, &array(&[5], numbers))?;
    }
    session.run(&routine)?;
    gradients.into_iter().map(|gradient| Ok(session.get(gradient)?.to_f64s())).collect()
}

/// Gradients pass between types of floats, and through no others.
#[test]
fn of_casts() -> Result<(), Error> {
    exactly(
        ["3"],
        |_, [a]| a.to_f64() + a,
        |_, weights| vec![weights.iter().map(|weight| 2.0 * weight).collect()],
    )?;
    // The gradients of shorter floats have 32 bits, unless they are not stored.
    let shorter: [Build<1>; 3] = [
        |_, [a]| a.to_f32().to_f64() + a,
        |_, [a]| a.to_f16().to_f64() + a,
        |_, [a]| a.to_bf16().to_f64() + a,
    ];
    for (build, (treatment, settings)) in
        shorter.iter().flat_map(|build| treatments().map(|way| (build, way)))
    {
        let made = program(Dtype::F64, ["3"], *build)?;
        let (weights, (_, gradients)) = (made.weights.1.to_f64s(), made.gradients(settings)?);
        for (found, weight) in gradients.iter().flatten().zip(weights) {
            assert!(close(*found, 2.0 * weight, 1e-6), "{treatment}: {found}, not twice {weight}");
        }
    }
    exactly(["3"], |_, [a]| a.to_i64() + a, |_, weights| vec![weights.to_vec()])?;
    exactly(["3"], |_, [a]| a.to_u8() + a, |_, weights| vec![weights.to_vec()])?;
    exactly(["3"], |_, [a]| a.to_bool() + a, |_, weights| vec![weights.to_vec()])
}

/// Every operation of the table, at points of its domain: its gradient is the difference quotient of its value on numbers.
#[test]
fn every_operation_of_the_table() -> Result<(), Error> {
    let (mut random, [(_, judge), ..]) = (Dice::new(11), treatments());
    // `stop_gradient` has no gradient by design, casts have that of what they approximate or none, and floats have no bits.
    let is_smooth = |operation: &&Operation| {
        operation.name() != "stop_gradient" && operation.cast_to().is_none() && !operation.is_bitwise()
    };
    for operation in Operation::all().iter().filter(is_smooth) {
        let name = operation.name();
        let points = inside(operation, &mut random, 5);
        for (at, gradients) in gradients_at(operation, &points, judge.clone())?.iter().enumerate() {
            for (point, found) in gradients.iter().enumerate() {
                let moved_to = |by: f64| {
                    let mut moved: Vec<f64> = points.iter().map(|numbers| numbers[point]).collect();
                    moved[at] += by;
                    Pointwise::named(name).and_then(|row| row.value(&moved)).expect("it is in the table")
                };
                let quotient = 1.0 + (moved_to(STEP) - moved_to(-STEP)) / (2.0 * STEP);
                assert!(close(*found, quotient, 1e-7), "{name}, operand {at}: {found}, not {quotient}");
            }
        }
    }
    Ok(())
}
