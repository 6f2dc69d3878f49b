//! A counterexample made smaller: constraints, operands and axes are left out as long as the
//! disagreement stays of the same kind.

use std::time::{Duration, Instant};

use broadloom_core::Role;

use super::judge::{Wrong, judge};
use super::system::{Dim, Says, System, Term};

/// The time limit for a smaller system: those that make the solver give up are slow.
const LONGEST: Duration = Duration::from_secs(4);

/// The number of random changes of a law that are tried on each smaller system.
const TRIES: u64 = 6;

fn still_wrong(system: &System, kind: &str) -> Option<Wrong> {
    (0..TRIES).find_map(|seed| judge(system, seed, true).err().filter(|wrong| wrong.kind == kind))
}

/// The smallest system that leaving out finds, and its disagreement.
pub fn shrink(system: &System, wrong: Wrong) -> (System, Wrong) {
    let (mut system, mut wrong) = (system.clone(), wrong);
    let started = Instant::now();
    'smaller: loop {
        for candidate in candidates(&system) {
            if started.elapsed() > LONGEST {
                break;
            }
            if let Some(found) = still_wrong(&candidate, wrong.kind) {
                (system, wrong) = (candidate, found);
                continue 'smaller;
            }
        }
        return (system, wrong);
    }
}

fn candidates(system: &System) -> Vec<System> {
    let mut all = Vec::new();
    // A result stays the broadcast of its operands: an operand goes with its inequality, or all of
    // it goes.
    let belongs = |says: &Says, to: &Says| match (says, to) {
        (Says::Le(res, opnd), Says::Made(of, opnds)) => *res == Term::var(*of) && opnds.contains(opnd),
        _ => false,
    };
    for at in 0..system.says.len() {
        let mut less = system.clone();
        let gone = less.says.remove(at);
        if let Says::Made(of, opnds) = &gone {
            less.says.retain(|says| !belongs(says, &gone));
            all.push(less);
            for place in (0..opnds.len()).filter(|_| opnds.len() > 1) {
                let mut fewer = system.clone();
                let mut rest = opnds.clone();
                let opnd = rest.remove(place);
                fewer.says[at] = Says::Made(*of, rest);
                fewer.says.retain(|says| *says != Says::Le(Term::var(*of), opnd.clone()));
                all.push(fewer);
            }
        } else if !system.says.iter().any(|says| belongs(&gone, says)) {
            all.push(less);
        }
    }
    for at in 0..system.says.len() {
        if system.says.iter().any(|says| belongs(&system.says[at], says)) {
            continue;
        }
        for says in smaller(&system.says[at]) {
            let mut less = system.clone();
            less.says[at] = says;
            all.push(less);
        }
    }
    // A flank left out wherever it is written, a marker at the left edge, any kind of leaf made a leaf.
    for term in
        system.says.iter().flat_map(Says::terms).filter(|term| term.row.is_some() && term.flanks() > 0)
    {
        for smaller in smaller_terms(&term) {
            let mut less = system.clone();
            less.says.iter_mut().for_each(|says| replace(says, &term, &smaller));
            all.push(less);
        }
    }
    for at in 0..system.rows.len() {
        let leaf = system.rows[at].role != Role::Interior;
        if leaf && system.rows[at].marker > 0 {
            let mut less = system.clone();
            less.rows[at].marker -= 1;
            all.push(less);
        }
        if leaf && system.rows[at].role != Role::Leaf {
            let mut less = system.clone();
            less.rows[at].role = Role::Leaf;
            all.push(less);
        }
    }
    all.retain(|less| weight(less) < weight(system));
    all
}

fn weight(system: &System) -> usize {
    let of_dim = |dim: &Dim| match dim {
        Dim::Unit => 4,
        Dim::Size(_) => 3,
        Dim::Var(_) => 5,
    };
    let of_term = |term: &Term| 2 + term.lead.iter().chain(&term.trail).map(of_dim).sum::<usize>();
    let terms: usize = system.says.iter().flat_map(Says::terms).map(|term| of_term(&term)).sum();
    let roles: usize = system.rows.iter().map(|row| [0, 2, 1, 3][row.role as usize] + row.marker).sum();
    terms * 10 + roles + system.says.len()
}

fn replace(says: &mut Says, old: &Term, new: &Term) {
    let swap = |term: &mut Term| {
        if term == old {
            *term = new.clone();
        }
    };
    match says {
        Says::Le(a, b) | Says::Eq(a, b) => {
            swap(a);
            swap(b);
        }
        Says::Made(_, opnds) => opnds.iter_mut().for_each(swap),
    }
}

fn smaller(says: &Says) -> Vec<Says> {
    match says {
        Says::Le(a, b) => pairs(a, b).into_iter().map(|(a, b)| Says::Le(a, b)).collect(),
        Says::Eq(a, b) => pairs(a, b).into_iter().map(|(a, b)| Says::Eq(a, b)).collect(),
        Says::Made(..) => Vec::new(),
    }
}

fn pairs(a: &Term, b: &Term) -> Vec<(Term, Term)> {
    let left = smaller_terms(a).into_iter().map(|a| (a, b.clone()));
    let right = smaller_terms(b).into_iter().map(|b| (a.clone(), b));
    left.chain(right).collect()
}

fn smaller_terms(term: &Term) -> Vec<Term> {
    let mut all = Vec::new();
    for at in 0..term.lead.len() {
        let mut less = term.clone();
        less.lead.remove(at);
        all.push(less);
    }
    for at in 0..term.trail.len() {
        let mut less = term.clone();
        less.trail.remove(at);
        all.push(less);
        let mut plain = term.clone();
        plain.trail[at] = Dim::Size(3);
        all.push(plain);
    }
    all
}
