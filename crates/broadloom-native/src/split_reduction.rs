//! Reductions to a single number, in parts.
//!
//! ```text
//! for i: s += x[i]    becomes    for p: let t = 0; for i in part p: t += x[i]; partial[p] = t
//!                                let t = 0; for p: t += partial[p]; s += t
//! ```
//!
//! so that threads can share it. The number of parts does not depend on the number of threads, and
//! therefore neither does the result.

use broadloom_loops::{Binary, Buffer, BufferId, Dtype, Local, LoopSum, LoopVar, Program, Storage};

use crate::columns::in_columns;
use crate::flat::{Access, FlatProgram, FlatStatement, Looped, Value};
use crate::order::{Blocks, Fresh, LEAST_WORK, arrange, chain, has_blocks, holds, is_distinct, nested, work};
use crate::types::{self, Real};

/// The most parts.
const PARTS: u64 = 64;
/// Parts of an innermost loop start at multiples of this.
const GRAIN: u64 = 256;

/// Divides the large reductions to single numbers of a program; their partial results are new buffers.
pub(crate) fn divide(program: &mut Program, flat: &mut FlatProgram) {
    let vars = std::mem::take(&mut flat.vars);
    let mut fresh = Fresh { locals: flat.locals, vars, blocks: Blocks::default() };
    for nest in &mut flat.nests {
        let units = units(std::mem::take(&mut nest.body));
        nest.body = units.into_iter().flat_map(|steps| divided(program, &mut fresh, steps)).collect();
    }
    (flat.locals, flat.vars) = (fresh.locals, fresh.vars);
}

/// The steps of a nest, in groups: steps that share a variable are in the same group.
pub(crate) fn units(body: Vec<FlatStatement>) -> Vec<Vec<FlatStatement>> {
    let mut units = Vec::new();
    let (mut unit, mut last) = (Vec::new(), 0);
    for (place, step) in body.iter().enumerate() {
        if let FlatStatement::Declare { local, .. } = step {
            last = body.iter().rposition(|step| mentions(step, *local)).map_or(last, |place| last.max(place));
        }
        unit.push(step.clone());
        if place >= last {
            units.push(std::mem::take(&mut unit));
        }
    }
    units
}

/// Returns true if a step, or one inside it, mentions a local.
fn mentions(step: &FlatStatement, local: Local) -> bool {
    let mut found = false;
    step.each(&mut |step| {
        found |= matches!(step, FlatStatement::Declare { local: known, .. } | FlatStatement::Update { local: known, .. } if *known == local);
        found |= step.value().is_some_and(|value| value.uses(local));
    });
    found
}

/// A unit, divided if it is a large reduction.
fn divided(program: &mut Program, fresh: &mut Fresh, steps: Vec<FlatStatement>) -> Vec<FlatStatement> {
    if let [step] = steps.as_slice()
        && let Some(steps) = in_columns(program, fresh, step)
    {
        return steps;
    }
    // The number of parts depends on sizes, so loops whose extents are arguments are not divided.
    if steps.iter().any(is_open) || steps.iter().map(work).sum::<f64>() < 2.0 * LEAST_WORK {
        return steps;
    }
    let steps = in_variable(program, fresh, steps);
    in_parts(program, fresh, &steps).unwrap_or(steps)
}

/// Returns true if the extent of a loop in it depends on an argument.
fn is_open(step: &FlatStatement) -> bool {
    let mut open = false;
    step.each(&mut |step| open |= matches!(step, FlatStatement::Loop(each) if each.extent.is_open()));
    open
}

/// `for i: s += x[i]` as `let t = 0; for i: t += x[i]; s += t`.
fn in_variable(program: &Program, fresh: &mut Fresh, steps: Vec<FlatStatement>) -> Vec<FlatStatement> {
    let [FlatStatement::Loop(each)] = steps.as_slice() else { return steps };
    if has_blocks(&steps[0]) {
        return steps;
    }
    let (loops, leaf) = chain(each.clone());
    let [FlatStatement::Store { to, accumulate: Some(function), value }] = leaf.as_slice() else {
        return steps;
    };
    let local = Local(fresh.locals);
    let update = FlatStatement::Update { local, accumulate: Some(*function), value: value.clone() };
    let mut fits = function.is_commutative() && holds(program, to, &update);
    fits &= loops.iter().all(|(var, ..)| !to.depends_on(*var)) && to.is_affine();
    value.each_access(&mut |access| fits &= access.buffer != to.buffer);
    let (true, Some(neutral)) = (fits, function.neutral()) else { return steps };
    fresh.locals += 1;
    let mut body = vec![FlatStatement::Declare { local, value: Value::Number(neutral) }];
    body.extend(nested(loops, vec![update]));
    body.push(FlatStatement::Store {
        to: to.clone(),
        accumulate: Some(*function),
        value: Value::Local(local),
    });
    body
}

/// The loop of `let …; for …; …` in parts.
fn in_parts(program: &mut Program, fresh: &mut Fresh, steps: &[FlatStatement]) -> Option<Vec<FlatStatement>> {
    let place = steps.iter().position(|step| matches!(step, FlatStatement::Loop(_)))?;
    let (before, after) = (&steps[..place], &steps[place + 1..]);
    if !before.iter().all(|step| matches!(step, FlatStatement::Declare { .. }))
        || !after.iter().all(FlatStatement::is_scalar)
    {
        return None;
    }
    let arranged = arrange(program, fresh, steps[place].clone());
    let [whole @ FlatStatement::Loop(each)] = arranged.as_slice() else { return None };
    let carried = carried(before, whole)?;
    let locals: Vec<Local> = carried.iter().map(|(local, ..)| *local).collect();
    if carried.is_empty() || !is_distinct(whole, each.var, &locals) || !may_repeat(before, &locals, whole) {
        return None;
    }
    let innermost = !each.body.iter().any(|step| matches!(step, FlatStatement::Loop(_)));
    let grain = if innermost { GRAIN } else { 1 };
    let extent = each.extent.get();
    let length = extent.div_ceil(PARTS).next_multiple_of(grain);
    let parts = extent.div_ceil(length);
    if parts < 4 {
        return None;
    }
    let reals = types::locals(program, steps);
    let mut variable = |name: &str| {
        fresh.vars.push(name.into());
        LoopVar(fresh.vars.len() as u32 - 1)
    };
    let (part, again) = (variable("part"), variable("part"));
    let mut within = each.body.clone();
    let mut body: Vec<FlatStatement> = before
        .iter()
        .filter(|step| !matches!(step, FlatStatement::Declare { local, .. } if locals.contains(local)))
        .cloned()
        .collect();
    let (mut results, mut gathered) = (Vec::new(), Vec::new());
    for (local, function, neutral) in carried {
        let partial = program.add_buffer(Buffer {
            name: "partial".into(),
            dtype: if reals.get(&local) == Some(&Real::F64) { Dtype::F64 } else { Dtype::F32 },
            sizes: vec![parts.into()],
            margins: Vec::new(),
            fill: 0.0,
            storage: Storage::Local,
        });
        let inner = Local(fresh.locals);
        fresh.locals += 1;
        within.iter_mut().for_each(|step| rename(step, local, inner));
        body.push(FlatStatement::Declare { local: inner, value: Value::Number(neutral) });
        results.push(FlatStatement::Store {
            to: cell(partial, part),
            accumulate: None,
            value: Value::Local(inner),
        });
        let value = Value::Load(cell(partial, again));
        gathered.push(FlatStatement::Update { local, accumulate: Some(function), value });
    }
    let block = Some((part, length));
    body.push(FlatStatement::Loop(Looped { block, body: within, ..each.clone() }));
    body.extend(results);
    let looped = |var, parallel, body| {
        FlatStatement::Loop(Looped {
            var,
            extent: parts.into(),
            parallel,
            block: None,
            interleaved: false,
            body,
        })
    };
    let mut all = vec![looped(part, true, body)];
    all.extend(before.iter().cloned());
    all.push(looped(again, false, gathered));
    all.extend(after.iter().cloned());
    Some(all)
}

/// The variables that a loop reduces into, with the functions and their neutral numbers, or None if
/// it uses a variable from outside in any other way.
fn carried(before: &[FlatStatement], whole: &FlatStatement) -> Option<Vec<(Local, Binary, f64)>> {
    let mut carried: Vec<(Local, Binary, f64)> = Vec::new();
    let mut fits = true;
    whole.each(&mut |step| match step {
        FlatStatement::Update { local, accumulate, .. }
            if before.iter().any(|step| mentions(step, *local)) =>
        {
            let function = accumulate.filter(|function| function.is_commutative());
            match function.and_then(|function| Some((*local, function, function.neutral()?))) {
                Some(new) if !carried.iter().any(|(known, ..)| known == local) => carried.push(new),
                Some(new) => fits &= carried.contains(&new),
                None => fits = false,
            }
        }
        FlatStatement::Check { .. }
        | FlatStatement::Sort(_)
        | FlatStatement::Matrix { .. }
        | FlatStatement::Margins { .. } => fits = false,
        _ => {}
    });
    whole.each(&mut |step| {
        if let Some(value) = step.value() {
            fits &= !carried.iter().any(|(local, ..)| value.uses(*local));
        }
    });
    fits.then_some(carried)
}

/// Returns true if the variables declared before a loop, other than those it reduces into, may be
/// computed again in each part.
fn may_repeat(before: &[FlatStatement], carried: &[Local], whole: &FlatStatement) -> bool {
    let mut written: Vec<BufferId> = Vec::new();
    whole.each(&mut |step| {
        step.each_access(&mut |writes, access| {
            if writes {
                written.push(access.buffer);
            }
        });
    });
    before.iter().all(|step| {
        let FlatStatement::Declare { local, value } = step else { return false };
        let mut fits = !carried.iter().any(|local| value.uses(*local));
        value.each_access(&mut |access| fits &= !written.contains(&access.buffer));
        fits || carried.contains(local)
    })
}

fn rename(step: &mut FlatStatement, from: Local, to: Local) {
    match step {
        FlatStatement::Loop(each) => each.body.iter_mut().for_each(|step| rename(step, from, to)),
        FlatStatement::Update { local, .. } if *local == from => *local = to,
        _ => {}
    }
}

fn cell(buffer: BufferId, var: LoopVar) -> Access {
    let at = LoopSum::iterate(var);
    Access { buffer, at, symbols: Vec::new(), gathers: Vec::new(), guarded: false }
}
