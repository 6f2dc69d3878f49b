//! Contractions: nests that are one sum of products, which a kernel of the runtime carries out.
//!
//! A nest `c[…] += a[…] * b[…]`, or `let t = 0; for …: t += a[…] * b[…]; c[…] = t`, is classified
//! by the operands that each loop moves along. Matrix products, batched or not, convolutions and
//! all their gradients have this form:
//!
//! | loop moves | it is one of the |
//! |---|---|
//! | a, b and c | batch |
//! | c and a | rows |
//! | c and b | columns |
//! | not c | steps of the sum |
//!
//! If a sum does not start from 0, or its result is processed further, nests before and after it do
//! that.

use broadloom_core::projection::is_in_order;
use broadloom_loops::function::Unary;
use broadloom_loops::{Binary, Dtype, Local, Program, Size};

use crate::flat::{Access, FlatStatement, Looped, Value};
use crate::order::{Bare, chain, is_injective, nested};
use crate::types::{self, Real};

/// One sum of products.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Contraction {
    /// The type that is computed with.
    pub real: Real,
    pub a: Access,
    pub b: Access,
    pub c: Access,
    /// True if the products are added to the contents of c.
    pub accumulate: bool,
    /// A number that all products are multiplied by.
    pub alpha: f64,
    /// Values that all products are multiplied by and that no loop changes.
    pub factors: Vec<Value>,
    pub batch: Vec<Bare>,
    pub rows: Vec<Bare>,
    pub columns: Vec<Bare>,
    pub steps: Vec<Bare>,
    /// For batch, rows and columns: true if different indices never write the same cell of c.
    pub split: [bool; 3],
}

/// A part of a nest that has a function, or a kernel, of its own.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Unit {
    Loops(Vec<FlatStatement>),
    Contraction(Box<Contraction>),
}

/// Below this many products for each index of the batch, loops are as good.
const LEAST_PRODUCTS: f64 = 1024.0;
/// The most entries of the tables of one group of loops, where their number is known.
const MOST_ENTRIES: i64 = 1 << 24;

/// A step as a contraction with the parts before and after it, if it is one and the kernel pays
/// off.
pub(crate) fn contraction(program: &Program, step: &FlatStatement) -> Option<Vec<Unit>> {
    let worth = |unit: &Unit| match unit {
        Unit::Contraction(found) => found.is_worth_it(),
        Unit::Loops(_) => true,
    };
    contracted(program, step).filter(|units| units.iter().all(worth))
}

/// A step as a contraction with the parts before and after it, if it is one.
fn contracted(program: &Program, step: &FlatStatement) -> Option<Vec<Unit>> {
    let FlatStatement::Loop(each) = step else { return None };
    let (outer, leaf) = chain(each.clone());
    match leaf.as_slice() {
        [FlatStatement::Store { to, accumulate: Some(Binary::Add), value }] => {
            let found = classify(program, &outer, to, true, (value, Product::default()))?;
            Some(vec![Unit::Contraction(Box::new(found))])
        }
        [
            FlatStatement::Declare { local, value: start },
            FlatStatement::Loop(sum),
            FlatStatement::Store { to, accumulate, value: finish },
        ] => {
            let real = types::local(program, step, *local);
            summed(program, &outer, (*local, real, start), sum, (to, *accumulate, finish))
        }
        _ => None,
    }
}

/// A contraction whose sum is kept in a variable.
fn summed(
    program: &Program,
    outer: &[Bare],
    (local, real, start): (Local, Real, &Value),
    sum: &Looped,
    (to, accumulate, finish): (&Access, Option<Binary>, &Value),
) -> Option<Vec<Unit>> {
    let (inner, leaf) = chain(sum.clone());
    let [FlatStatement::Update { local: updated, accumulate: Some(Binary::Add), value }] = leaf.as_slice()
    else {
        return None;
    };
    if *updated != local || !is_injective(to, outer) {
        return None;
    }
    let from_zero = *start == Value::Number(0.0);
    // The kernel multiplies by what the sum is multiplied by in the end.
    let mut product = Product::default();
    let scaled = from_zero && product.scales(local, finish, outer);
    if !scaled {
        product = Product::default();
    }
    let plain = scaled || *finish == Value::Local(local);
    let accumulates = match accumulate {
        None => false,
        Some(Binary::Add) if scaled => true,
        Some(Binary::Sub) if scaled => {
            product.alpha = -product.alpha;
            true
        }
        Some(_) => return None,
    };
    let loops: Vec<Bare> = outer.iter().chain(&inner).copied().collect();
    let found = classify(program, &loops, to, accumulates || !from_zero, (value, product))?;
    let everywhere = |value: Value| {
        let store = FlatStatement::Store { to: to.clone(), accumulate: None, value };
        Unit::Loops(nested(outer.to_vec(), vec![store]))
    };
    if (!plain || !from_zero) && !may_hold(program, to, real, local, [start, finish]) {
        return None;
    }
    let mut units = Vec::new();
    if !from_zero {
        units.push(everywhere(start.clone()));
    }
    units.push(Unit::Contraction(Box::new(found)));
    if !plain {
        units.push(everywhere(with_local(finish, local, &Value::Load(to.clone()))));
    }
    Some(units)
}

/// Returns true if a cell can hold the sum while it grows: it rounds no more than a variable would,
/// and the parts before and after use nothing else that changes.
pub(crate) fn may_hold(
    program: &Program,
    to: &Access,
    real: Real,
    local: Local,
    values: [&Value; 2],
) -> bool {
    let exact = match program.buffer(to.buffer).dtype {
        Dtype::F64 => true,
        Dtype::F32 => real == Real::F32,
        _ => false,
    };
    let mut fine = exact;
    for value in values {
        value.each_access(&mut |access| fine &= access.buffer != to.buffer);
        value.each(&mut |value| fine &= !matches!(value, Value::Local(other) if *other != local));
    }
    fine && !values[0].uses(local)
}

/// A value with a variable replaced.
pub(crate) fn with_local(value: &Value, local: Local, by: &Value) -> Value {
    let inner = |value: &Value| Box::new(with_local(value, local, by));
    match value {
        Value::Local(known) if *known == local => by.clone(),
        Value::Unary(function, a) => Value::Unary(*function, inner(a)),
        Value::Binary(function, a, b) => Value::Binary(*function, inner(a), inner(b)),
        Value::Select(a, b, c) => Value::Select(inner(a), inner(b), inner(c)),
        _ => value.clone(),
    }
}

/// The parts of a product.
struct Product<'a> {
    alpha: f64,
    moving: Vec<&'a Access>,
    factors: Vec<Value>,
}

impl Default for Product<'_> {
    fn default() -> Self {
        Product { alpha: 1.0, moving: Vec::new(), factors: Vec::new() }
    }
}

impl<'a> Product<'a> {
    /// Takes all factors of a product but a variable. Returns false if the value is not the variable times what no loop changes.
    fn scales(&mut self, local: Local, value: &'a Value, loops: &[Bare]) -> bool {
        match value {
            Value::Local(known) => *known == local,
            Value::Unary(Unary::Neg, a) => {
                self.alpha = -self.alpha;
                self.scales(local, a, loops)
            }
            Value::Binary(Binary::Mul, a, b) => {
                let (sum, factor) = if a.uses(local) { (a, b) } else { (b, a) };
                self.scales(local, sum, loops) && self.take(factor, loops) && self.moving.is_empty()
            }
            _ => false,
        }
    }

    /// Splits a product into its parts. Returns false if the value is not a product.
    fn take(&mut self, value: &'a Value, loops: &[Bare]) -> bool {
        match value {
            Value::Number(number) => self.alpha *= number,
            Value::Unary(Unary::Neg, a) => {
                self.alpha = -self.alpha;
                return self.take(a, loops);
            }
            Value::Binary(Binary::Mul, a, b) => return self.take(a, loops) && self.take(b, loops),
            Value::Binary(Binary::Div, a, b) => {
                let Value::Number(number) = **b else { return false };
                self.alpha /= number;
                return self.take(a, loops);
            }
            Value::Load(access) if access.gathers.is_empty() => {
                if loops.iter().any(|(var, ..)| access.depends_on(*var)) {
                    self.moving.push(access);
                } else {
                    self.factors.push(value.clone());
                }
            }
            Value::Symbol(_) => self.factors.push(value.clone()),
            _ => return false,
        }
        true
    }
}

fn classify<'a>(
    program: &Program,
    loops: &[Bare],
    to: &Access,
    accumulate: bool,
    (value, mut product): (&'a Value, Product<'a>),
) -> Option<Contraction> {
    if !product.take(value, loops) {
        return None;
    }
    let [a, b] = product.moving.as_slice() else { return None };
    let mut real = Real::F32;
    let mut suits = true;
    for access in [*a, *b, to] {
        let dtype = program.buffer(access.buffer).dtype;
        suits &= access.is_affine() && dtype.is_float();
        real = if dtype == Dtype::F64 { Real::F64 } else { real };
    }
    for factor in &product.factors {
        factor.each_access(&mut |access| {
            let dtype = program.buffer(access.buffer).dtype;
            suits &= access.is_affine() && access.buffer != to.buffer && dtype != Dtype::F64;
        });
    }
    if !suits || a.buffer == to.buffer || b.buffer == to.buffer {
        return None;
    }
    let mut found = Contraction {
        real,
        a: (*a).clone(),
        b: (*b).clone(),
        c: to.clone(),
        accumulate,
        alpha: product.alpha,
        factors: product.factors,
        batch: Vec::new(),
        rows: Vec::new(),
        columns: Vec::new(),
        steps: Vec::new(),
        split: [false; 3],
    };
    for each in loops.iter().filter(|(_, extent, _)| *extent != 1) {
        let moves = |access: &Access| access.stride(each.0) != 0;
        let group = match (moves(to), moves(a), moves(b)) {
            (true, true, true) => &mut found.batch,
            (true, true, false) => &mut found.rows,
            (true, false, _) => &mut found.columns,
            (false, ..) => &mut found.steps,
        };
        group.push(*each);
    }
    found.cut();
    found.sort();
    Some(found)
}

fn entries(loops: &[Bare]) -> Size {
    loops.iter().map(|(_, extent, _)| *extent).product()
}

impl Contraction {
    /// The number of products.
    pub fn work(&self) -> f64 {
        [&self.batch, &self.rows, &self.columns, &self.steps]
            .into_iter()
            .map(|group| entries(group).typical() as f64)
            .product()
    }

    /// Finds the loops along which the work can be shared among threads.
    fn cut(&mut self) {
        let separate = |found: &Contraction, group: &[Bare]| {
            let all = found.batch.iter().chain(&found.rows).chain(&found.columns);
            let others: Vec<Bare> = all.filter(|each| !group.contains(each)).copied().collect();
            !group.is_empty() && is_separate(&found.c, group, &others)
        };
        if !separate(self, &self.rows) && !separate(self, &self.columns) {
            // A scatter: perhaps some of its loops write separate cells, and can be shared as a
            // batch.
            for from_rows in [true, false] {
                let group = if from_rows { self.rows.clone() } else { self.columns.clone() };
                let (apart, rest): (Vec<Bare>, Vec<Bare>) =
                    group.into_iter().partition(|each| separate(self, std::slice::from_ref(each)));
                self.batch.extend(apart);
                *(if from_rows { &mut self.rows } else { &mut self.columns }) = rest;
            }
        }
        self.split = [separate(self, &self.batch), separate(self, &self.rows), separate(self, &self.columns)];
    }

    /// Sorts the loops of each group into the order of memory.
    fn sort(&mut self) {
        let (a, b, c) = (&self.a, &self.b, &self.c);
        let far =
            |access: &Access, each: &Bare| std::cmp::Reverse(access.stride(each.0).typical().unsigned_abs());
        self.batch.sort_by_key(|each| far(c, each));
        self.rows.sort_by_key(|each| far(c, each));
        self.columns.sort_by_key(|each| far(c, each));
        self.steps.sort_by_key(|each| far(a, each).min(far(b, each)));
    }

    /// Returns true if the kernel is faster than loops would be, and its tables are not too large.
    fn is_worth_it(&self) -> bool {
        let groups = [&self.batch, &self.rows, &self.columns, &self.steps];
        let products = self.work() / entries(&self.batch).typical() as f64;
        // Along a batch whose cells are neighbours, loops make better use of vectors.
        let neighbours = self.batch.iter().any(|(var, ..)| self.c.stride(*var).distance() == Some(Size::ONE));
        let fits =
            |group: &&Vec<Bare>| entries(group).as_number().is_none_or(|entries| entries <= MOST_ENTRIES);
        products >= LEAST_PRODUCTS
            && entries(&self.steps).typical() >= 4
            && groups.iter().all(fits)
            && !(neighbours && (self.rows.is_empty() || self.columns.is_empty()))
    }
}

/// Returns true if different indices of a group of loops never address the same cell, whatever the
/// indices of the others.
fn is_separate(access: &Access, group: &[Bare], others: &[Bare]) -> bool {
    let reach = |loops: &[Bare]| -> Option<Size> {
        loops.iter().map(|(var, extent, _)| Some(access.stride(*var).distance()? * (*extent - 1))).sum()
    };
    let mut all = group.to_vec();
    all.extend(others);
    if is_injective(access, &all) {
        return true;
    }
    let (Some(far), Some(own)) = (reach(others), reach(group)) else { return false };
    // The group moves further than the others reach.
    let above = is_in_order(far, group.iter().map(|(var, extent, _)| (access.stride(*var), *extent)));
    // The others move in steps that are longer than the group reaches.
    let step = || common_step(others.iter().map(|(var, ..)| access.stride(*var)));
    above || (is_injective(access, group) && step().is_some_and(|step| own.below(step)))
}

/// A size that all strides are multiples of: their greatest common divisor if they are numbers,
/// else one of them.
fn common_step(strides: impl Iterator<Item = Size> + Clone) -> Option<Size> {
    let numbers: Option<Vec<i64>> = strides.clone().map(|stride| stride.as_number()).collect();
    if let Some(numbers) = numbers {
        return Some(numbers.into_iter().fold(0, |step, stride| gcd(step, stride.abs())).into());
    }
    let step = strides.clone().min_by_key(|stride| stride.typical())?;
    let divides = |stride: Size| stride.divided_by(step).is_some();
    if strides.into_iter().all(divides) { step.distance() } else { None }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
