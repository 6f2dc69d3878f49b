//! Arithmetic on sizes: affine axes, concatenation, element counts, listed axes.
//!
//! Affine axes and concatenations are one thing, a linear equation `0 = constant + Σ coefficientᵢ·xᵢ`
//! between sizes; counts are an equation between products; lists of axes are an equation between
//! sequences. Each is a propagator: it waits for the classes and rows it mentions, and when one of them
//! learns something it narrows the bounds of the others. Nothing is retried without an event, and
//! every narrowing is entailed.
//!
//! Sizes and bases are separate facts. Where arithmetic fixes a size, the value follows as soon as the
//! basis is known: the axis, the dimension iterated over it, and the components of a concatenation have
//! one basis. What has no basis by the end gets the default one, at closing.

mod count;
mod exact;
mod linear;
mod symbolic;

pub(crate) use count::gcd;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Solver;
use super::reason::{Conflict, NIL, Reason, ReasonId, Step};

use super::sizes::ANY;
use super::trail::{Cell, Trail};
use crate::affine::Affine;
use crate::order::{Atom, Basis};
use crate::term::{DimTerm, Numerator, Piece, RowVar};

/// A dimension of a linear equation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub coeff: i128,
    pub dim: DimTerm,
    /// Whether it shares the basis of the others that do.
    pub carries: bool,
    /// Whether it claims a size.
    pub claims: bool,
}

/// An arithmetic constraint.
#[derive(Clone, Debug)]
pub(crate) enum Arith {
    /// `0 = constant + Σ coeff·size`; the first item is the axis. An affine axis keeps its form: it is
    /// followed by what is iterated, and perhaps by a kernel. If its window drops a rest, the equation holds
    /// up to the slack of the form.
    Linear { items: SmallVec<[Item; 3]>, constant: i128, form: Option<Affine> },
    /// `denom·∏ pieces·∏ divided_by = coeff·over`.
    Count { pieces: Vec<Piece>, numerator: Numerator, divided_by: Vec<DimTerm>, rest: Option<RowVar> },
    /// The pieces are the axes.
    Exact { pieces: Vec<Piece>, axes: Vec<DimTerm>, rest: Option<RowVar> },
}

impl Arith {
    /// How much the axis of a linear equation may be greater than the rest of it says.
    pub fn slack(&self) -> i128 {
        match self {
            Arith::Linear { form: Some(form), .. } => form.slack().into(),
            _ => 0,
        }
    }

    /// The rows whose axes it speaks of.
    pub fn pieces(&self) -> &[Piece] {
        match self {
            Arith::Linear { .. } => &[],
            Arith::Count { pieces, .. } | Arith::Exact { pieces, .. } => pieces,
        }
    }

    /// The row that takes what the others leave.
    pub fn rest(&self) -> Option<RowVar> {
        match self {
            Arith::Linear { .. } => None,
            Arith::Count { rest, .. } | Arith::Exact { rest, .. } => *rest,
        }
    }

    /// The row variables, in order.
    pub fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.pieces().iter().filter_map(|piece| if let Piece::Row(row) = piece { Some(row.0) } else { None })
    }

    /// The dimensions written out.
    pub fn dims(&self) -> SmallVec<[DimTerm; 8]> {
        let pieces = self
            .pieces()
            .iter()
            .filter_map(|piece| if let Piece::Dim(dim) = piece { Some(*dim) } else { None });
        let mut dims: SmallVec<[DimTerm; 8]> = pieces.collect();
        match self {
            Arith::Linear { items, .. } => dims.extend(items.iter().map(|item| item.dim)),
            Arith::Count { numerator, divided_by, .. } => {
                dims.extend(divided_by.iter().copied().chain(numerator.over))
            }
            Arith::Exact { axes, .. } => dims.extend(axes.iter().copied()),
        }
        dims
    }
}

#[derive(Clone)]
struct Con {
    id: u32,
    what: Arith,
    done: bool,
    queued: bool,
    /// Whether the axes of its rows are watched.
    expanded: bool,
    /// How often it narrowed a bound without fixing it.
    narrowed: u32,
}

/// Two equations may push each other's bounds for ever (`x = y + 1`, `y = x + 1`); after so many pushes
/// an equation only passes on sizes that are fixed. Closing then says that it has no bound to search in.
const MOST_PUSHES: u32 = 256;

/// The store of arithmetic constraints.
#[derive(Clone, Default)]
pub(crate) struct Ariths {
    cons: Vec<Con>,
    queue: Vec<u32>,
    /// The dimensions that arithmetic mentions by name.
    mentioned: Vec<DimTerm>,
    /// Row variables in counts and lists.
    rows: FxHashMap<u32, SmallVec<[u32; 2]>>,
}

impl Ariths {
    pub fn clear(&mut self) {
        self.cons.clear();
        self.queue.clear();
        self.mentioned.clear();
        self.rows.clear();
    }

    /// The dimensions that arithmetic mentions by name.
    pub fn mentioned(&self) -> &[DimTerm] {
        &self.mentioned
    }

    pub fn mention(&mut self, dims: &[DimTerm]) {
        self.mentioned.extend_from_slice(dims);
    }

    pub fn is_empty(&self) -> bool {
        self.cons.is_empty()
    }

    pub fn len(&self) -> u32 {
        self.cons.len() as u32
    }

    pub fn get(&self, con: u32) -> &Arith {
        &self.cons[con as usize].what
    }

    /// The constraint's id.
    pub fn id(&self, con: u32) -> u32 {
        self.cons[con as usize].id
    }

    /// The constraints that are not settled.
    pub fn pending(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).filter(|con| !self.cons[*con as usize].done)
    }

    /// The counts and lists that speak of a row variable.
    pub fn of_row(&self, row: u32) -> &[u32] {
        if self.rows.is_empty() { &[] } else { self.rows.get(&row).map_or(&[], |cons| cons.as_slice()) }
    }

    pub fn enqueue(&mut self, con: u32) {
        let entry = &mut self.cons[con as usize];
        if !entry.done && !entry.queued {
            entry.queued = true;
            self.queue.push(con);
        }
    }

    pub fn enqueue_row(&mut self, row: u32) {
        if let Some(cons) = self.rows.get(&row) {
            for con in cons.clone() {
                self.enqueue(con);
            }
        }
    }

    pub fn pop(&mut self) -> Option<u32> {
        let con = self.queue.pop()?;
        self.cons[con as usize].queued = false;
        Some(con)
    }

    pub fn settle_down(&mut self) {
        while self.pop().is_some() {}
    }

    fn finish(&mut self, trail: &mut Trail, con: u32) {
        self.save(trail, con);
        self.cons[con as usize].done = true;
    }

    fn save(&self, trail: &mut Trail, con: u32) {
        let Con { done, expanded, narrowed, .. } = self.cons[con as usize];
        trail.save_pair(Cell::Arith, con, u32::from(done) | u32::from(expanded) << 1, narrowed);
    }

    /// Puts a logged word back.
    pub fn restore(&mut self, at: u32, flags: u32, narrowed: u32) {
        let con = &mut self.cons[at as usize];
        (con.done, con.expanded, con.narrowed) = (flags & 1 != 0, flags & 2 != 0, narrowed);
    }
}

/// One factor or summand: its class (or `NIL` if ground) and the bounds on its size.
#[derive(Clone, Copy)]
struct Known {
    root: u32,
    lo: u64,
    hi: u64,
}

impl Known {
    fn fixed(self) -> Option<u64> {
        (self.lo == self.hi).then_some(self.lo)
    }
}

impl Solver {
    /// Adds an arithmetic constraint and makes it wait for what it mentions.
    pub(crate) fn add_arith(&mut self, what: Arith, id: u32) -> Step {
        let con = self.ariths.len();
        let dims = what.dims();
        for row in what.rows() {
            self.ariths.rows.entry(row).or_default().push(con);
        }
        self.ariths.mention(&dims);
        let waits = !matches!(what, Arith::Exact { .. });
        let claimed: SmallVec<[DimTerm; 3]> = match &what {
            Arith::Linear { items, .. } => {
                items.iter().filter(|item| item.claims).map(|item| item.dim).collect()
            }
            _ => SmallVec::new(),
        };
        self.ariths.cons.push(Con { id, what, done: false, queued: false, expanded: false, narrowed: 0 });
        if self.conflict.is_some() {
            return Ok(());
        }
        if waits {
            for node in dims.into_iter().filter_map(|dim| dim.node()) {
                let extra = self.dims.extra(&mut self.trail, node);
                self.dims.sizes.watch(&mut self.trail, extra, con);
            }
        }
        let reason = self.dims.reason(Reason::Arith { con });
        for dim in claimed {
            match dim.node() {
                Some(node) => self.dims.claim(&mut self.trail, node, reason)?,
                None if dim == DimTerm::UNIT => return Err(Conflict::Arith { con }),
                None => {}
            }
        }
        self.ariths.enqueue(con);
        self.propagate()
    }

    /// `size ≥ n`.
    pub(crate) fn at_least(&mut self, dim: DimTerm, least: u64, con: u32) -> Step {
        let reason = ReasonId::constraint(con);
        self.ariths.mention(&[dim]);
        match dim.node() {
            Some(node) => self.dims.narrow(&mut self.trail, node, (least, ANY), reason)?,
            None if self.size_of(dim).lo < least => {
                return Err(Conflict::TooSmall { size: self.size_of(dim).lo, least, reason });
            }
            None => {}
        }
        self.propagate()
    }

    /// `size ≤ n`.
    pub(crate) fn at_most(&mut self, dim: DimTerm, most: u64, con: u32) -> Step {
        let reason = ReasonId::constraint(con);
        self.ariths.mention(&[dim]);
        match dim.node() {
            Some(node) => self.dims.narrow(&mut self.trail, node, (0, most), reason)?,
            None if self.size_of(dim).hi > most => {
                return Err(Conflict::TooLarge { size: self.size_of(dim).hi, most, reason });
            }
            None => {}
        }
        self.propagate()
    }

    /// Something became known of a class in arithmetic: check it against its bounds, and wake who waits.
    pub(crate) fn sized(&mut self, root: u32) -> Step {
        let root = self.dims.find(root);
        let Some(extra) = self.dims.extra_of(root) else { return Ok(()) };
        self.steps += 1;
        let bounds = self.dims.sizes.get(extra);
        if bounds.lo > bounds.hi {
            return Err(Conflict::Size { node: root });
        }
        match (self.dims.value(root), self.dims.cap(root)) {
            (Some(value), _) => {
                let (least, most) = self.ground_size(value);
                if most < bounds.lo || least > bounds.hi {
                    return Err(Conflict::Size { node: root });
                }
                if least != most {
                    self.symbol_within(root, value, (bounds.lo, bounds.hi))?;
                }
            }
            (None, Some(cap)) => {
                let (least, most) = self.ground_size(cap);
                let basis = cap.atom_index().map(|atom| self.atoms[atom].basis);
                let other = self.dims.basis(root).is_some_and(|own| Some(own) != basis && most > 0);
                let literal = bounds.lo == bounds.hi && least != most;
                if most < bounds.lo || least > bounds.hi || other || literal {
                    let reason = self.dims.reason(Reason::OnlyUnit { node: root });
                    self.dims.commit(&mut self.trail, root, DimTerm::UNIT, reason)?;
                }
            }
            (None, None) if bounds.hi == 0 => {
                let zero = self.size(0);
                let reason = self.dims.reason(Reason::OnlyUnit { node: root });
                self.dims.commit(&mut self.trail, root, zero, reason)?;
            }
            // A symbol whose range is one number is that number.
            (None, None) if bounds.lo == bounds.hi && self.dims.tag(root).is_some() => {
                let basis = self.dims.basis(root).unwrap_or(Basis::DEFAULT);
                let value = self.atom(Atom { size: bounds.lo, basis });
                let reason = self.dims.reason(Reason::OnlyUnit { node: root });
                self.dims.commit(&mut self.trail, root, value, reason)?;
            }
            (None, None) => {}
        }
        if let (Some(value), Some(basis)) = (self.dims.value(root), self.dims.basis(root))
            && let Some(atom) = value.atom_index()
            && self.atoms[atom].basis != basis
            && self.atoms[atom].size > 0
        {
            return Err(Conflict::Size { node: root });
        }
        let Solver { dims, ariths, supports, .. } = self;
        for watch in dims.sizes.watchers(extra) {
            if !supports.wake_watch(watch) {
                ariths.enqueue(watch);
            }
        }
        Ok(())
    }

    /// Runs a propagator.
    pub(crate) fn run_arith(&mut self, con: u32) -> Step {
        self.steps += 1;
        match self.ariths.get(con) {
            Arith::Linear { .. } => self.run_linear(con),
            Arith::Count { .. } => self.run_count(con),
            Arith::Exact { .. } => self.run_exact(con),
        }
    }

    /// The least and the greatest size of a ground term: the same, unless it is symbolic.
    fn ground_size(&self, term: DimTerm) -> (u64, u64) {
        if let Some(form) = self.symbols.form_of(term) {
            return self.form_bounds(form);
        }
        let size = term.atom_index().map_or(1, |atom| self.atoms[atom].size);
        (size, size)
    }

    /// What is known of the size of a term.
    fn size_of(&self, term: DimTerm) -> Known {
        let resolved = self.dims.resolve(term);
        match resolved.node() {
            None => {
                let (lo, hi) = self.ground_size(resolved);
                // A symbolic size is an unknown that nothing narrows.
                Known { root: if lo == hi { NIL } else { resolved.0 }, lo, hi }
            }
            Some(root) => match self.dims.extra_of(root) {
                None => Known { root, lo: 1, hi: ANY },
                Some(extra) => {
                    let bounds = self.dims.sizes.get(extra);
                    Known { root, lo: bounds.lo, hi: bounds.hi }
                }
            },
        }
    }

    /// What is known of the size of a dimension: the least and the greatest, both the same if it is
    /// fixed.
    pub(crate) fn size_bounds(&self, term: DimTerm) -> (u64, u64) {
        let known = self.size_of(term);
        (known.lo, known.hi)
    }

    /// The sizes of the dimensions of an arithmetic constraint, as far as they are known: of its rows,
    /// then of those written out.
    pub(crate) fn known_sizes(&self, con: u32) -> Vec<Option<u64>> {
        let arith = self.ariths.get(con);
        let rows = arith.rows().filter(|row| self.rows.is_fixed(*row));
        let axes = rows.flat_map(|row| (0..self.ranks.lo(row)).map(move |at| self.rows.axis(row, at)));
        let known = |dim: DimTerm| if dim.is_none() { None } else { self.size_of(dim).fixed() };
        axes.chain(arith.dims()).map(known).collect()
    }

    fn narrow(&mut self, con: u32, root: u32, bounds: (u64, u64), fixes: bool) -> Step {
        if DimTerm(root).is_ground() {
            return Ok(());
        }
        if !fixes {
            if self.ariths.cons[con as usize].narrowed >= MOST_PUSHES {
                return Ok(());
            }
            self.ariths.save(&mut self.trail, con);
            self.ariths.cons[con as usize].narrowed += 1;
        }
        let reason = self.dims.reason(Reason::Arith { con });
        self.dims.narrow(&mut self.trail, root, bounds, reason)
    }
}
