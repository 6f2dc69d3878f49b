//! The optimiser turns a program into one that computes the same in fewer passes over memory.
//!
//! The passes are listed below in the order in which they run, each in a file that says when it
//! applies and why that is sound. All of them are checked against the [reference
//! evaluator](crate::reference) on random programs. The result has this form:
//!
//! - A contraction ([`is_contraction`]) is a nest by itself: result loops, `let t = 0`, reduction loops around
//!   `t += a[..] * b[..]`, and one store of `t`, perhaps times numbers and cells that no loop changes. If it is
//!   scattered, or added to existing values, the store accumulates.
//! - Other nests may have several statements and loops in a body. A local is declared in front of its uses, in
//!   the same body or one around it, and locals are numbered from 0 in each nest.
//! - The outermost loop of a nest is marked if its iterations are independent.
//!
//! The contents of kept buffers after a run that does not stop stay the same, up to the order in
//! which sums are added up, the rounding of 32-bit floats in statements with wider ones (a float that is not
//! stored is not rounded) and the sign of zeros. The ids of buffers do not change; a buffer that is no longer
//! needed is simply not mentioned by any nest, and new ones are local and come last. A run that stops at a check has not written
//! kept buffers that are written behind it only; the contents of other written buffers are then unspecified.

mod access;
mod common;
mod contract;
mod cost;
mod dead;
mod distribute;
mod duplicates;
mod factors;
mod first_write;
mod fuse;
mod inline;
mod locals;
mod parallel;
mod products;
mod repeats;
mod rewrite;
mod rounding;
mod simplify;
mod updates;
mod well_formed;

pub use cost::is_contraction;
pub use distribute::{Distributed, OfTurns, distribute};
pub use fuse::Limits;
pub use inline::Policy;
pub use parallel::is_independent;

use crate::program::Program;

/// The passes that run, and their limits.
#[derive(Clone, PartialEq, Debug)]
pub struct PassOptions {
    /// Constants, neutral elements, powers, loops that run once.
    pub simplify: bool,
    /// Sums of products of several factors are computed in steps.
    pub products: bool,
    /// Fill and accumulate become one store; reductions are summed up in locals.
    pub first_write: bool,
    /// Results that are never read are not computed.
    pub dead: bool,
    /// Nests that compute the same values are merged.
    pub duplicates: bool,
    /// Local buffers become virtual.
    pub inline: bool,
    /// Constant factors move out of the sums of contractions.
    pub factors: bool,
    /// Sums of products are added up where they are added to.
    pub updates: bool,
    /// Nests with the same outermost loop become one.
    pub fuse: bool,
    /// A value that is written and read in one iteration is held in a local.
    pub contract: bool,
    /// An expression that several statements share is computed once.
    pub common: bool,
    /// Outermost loops whose iterations are independent are marked.
    pub parallel: bool,
    /// Limits on making buffers virtual.
    pub policy: Policy,
    /// Limits on the size of nests.
    pub limits: Limits,
    /// The sizes of the program's arguments, each divided by its number, at which costs are compared. If there are none, typical sizes are taken.
    pub samples: Vec<u64>,
}

impl Default for PassOptions {
    fn default() -> PassOptions {
        PassOptions::all()
    }
}

impl PassOptions {
    /// Every pass.
    pub fn all() -> PassOptions {
        PassOptions {
            simplify: true,
            products: true,
            first_write: true,
            dead: true,
            duplicates: true,
            inline: true,
            factors: true,
            updates: true,
            fuse: true,
            contract: true,
            common: true,
            parallel: true,
            policy: Policy::default(),
            limits: Limits::default(),
            samples: Vec::new(),
        }
    }

    /// No pass.
    pub fn none() -> PassOptions {
        PassOptions {
            simplify: false,
            products: false,
            first_write: false,
            dead: false,
            duplicates: false,
            inline: false,
            factors: false,
            updates: false,
            fuse: false,
            contract: false,
            common: false,
            parallel: false,
            policy: Policy::default(),
            limits: Limits::default(),
            samples: Vec::new(),
        }
    }
}

/// The number of changes that each pass has made, in the order in which they ran.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// The name of a pass and the number of its changes.
    pub passes: Vec<(&'static str, usize)>,
}

impl Report {
    /// Adds the changes of the same passes on other nests.
    fn add(&mut self, other: Report) {
        if self.passes.is_empty() {
            self.passes = other.passes;
            return;
        }
        for (known, (_, more)) in self.passes.iter_mut().zip(other.passes) {
            known.1 += more;
        }
    }
}

/// Returns the optimised program.
pub fn optimise(program: &Program, options: &PassOptions) -> Program {
    optimise_with_report(program, options).0
}

/// A pass changes a program and returns the number of its changes.
type Pass<'a> = &'a dyn Fn(&mut Program) -> usize;

/// Returns the optimised program and a report of the changes.
pub fn optimise_with_report(program: &Program, options: &PassOptions) -> (Program, Report) {
    let mut report = Report::default();
    if !well_formed::is_well_formed(program) {
        return (program.clone(), report);
    }
    if !program.repeats.is_empty() {
        return repeats::optimised(program, options);
    }
    let mut result = program.clone();
    locals::separate(&mut result);
    rounding::state(&mut result);
    let inline = |program: &mut Program| inline::inline(program, &options.policy);
    let products = |program: &mut Program| products::products(program, &options.samples);
    let fuse = |program: &mut Program| fuse::fuse(program, &options.limits);
    let passes: [(&'static str, bool, Pass<'_>); 15] = [
        ("simplify", options.simplify, &simplify::simplify),
        ("products", options.products, &products),
        ("first write", options.first_write, &first_write::first_write),
        ("dead", options.dead, &dead::dead),
        ("duplicates", options.duplicates, &duplicates::duplicates),
        ("inline", options.inline, &inline),
        ("simplify", options.simplify, &simplify::simplify),
        ("dead", options.dead, &dead::dead),
        ("factors", options.factors, &factors::factors),
        ("updates", options.updates, &updates::updates),
        ("fuse", options.fuse, &fuse),
        ("contract", options.contract, &contract::contract),
        ("dead", options.dead, &dead::dead),
        ("common", options.common, &common::common),
        ("parallel", options.parallel, &parallel::parallel),
    ];
    for (name, wanted, pass) in passes {
        if wanted {
            report.passes.push((name, pass(&mut result)));
        }
        debug_assert!(well_formed::is_well_formed(&result), "{name} broke the program");
    }
    rounding::leave_to_stores(&mut result);
    locals::compact(&mut result);
    (result, report)
}
