//! The plan of a program: the code of each nest and the memory it needs, before anything is
//! written.

use broadloom_loops::{BufferId, Program, Size, Storage};
use rustc_hash::FxHashSet;

use crate::Error;
use crate::arena::{self, Need};
use crate::contract::{Contraction, Unit, contraction};
use crate::flat::{Flat, FlatProgram, FlatStatement};
use crate::flatten::flatten;
use crate::order::{Blocks, Fresh, Split, arrange, has_blocks, split};
use crate::rows::{Row, rows};
use crate::split_reduction::{self, units};
use crate::spread::spread;

/// A program in the form in which it will be written.
pub(crate) struct Plan {
    /// The program, with the buffers that the backend adds.
    pub program: Program,
    pub flat: FlatProgram,
    /// The names of loops, including those that the backend adds.
    pub vars: Vec<String>,
    /// The parts of each nest.
    pub nests: Vec<Vec<Planned>>,
    /// The rows that lie on the stack, with the numbers of their cells.
    pub rows: Vec<Row>,
    /// The range of nests that needs each local buffer.
    pub needs: Vec<Need>,
    /// Numbers of blocks that depend on arguments: the size and the divisor. They are additional
    /// arguments of the code, after those of the program and its derived sizes.
    pub blocks: Vec<(Size, u64)>,
}

impl Plan {
    /// The plan of a program.
    pub fn new(program: &Program) -> Result<Plan, Error> {
        let mut flat = flatten(program)?;
        let mut program = program.clone();
        split_reduction::divide(&mut program, &mut flat);
        let arguments = (program.arguments.len() + program.derived.len()) as u32;
        let blocks = Blocks { arguments, all: Vec::new() };
        let mut fresh = Fresh { locals: flat.locals, vars: flat.vars.clone(), blocks };
        let alone = alone(&program, &flat);
        let nests: Vec<Vec<Planned>> =
            flat.nests.iter().map(|nest| planned(&program, &mut fresh, &alone, nest)).collect();
        let rows = nests.iter().flatten().flat_map(|planned| match planned {
            Planned::Loops { rows, .. } => rows.as_slice(),
            Planned::Contraction(_) => &[],
        });
        let rows: Vec<Row> = rows.copied().collect();
        let on_stack: FxHashSet<BufferId> = rows.iter().map(|(buffer, _)| *buffer).collect();
        let needs = arena::needs(&program, &flat.nests, &on_stack);
        Ok(Plan { program, flat, vars: fresh.vars, nests, rows, needs, blocks: fresh.blocks.all })
    }
}

/// A part of a nest in the form in which it will be written.
pub(crate) enum Planned {
    /// A function, its division among threads, and the rows on its stack.
    Loops { steps: Vec<FlatStatement>, split: Option<Split>, rows: Vec<Row> },
    /// A call of the kernel.
    Contraction(Box<Contraction>),
}

/// The parts of a nest; `alone` are the buffers that a single step uses.
fn planned(program: &Program, fresh: &mut Fresh, alone: &[BufferId], nest: &Flat) -> Vec<Planned> {
    let mut planned = Vec::new();
    for steps in units(nest.body.clone()) {
        let contracted = match steps.as_slice() {
            [step] if !has_blocks(step) => contraction(program, step).or_else(|| spread(program, step)),
            _ => None,
        };
        let whole = contracted.is_none();
        for unit in contracted.unwrap_or_else(|| vec![Unit::Loops(steps)]) {
            let steps = match unit {
                Unit::Loops(steps) => steps,
                Unit::Contraction(found) => {
                    planned.push(Planned::Contraction(found));
                    continue;
                }
            };
            let mut steps: Vec<FlatStatement> =
                steps.into_iter().flat_map(|step| arrange(program, fresh, step)).collect();
            let (split, rows) = match steps.as_mut_slice() {
                [step] => (split(step), if whole { rows(program, alone, step) } else { Vec::new() }),
                _ => (None, Vec::new()),
            };
            planned.push(Planned::Loops { steps, split, rows });
        }
    }
    planned
}

/// The local buffers that are used by one step of one nest.
fn alone(program: &Program, flat: &FlatProgram) -> Vec<BufferId> {
    let mut uses = vec![0; program.buffers.len()];
    for step in flat.nests.iter().flat_map(|nest| &nest.body) {
        let mut used: FxHashSet<BufferId> = FxHashSet::default();
        step.each(&mut |step| {
            step.each_access(&mut |_, access| {
                used.insert(access.buffer);
            });
            if let FlatStatement::Margins { buffer, .. } = step {
                used.insert(*buffer);
            }
        });
        used.into_iter().for_each(|buffer| uses[buffer.index()] += 1);
    }
    let local =
        |buffer: &BufferId| uses[buffer.index()] == 1 && program.buffer(*buffer).storage == Storage::Local;
    (0..program.buffers.len() as u32).map(BufferId).filter(local).collect()
}
