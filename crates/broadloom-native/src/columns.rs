//! Long sums for many cells at once, in wider numbers.
//!
//! ```text
//! for i, j: s[j] += x[i, j]    becomes    for p: for j: partial[p, j] = 0; for i in part p: for j: partial[p, j] += x[i, j]
//!                                         for j: let t = 0; for p: t += partial[p, j]; s[j] += t
//! ```
//!
//! A cell of 32 bits would lose later terms: adding ones to sixteen million changes nothing.
//! Partial sums are kept in 64 bits, and threads can share the parts.

use broadloom_loops::{Binary, Buffer, BufferId, Dtype, Local, LoopSum, LoopVar, Program, Size, Storage};

use crate::contract::{Unit, contraction};
use crate::flat::{Access, FlatStatement, Looped, Value};
use crate::order::{Bare, Fresh, best_innermost, chain, has_blocks, is_injective, nested};
use crate::spread::spread;

/// The number of terms from which on a cell would lose digits that matter.
const LEAST_TERMS: i64 = 4096;
/// The most parts, and the most numbers that they have together.
const MOST_PARTS: i64 = 64;
const MOST_PARTIAL: i64 = 1 << 22;

/// A sum whose innermost loop goes over cells, not over terms.
struct Columns {
    /// The loops over cells, and those over terms.
    cells: Vec<Bare>,
    terms: Vec<Bare>,
    to: Access,
    value: Value,
}

/// Rewrites long sums of a step in wider numbers, if it has any. If the number of terms depends on
/// arguments, there is one part.
pub(crate) fn in_columns(
    program: &mut Program,
    fresh: &mut Fresh,
    step: &FlatStatement,
) -> Option<Vec<FlatStatement>> {
    if has_blocks(step) || contraction(program, step).is_some() {
        return None;
    }
    let units = spread(program, step).unwrap_or_else(|| vec![Unit::Loops(vec![step.clone()])]);
    let (mut all, mut found) = (Vec::new(), false);
    for unit in units {
        let Unit::Loops(steps) = unit else { return None };
        for step in steps {
            match columns(program, &step) {
                Some(columns) => {
                    found = true;
                    all.extend(columns.widened(program, fresh));
                }
                None => all.push(step),
            }
        }
    }
    found.then_some(all)
}

fn columns(program: &Program, step: &FlatStatement) -> Option<Columns> {
    let FlatStatement::Loop(each) = step else { return None };
    let (loops, leaf) = chain(each.clone());
    let [FlatStatement::Store { to, accumulate: Some(Binary::Add), value }] = leaf.as_slice() else {
        return None;
    };
    let mut fits = program.buffer(to.buffer).dtype == Dtype::F32 && to.is_affine();
    value.each(&mut |value| fits &= !matches!(value, Value::Local(_)));
    value.each_access(&mut |access| fits &= access.buffer != to.buffer);
    let innermost = loops[best_innermost(&loops, &leaf)].0;
    let (cells, terms): (Vec<Bare>, Vec<Bare>) = loops.iter().partition(|(var, ..)| to.depends_on(*var));
    let count = |loops: &[Bare]| loops.iter().map(|(_, extent, _)| *extent).product::<Size>();
    // The partial sums have a buffer of their own, whose size must be known.
    fits &= count(&cells).as_number().is_some_and(|cells| cells <= MOST_PARTIAL);
    fits &= count(&terms).typical() >= LEAST_TERMS && is_injective(to, &cells);
    if !fits || !to.depends_on(innermost) {
        return None;
    }
    // The loop that moves along memory is innermost.
    let mut cells = cells;
    let last = cells.iter().position(|(var, ..)| *var == innermost)?;
    let last = cells.remove(last);
    cells.push(last);
    Some(Columns { cells, terms, to: to.clone(), value: value.clone() })
}

impl Columns {
    fn widened(self, program: &mut Program, fresh: &mut Fresh) -> Vec<FlatStatement> {
        let Columns { cells, terms, to, value } = self;
        let count: Size = cells.iter().map(|(_, extent, _)| *extent).product();
        let (first, extent, _) = terms[0];
        let (length, parts) = match (extent.as_number(), count.as_number()) {
            (Some(extent), Some(count)) => {
                let most = MOST_PARTS.min(MOST_PARTIAL / count.max(1)).min(extent / 16).max(1);
                let length = (extent as u64).div_ceil(most as u64).max(1);
                (length, (extent as u64).div_ceil(length))
            }
            _ => (u64::MAX, 1),
        };
        let partial = program.add_buffer(Buffer {
            name: "partial".into(),
            dtype: Dtype::F64,
            sizes: std::iter::once(parts.into()).chain(cells.iter().map(|(_, extent, _)| *extent)).collect(),
            margins: Vec::new(),
            fill: 0.0,
            storage: Storage::Local,
        });
        fresh.vars.extend(["part".to_string(), "part".to_string()]);
        let (part, again) = (LoopVar(fresh.vars.len() as u32 - 2), LoopVar(fresh.vars.len() as u32 - 1));
        let store = |accumulate, value| FlatStatement::Store {
            to: cell(partial, part, count, &cells),
            accumulate,
            value,
        };
        let begin = nested(cells.clone(), vec![store(None, Value::Number(0.0))]);
        let rest: Vec<Bare> = terms[1..].iter().chain(&cells).copied().collect();
        let summed = FlatStatement::Loop(Looped {
            var: first,
            extent,
            parallel: false,
            block: (parts > 1).then_some((part, length)),
            interleaved: false,
            body: nested(rest, vec![store(Some(Binary::Add), value)]),
        });
        let body = begin.into_iter().chain([summed]).collect();
        let looped = |var, parallel, body| Looped {
            var,
            extent: parts.into(),
            parallel,
            block: None,
            interleaved: false,
            body,
        };
        let local = Local(fresh.locals);
        fresh.locals += 1;
        let value = Value::Load(cell(partial, again, count, &cells));
        let gathered = vec![
            FlatStatement::Declare { local, value: Value::Number(0.0) },
            FlatStatement::Loop(looped(
                again,
                false,
                vec![FlatStatement::Update { local, accumulate: Some(Binary::Add), value }],
            )),
            FlatStatement::Store { to, accumulate: Some(Binary::Add), value: Value::Local(local) },
        ];
        let mut all = vec![FlatStatement::Loop(looped(part, true, body))];
        all.extend(nested(cells, gathered));
        all
    }
}

/// A cell of the partial sums: the part, and then the loops over cells.
fn cell(buffer: BufferId, part: LoopVar, count: Size, cells: &[Bare]) -> Access {
    let mut terms = vec![(count, part)];
    let mut stride = Size::ONE;
    for (var, extent, _) in cells.iter().rev() {
        terms.push((stride, *var));
        stride = stride * *extent;
    }
    Access { buffer, at: LoopSum::new(0, terms), symbols: Vec::new(), gathers: Vec::new(), guarded: false }
}
