//! The judge of shapes, which compares the program with names with the program with numbers, at
//! given numbers.
//!
//! It checks the guarantees of `docs/shapes.md`. At numbers in the declared ranges, the program
//! with numbers is valid if and only if the ranges that the program with names has narrowed contain
//! them and its checks hold; then its shapes are those of the program with names at these numbers.
//! Setting the names to the numbers gives the same.
//!
//! Closing makes its choices once for all sizes; the program with numbers makes them for its own.
//! They may differ only
//!
//! - if two names, or a name and a number, happen to be equal. A leaf that is used at two sizes
//!   becomes a unit, but in the program with numbers both sizes are the same;
//! - in an axis of one element, which is a guess (a unit) for all sizes, and follows (`1`) from the
//!   given number;
//! - if the program with numbers has other axes, or a unit for an expression: then checks may fail.
//!   If they hold, the shapes must be the same.
//!
//! Setting the names to numbers has no such exception: it gives the program with numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use broadloom::{Axis, Error, ErrorKind, Graph, Shape, Shapes, Tensor};

use crate::symbolic::program::{Made, Program};

/// Counts of the possible outcomes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub programs: usize,
    /// Lines that both refused.
    pub refused: usize,
    /// Lines that the program with names gives up on, and the one with numbers does not.
    pub gave_up: usize,
    /// Lines that names refuse, and numbers do if they are large: the line is valid for some
    /// numbers only.
    pub for_some_sizes: usize,
    /// Lines whose validity depends on numbers, and that are not valid at the given ones.
    pub left_to_checks: usize,
    /// Pairs of programs with the same shapes.
    pub same: usize,
    /// Axes with an expression in these pairs.
    pub symbolic_axes: usize,
    /// Numbers at which neither program is valid.
    pub neither: usize,
    /// Pairs that differ because numbers happen to be equal.
    pub by_chance: usize,
    /// Pairs that differ by a unit for a size of one.
    pub units_for_ones: usize,
    /// Numbers at which the program with numbers is closed in another way, and the one with names
    /// is refused by a check.
    pub other_choices: usize,
}

/// The program with names, and its final shapes.
pub struct Named {
    pub made: Made,
    pub shapes: Arc<Shapes>,
}

impl Named {
    pub fn new(program: &Program) -> Result<Named, Error> {
        let mut made = program.build(None)?;
        let shapes = made.graph.final_shapes()?;
        Ok(Named { made, shapes })
    }

    pub fn tensors(&self) -> impl Iterator<Item = Tensor> {
        self.made.results.iter().flatten().copied()
    }
}

/// The program with numbers, with its shapes.
pub fn plain(program: &Program, numbers: &[u64]) -> Result<(Made, Arc<Shapes>), Error> {
    let mut made = program.build(Some(numbers))?;
    let shapes = made.graph.final_shapes()?;
    Ok((made, shapes))
}

/// Returns true if the program with names is valid at some numbers, by its ranges and checks.
pub fn allowed(program: &Program, graph: &mut Graph, pairs: &[(&str, u64)]) -> Result<bool, String> {
    for (name, number) in pairs {
        let (least, most) =
            graph.dim_range(name).ok_or_else(|| format!("`{name}` is declared and has no range"))?;
        if *number < least || most.is_some_and(|most| *number > most) {
            return Ok(false);
        }
    }
    for check in graph.runtime_checks().map_err(|error| error.to_string())? {
        match check.holds(pairs) {
            Some(true) => {}
            Some(false) => return Ok(false),
            None => return Err(format!("`{check}` is about something that has no number")),
        }
    }
    // A dynamic size may have become another size; then it has the number of that one.
    let dynamic = program.names.iter().any(|name| name.dynamic);
    Ok(!dynamic || graph.with_sizes(pairs).is_ok())
}

/// Checks the program at some numbers. The error describes the disagreement.
pub fn judge(
    program: &Program,
    named: &mut Named,
    numbers: &[u64],
    counts: &mut Counts,
) -> Result<(), String> {
    let pairs = program.pairs(numbers);
    let plain = plain(program, numbers);
    let allowed = allowed(program, &mut named.made.graph, &pairs)?;
    let set = named.made.graph.with_sizes(&pairs).and_then(|mut graph| graph.final_shapes());
    let (made, plain) = match (plain, allowed) {
        (Ok((made, plain)), false) => {
            let plain: Vec<Shape> = made.results.iter().flatten().map(|own| plain.get(*own)).collect();
            if named
                .tensors()
                .zip(&plain)
                .any(|(tensor, own)| chose_otherwise(&named.shapes.get(tensor), own))
            {
                counts.other_choices += 1;
                return Ok(());
            }
            return Err(refusal(named, &pairs));
        }
        (Err(error), _) if error.kind() == ErrorKind::GaveUp => return Ok(()),
        (Err(error), true) => return Err(format!("with numbers it is refused: {error}")),
        (Err(error), false) => {
            counts.neither += 1;
            let refused = set.is_err();
            return refused.then_some(()).ok_or(format!("with names set to numbers it is not: {error}"));
        }
        (Ok(plain), true) => plain,
    };
    let set =
        set.map_err(|error| format!("with numbers it is not refused, with names set to them: {error}"))?;
    for (tensor, own) in named.tensors().zip(made.results.iter().flatten()) {
        let (wanted, set) = (plain.get(*own), set.get(tensor));
        if set != wanted {
            return Err(format!("{own:?} is `{wanted}` with numbers, `{set}` with names set to them"));
        }
    }
    let plain: Vec<Shape> = made.results.iter().flatten().map(|own| plain.get(*own)).collect();
    let named: Vec<Shape> = named.tensors().map(|tensor| named.shapes.get(tensor)).collect();
    compare(&named, &plain, &pairs, counts)
}

/// Compares shapes with names, at some numbers, with shapes that have numbers.
pub fn compare(
    named: &[Shape],
    plain: &[Shape],
    pairs: &[(&str, u64)],
    counts: &mut Counts,
) -> Result<(), String> {
    let chance = by_chance(named, pairs);
    let mut count = &mut counts.same;
    for (at, (named, plain)) in named.iter().zip(plain).enumerate() {
        let found = named.at(pairs).ok_or_else(|| format!("result {at}, `{named}`, has no value"))?;
        counts.symbolic_axes += axes(named).filter(|axis| matches!(axis, Axis::Symbolic(..))).count();
        if found == *plain {
            continue;
        }
        if chance {
            count = &mut counts.by_chance;
        } else if has_units_for_ones(&found, plain) {
            count = &mut counts.units_for_ones;
        } else {
            return Err(format!("result {at}, `{named}`, is `{found}`; with numbers it is `{plain}`"));
        }
    }
    *count += 1;
    Ok(())
}

fn refusal(named: &mut Named, pairs: &[(&str, u64)]) -> String {
    let graph = &mut named.made.graph;
    let checks = graph.runtime_checks().map(|checks| checks.iter().map(|check| check.to_string()).collect());
    let checks: Vec<String> = checks.unwrap_or_default();
    let ranges: Vec<_> = pairs.iter().map(|(name, _)| graph.dim_range(name)).collect();
    format!("with numbers it is accepted, with names it relies on {checks:?} and ranges {ranges:?}")
}

pub fn axes(shape: &Shape) -> impl Iterator<Item = &Axis> {
    [shape.batch(), shape.input(), shape.output()].into_iter().flatten()
}

fn ranks(shape: &Shape) -> [usize; 3] {
    [shape.batch().len(), shape.input().len(), shape.output().len()]
}

/// Returns true if two sizes that are written differently happen to be equal.
fn by_chance(shapes: &[Shape], pairs: &[(&str, u64)]) -> bool {
    let mut written: BTreeMap<u64, String> = BTreeMap::new();
    shapes.iter().flat_map(axes).filter(|axis| **axis != Axis::Unit).any(|axis| {
        let size = match axis {
            Axis::Symbolic(size, _) => size.at(pairs),
            other => Some(other.size()),
        };
        let text = axis.to_string();
        size.is_some_and(|size| written.entry(size).or_insert_with(|| text.clone()) != &text)
    })
}

/// Returns true if shapes differ only in axes of one element.
fn has_units_for_ones(found: &Shape, plain: &Shape) -> bool {
    let same = |(found, plain): (&Axis, &Axis)| found == plain || (found.size(), plain.size()) == (1, 1);
    ranks(found) == ranks(plain) && axes(found).zip(axes(plain)).all(same)
}

/// Returns true if the program with numbers was closed with other axes, or with a unit for an
/// expression.
fn chose_otherwise(named: &Shape, plain: &Shape) -> bool {
    let unit = |(named, plain): (&Axis, &Axis)| matches!(named, Axis::Symbolic(..)) && *plain == Axis::Unit;
    ranks(named) != ranks(plain) || axes(named).zip(axes(plain)).any(unit)
}

/// Checks the bounds of axes and of numbers of elements by enumerating all sizes up to a bound.
pub fn bounds(program: &Program, named: &mut Named, most: u64) -> Result<(), String> {
    let shapes: Vec<Shape> = named.tensors().map(|tensor| named.shapes.get(tensor)).collect();
    let ranges: Vec<(u64, Option<u64>)> = program
        .names
        .iter()
        .map(|name| named.made.graph.dim_range(name.name).expect("it is declared"))
        .collect();
    for numbers in all(&ranges, most) {
        let pairs = program.pairs(&numbers);
        if !allowed(program, &mut named.made.graph, &pairs)? {
            continue;
        }
        for shape in &shapes {
            let found = shape.at(&pairs).ok_or_else(|| format!("`{shape}` has no value at {numbers:?}"))?;
            for (axis, found) in axes(shape).zip(axes(&found)) {
                contains(axis.range(), found.size(), &format!("`{axis}` at {numbers:?}"))?;
            }
            let elements = axes(&found).map(Axis::size).product();
            contains(shape.elements_range(), elements, &format!("elements of `{shape}` at {numbers:?}"))?;
        }
    }
    // A linear function of one name has tight bounds at both ends of its range, if it has a value
    // there. (Checks may narrow it further.)
    for axis in shapes.iter().flat_map(axes) {
        let Axis::Symbolic(size, _) = axis else { continue };
        let names: Vec<&str> = size.names().collect();
        let range = program.names.iter().zip(&ranges).find(|(name, _)| [name.name] == names[..]);
        let Some((name, (least, greatest))) = range else { continue };
        if axis.to_string().matches(name.name).count() > 1 {
            continue;
        }
        let at = |number: u64| size.at(&[(name.name, number)]);
        let (low, high) = axis.range();
        // It may decrease as the name grows.
        let Some((one, other)) = at(*least).zip(greatest.and_then(at)) else { continue };
        let short = low < one.min(other);
        let long = high.is_none_or(|high| high > one.max(other));
        if short || long {
            return Err(format!("`{axis}` is said to lie in {low}..{high:?}, for {least}..{greatest:?}"));
        }
    }
    Ok(())
}

fn contains((least, most): (u64, Option<u64>), value: u64, what: &str) -> Result<(), String> {
    let inside = least <= value && most.is_none_or(|most| value <= most);
    inside.then_some(()).ok_or_else(|| format!("{what} is {value}, not in {least}..{most:?}"))
}

/// All numbers in some ranges, up to a bound.
pub fn all(ranges: &[(u64, Option<u64>)], most: u64) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for (least, greatest) in ranges {
        let end = greatest.unwrap_or(most).min(most);
        let longer = |begun: &Vec<u64>| {
            let begun = begun.clone();
            (*least..=end).map(move |number| [&begun[..], &[number]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
