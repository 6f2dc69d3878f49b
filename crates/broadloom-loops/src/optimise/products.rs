//! Products: a sum over products of several factors is computed in steps.
//!
//! `d[i, l] += a[i, j] * b[j, k] * c[k, l]` takes `i·j·k·l` steps as it stands. With
//!
//! ```text
//! t[i, k] += a[i, j] * b[j, k]
//! d[i, l] += t[i, k] * c[k, l]
//! ```
//!
//! it takes `i·k·(j + l)`, and each of the two goes to the kernel for matrices. A factor is whatever stands between the
//! signs, and what counts is which loops it depends on; so windows, lookups and the gradients of such products are
//! planned in the same way. The sum distributes over factors without its loops, up to rounding.
//!
//! All ways to take the factors two at a time are compared for up to [`FEW`] factors. Beyond, the two that leave the least
//! are taken next. Sizes that are arguments count at their samples. A step is worth it if the whole becomes clearly cheaper
//! and what it keeps in between is not much larger than what is there anyway.

use super::access::{Perfect, Scope};
use crate::buffer::{Buffer, Cell, Index, LoopSum, LoopVar, Storage};
use crate::function::{Binary, Unary};
use crate::program::{Nest, Program, Statement};
use crate::scalar::Scalar;
use crate::{Dtype, Size};

/// The most factors for which all ways are compared.
const FEW: usize = 8;
/// Intermediate results may have so many times the cells of the largest factor or of the result.
const LARGER: f64 = 4.0;
/// Intermediate results of so many cells are always allowed.
const SMALL: f64 = 65536.0;

/// Divides sums of products up. Costs are compared at these sizes of the arguments; without any, at typical ones. Returns
/// the number of steps that were added.
pub fn products(program: &mut Program, samples: &[u64]) -> usize {
    let mut steps = 0;
    for nest in std::mem::take(&mut program.nests) {
        let plan = Product::of(program, &nest, samples).and_then(|product| Some((product.plan()?, product)));
        match plan {
            Some((tree, product)) => steps += product.carry_out(program, &tree, &nest.comment),
            None => program.nests.push(nest),
        }
    }
    steps
}

/// A set of loops, by their places in the nest.
type Loops = u64;

/// A sum over a product of factors.
struct Product {
    loops: Scope,
    /// The numbers of iterations, at the samples.
    extents: Vec<f64>,
    cell: Cell,
    accumulate: Binary,
    /// The loops that the cell depends on, or that no factor does.
    result: Loops,
    factors: Vec<(Scalar, Loops)>,
    /// Factors that are the same everywhere.
    constants: Vec<Scalar>,
    /// The type of intermediate results.
    dtype: Dtype,
    /// The most cells that one may have.
    limit: f64,
}

/// An order in which factors are multiplied.
#[derive(Clone)]
enum Tree {
    Factor(usize),
    Both(Box<Tree>, Box<Tree>),
}

/// The cost of a step beside that of a product for the kernel, for each iteration.
fn weight(has_reduction: bool, a: Loops, b: Loops) -> f64 {
    if has_reduction && a & !b != 0 && b & !a != 0 { 1.0 } else { 2.0 }
}

impl Product {
    fn of(program: &Program, nest: &Nest, samples: &[u64]) -> Option<Product> {
        let Perfect { loops, cell, accumulate, value } = Perfect::of(nest)?;
        let accumulate = accumulate.filter(|function| matches!(function, Binary::Add | Binary::Sub))?;
        let target = program.buffer(cell.buffer);
        if loops.len() > Loops::BITS as usize || !target.dtype.is_float() {
            return None;
        }
        let place = |var: LoopVar| loops.iter().position(|(known, _)| *known == var);
        let (mut factors, mut constants) = (Vec::new(), Vec::new());
        for factor in flatten(value) {
            match mentioned(&factor, &place)? {
                0 => constants.push(factor),
                mentioned => factors.push((factor, mentioned)),
            }
        }
        let mut reads_itself = false;
        value.each_load(&mut |load| reads_itself |= load.buffer == cell.buffer);
        if factors.len() < 2 || reads_itself {
            return None;
        }
        let mut own = 0;
        mention_cell(cell, &place, &mut own)?;
        let all = factors.iter().fold(0, |all, (_, loops)| all | loops);
        let result = own | !all;
        let extents: Vec<f64> = loops.iter().map(|(_, extent)| iterations(*extent, samples)).collect();
        // Products of integers are exact as far as 64 bits go.
        let whole = factors.iter().any(|(factor, _)| factor.is_whole(&program.buffers) == Some(true));
        let dtype = if whole || target.dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
        let mut product = Product {
            loops,
            extents,
            cell: cell.clone(),
            accumulate,
            result,
            factors,
            constants,
            dtype,
            limit: 0.0,
        };
        let largest = product.factors.iter().map(|(_, loops)| product.points(*loops)).fold(0.0, f64::max);
        product.limit = SMALL.max(LARGER * largest.max(product.points(own)));
        Some(product)
    }

    /// The number of iterations of some loops.
    fn points(&self, loops: Loops) -> f64 {
        let taken = self.extents.iter().enumerate().filter(|(at, _)| loops >> at & 1 == 1);
        taken.map(|(_, extent)| extent).product()
    }

    /// The loops that are left of some factors, given as a set: those that others or the result depend on.
    fn left(&self, factors: u64) -> Loops {
        let of = |inside: bool| {
            let chosen =
                self.factors.iter().enumerate().filter(move |(at, _)| (factors >> at & 1 == 1) == inside);
            chosen.fold(0, |all, (_, (_, loops))| all | loops)
        };
        of(true) & (of(false) | self.result)
    }

    /// The cost of what is left of one factor: loops on which no other factor depends are summed first.
    fn alone(&self, at: usize) -> f64 {
        let loops = self.factors[at].1;
        if self.left(1 << at) == loops { 0.0 } else { weight(true, loops, 0) * self.points(loops) }
    }

    /// The cost of multiplying what is left of two sets of factors.
    fn step(&self, a: u64, b: u64) -> f64 {
        let (left, right) = (self.left(a), self.left(b));
        let both = left | right;
        let has_reduction = both != self.left(a | b);
        weight(has_reduction, left, right) * self.points(both)
    }

    /// True if what is left of some factors may be kept.
    fn is_small(&self, factors: u64) -> bool {
        self.points(self.left(factors)) <= self.limit
    }

    /// The best way in steps, if it is clearly better than one nest.
    fn plan(&self) -> Option<Tree> {
        let all: Loops = self.factors.iter().fold(0, |all, (_, loops)| all | loops);
        let at_once = match &self.factors[..] {
            [(_, a), (_, b)] => weight(all & !self.result != 0, *a, *b),
            _ => 4.0,
        };
        let (cost, tree) = if self.factors.len() <= FEW { self.best() } else { self.greedy() }?;
        (cost * 3.0 <= at_once * self.points(all) * 2.0).then_some(tree)
    }

    /// The cheapest way of all.
    fn best(&self) -> Option<(f64, Tree)> {
        let count = self.factors.len();
        let full = (1u64 << count) - 1;
        let mut known: Vec<Option<(f64, Tree)>> = vec![None; 1 << count];
        for factors in 1..=full {
            let mut best: Option<(f64, u64)> = None;
            if factors.count_ones() == 1 {
                let at = factors.trailing_zeros() as usize;
                known[factors as usize] = Some((self.alone(at), Tree::Factor(at)));
                continue;
            }
            if factors != full && !self.is_small(factors) {
                continue;
            }
            // Each way to divide the set in two, once: the part with its first factor.
            let first = factors & factors.wrapping_neg();
            let rest = factors ^ first;
            let mut others = rest;
            while others > 0 {
                let part = factors ^ others;
                if let (Some((a, _)), Some((b, _))) = (&known[part as usize], &known[others as usize]) {
                    let cost = a + b + self.step(part, others);
                    if best.is_none_or(|(least, _)| cost < least) {
                        best = Some((cost, part));
                    }
                }
                others = (others - 1) & rest;
            }
            known[factors as usize] = best.and_then(|(cost, part)| {
                let tree = |set: u64| known[set as usize].as_ref().map(|(_, tree)| Box::new(tree.clone()));
                Some((cost, Tree::Both(tree(part)?, tree(factors ^ part)?)))
            });
        }
        known.pop().flatten()
    }

    /// The next two are always those that leave the least beyond what they are made of.
    fn greedy(&self) -> Option<(f64, Tree)> {
        let count = self.factors.len();
        if count > Loops::BITS as usize {
            return None;
        }
        let mut parts: Vec<(u64, Tree)> = (0..count).map(|at| (1 << at, Tree::Factor(at))).collect();
        let mut cost: f64 = (0..count).map(|at| self.alone(at)).sum();
        while parts.len() > 1 {
            let mut best: Option<(f64, usize, usize)> = None;
            for b in 1..parts.len() {
                for a in 0..b {
                    let (left, right) = (parts[a].0, parts[b].0);
                    if parts.len() > 2 && !self.is_small(left | right) {
                        continue;
                    }
                    let points = |set: u64| self.points(self.left(set));
                    let grown = points(left | right) - points(left) - points(right);
                    if best.is_none_or(|(least, ..)| grown < least) {
                        best = Some((grown, a, b));
                    }
                }
            }
            let (_, a, b) = best?;
            let (right, second) = parts.remove(b);
            let (left, first) = parts.remove(a);
            cost += self.step(left, right);
            parts.push((left | right, Tree::Both(Box::new(first), Box::new(second))));
        }
        Some((cost, parts.pop()?.1))
    }

    /// Replaces the nest by steps. Returns how many it adds.
    fn carry_out(&self, program: &mut Program, tree: &Tree, comment: &str) -> usize {
        let before = program.buffers.len();
        let Tree::Both(a, b) = tree else { return 0 };
        let (a, left) = self.kept(program, a, comment);
        let (b, right) = self.kept(program, b, comment);
        let value =
            self.constants.iter().cloned().fold(Scalar::binary(Binary::Mul, a, b), |value, constant| {
                Scalar::binary(Binary::Mul, value, constant)
            });
        let loops = self.scope(left | right | self.result);
        let store = Statement::Store { cell: self.cell.clone(), accumulate: Some(self.accumulate), value };
        program
            .nests
            .push(Nest { comment: comment.to_string(), body: vec![store.within(loops.into_iter())] });
        program.buffers.len() - before
    }

    /// The value of some factors after sums over loops that only they use, computed by a step if it takes
    /// one, and the loops that it depends on.
    fn kept(&self, program: &mut Program, tree: &Tree, comment: &str) -> (Scalar, Loops) {
        let left = self.left(tree.factors());
        let (value, over) = match tree {
            Tree::Factor(at) => self.factors[*at].clone(),
            Tree::Both(a, b) => {
                let (a, left) = self.kept(program, a, comment);
                let (b, right) = self.kept(program, b, comment);
                (Scalar::binary(Binary::Mul, a, b), left | right)
            }
        };
        if matches!(tree, Tree::Factor(_)) && over == left {
            return (value, left);
        }
        let kept = self.scope(left);
        let name = program.step_name(&value);
        let sizes = kept.iter().map(|(_, extent)| *extent).collect();
        let (dtype, margins, storage) = (self.dtype, Vec::new(), Storage::Local);
        let buffer = program.add_buffer(Buffer { name, dtype, sizes, margins, fill: 0.0, storage });
        let index = kept.iter().map(|(var, _)| Index::At(LoopSum::new(Size::ZERO, [(Size::ONE, *var)])));
        let cell = Cell { buffer, index: index.collect() };
        let mut push = |body| program.nests.push(Nest { comment: format!("{comment}, in steps"), body });
        let accumulate = (over != left).then_some(Binary::Add);
        if accumulate.is_some() {
            push(vec![Statement::Fill { buffer, value: 0.0 }]);
        }
        // Reductions innermost.
        let loops = kept.into_iter().chain(self.scope(over & !left));
        let store = Statement::Store { cell: cell.clone(), accumulate, value };
        push(vec![store.within(loops.collect::<Scope>().into_iter())]);
        (Scalar::Load(cell), left)
    }

    /// Some of the loops, in their order.
    fn scope(&self, wanted: Loops) -> Scope {
        let places = self.loops.iter().enumerate();
        places.filter(|(at, _)| wanted >> at & 1 == 1).map(|(_, each)| *each).collect()
    }
}

impl Tree {
    /// The factors, as a set.
    fn factors(&self) -> u64 {
        match self {
            Tree::Factor(at) => 1 << at,
            Tree::Both(a, b) => a.factors() | b.factors(),
        }
    }
}

impl Program {
    /// A name for an intermediate result: the tensors that it is made of.
    fn step_name(&self, value: &Scalar) -> String {
        let mut names: Vec<&str> = Vec::new();
        value.each_load(&mut |cell| {
            let name = &self.buffer(cell.buffer).name;
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        });
        match &names[..] {
            [one] => format!("sum({one})"),
            _ => format!("({})", names.join(" * ")),
        }
    }
}

/// The number of iterations of a loop, at some sizes of the arguments.
fn iterations(extent: Size, samples: &[u64]) -> f64 {
    let at = if samples.is_empty() { None } else { extent.at(samples) };
    at.map_or_else(|| extent.typical() as f64, |number| number as f64).max(1.0)
}

/// The factors of a product.
fn flatten(value: &Scalar) -> Vec<Scalar> {
    match value {
        Scalar::Binary(Binary::Mul, a, b) => [flatten(a), flatten(b)].concat(),
        Scalar::Unary(Unary::Neg, a) => [flatten(a), vec![Scalar::Number(-1.0)]].concat(),
        other => vec![other.clone()],
    }
}

/// The loops that a scalar depends on. None if it depends on anything else.
fn mentioned(scalar: &Scalar, place: &impl Fn(LoopVar) -> Option<usize>) -> Option<Loops> {
    let mut loops = 0;
    mention(scalar, place, &mut loops)?;
    Some(loops)
}

fn mention(scalar: &Scalar, place: &impl Fn(LoopVar) -> Option<usize>, loops: &mut Loops) -> Option<()> {
    match scalar {
        Scalar::Local(_) => return None,
        Scalar::Load(cell) => mention_cell(cell, place, loops)?,
        Scalar::Position(sum) | Scalar::Uniform { at: sum, .. } => mention_sum(sum, place, loops)?,
        _ => {}
    }
    scalar.children().try_for_each(|child| mention(child, place, loops))
}

fn mention_cell(cell: &Cell, place: &impl Fn(LoopVar) -> Option<usize>, loops: &mut Loops) -> Option<()> {
    cell.index.iter().try_for_each(|index| match index {
        Index::At(sum) => mention_sum(sum, place, loops),
        Index::Symbol(_) => Some(()),
        Index::Value(inner) => mention_cell(inner, place, loops),
    })
}

fn mention_sum(sum: &LoopSum, place: &impl Fn(LoopVar) -> Option<usize>, loops: &mut Loops) -> Option<()> {
    for (_, var) in &sum.terms {
        *loops |= 1 << place(*var)?;
    }
    Some(())
}
