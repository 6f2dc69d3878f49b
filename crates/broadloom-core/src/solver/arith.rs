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

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Solver;
use super::ranks::Pred;
use super::reason::{Conflict, NIL, Reason, ReasonId, Step};
use super::rows::{Slot, Term};
use super::sizes::ANY;
use super::trail::{Cell, Trail};
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
    /// `0 = constant + Σ coeff·size`; the first item is the axis.
    Linear { items: SmallVec<[Item; 3]>, constant: i128 },
    /// `denom·∏ pieces·∏ divided_by = coeff·over`.
    Count { pieces: Vec<Piece>, numerator: Numerator, divided_by: Vec<DimTerm>, rest: Option<RowVar> },
    /// The pieces are the axes.
    Exact { pieces: Vec<Piece>, axes: Vec<DimTerm>, rest: Option<RowVar> },
}

impl Arith {
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
#[derive(Default)]
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
                let size = self.ground_size(value);
                if size < bounds.lo || size > bounds.hi {
                    return Err(Conflict::Size { node: root });
                }
            }
            (None, Some(cap)) => {
                let size = self.ground_size(cap);
                let basis = cap.atom_index().map(|atom| self.atoms[atom].basis);
                let other = self.dims.basis(root).is_some_and(|own| Some(own) != basis && size > 0);
                if size < bounds.lo || size > bounds.hi || other {
                    let reason = self.dims.reason(Reason::OnlyUnit { node: root });
                    self.dims.commit(&mut self.trail, root, DimTerm::UNIT, reason)?;
                }
            }
            (None, None) if bounds.hi == 0 => {
                let zero = self.size(0);
                let reason = self.dims.reason(Reason::OnlyUnit { node: root });
                self.dims.commit(&mut self.trail, root, zero, reason)?;
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
        let Solver { dims, ariths, .. } = self;
        for con in dims.sizes.watchers(extra) {
            ariths.enqueue(con);
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

    fn ground_size(&self, term: DimTerm) -> u64 {
        term.atom_index().map_or(1, |atom| self.atoms[atom].size)
    }

    /// What is known of the size of a term.
    fn size_of(&self, term: DimTerm) -> Known {
        let resolved = self.dims.resolve(term);
        match resolved.node() {
            None => {
                let size = self.ground_size(resolved);
                Known { root: NIL, lo: size, hi: size }
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

    /// `0 = constant + Σ coeff·size`: bounds consistency, then bases.
    fn run_linear(&mut self, con: u32) -> Step {
        let Arith::Linear { items, constant } = self.ariths.get(con) else { return Ok(()) };
        // Classes without a fixed size, with their coefficients added up; the rest is constant.
        let mut open: SmallVec<[(Known, i128); 4]> = SmallVec::new();
        let mut constant = *constant;
        for item in items {
            let known = self.size_of(item.dim);
            let coeff = item.coeff;
            match known.fixed() {
                Some(size) => constant = constant.saturating_add(coeff.saturating_mul(i128::from(size))),
                None => match open.iter_mut().find(|(other, _)| other.root == known.root) {
                    Some((_, sum)) => *sum += coeff,
                    None => open.push((known, coeff)),
                },
            }
        }
        open.retain(|(_, coeff)| *coeff != 0);
        if open.is_empty() && constant != 0 {
            return Err(Conflict::Arith { con });
        }
        for at in 0..open.len() {
            let (known, coeff) = open[at];
            // coeff·x = −(constant + the others), somewhere between the two.
            let (mut least, mut greatest) = (Some(constant), Some(constant));
            for (other, factor) in
                open.iter().enumerate().filter(|(at_other, _)| *at_other != at).map(|(_, o)| o)
            {
                let (low, high) = (i128::from(other.lo), (other.hi != ANY).then_some(i128::from(other.hi)));
                let (down, up) = if *factor > 0 { (Some(low), high) } else { (high, Some(low)) };
                least = least.zip(down).map(|(sum, size)| sum.saturating_add(factor.saturating_mul(size)));
                greatest =
                    greatest.zip(up).map(|(sum, size)| sum.saturating_add(factor.saturating_mul(size)));
            }
            let (from, to) = (greatest.map(i128::saturating_neg), least.map(i128::saturating_neg));
            let (from, to) = if coeff > 0 {
                (from, to)
            } else {
                (to.map(i128::saturating_neg), from.map(i128::saturating_neg))
            };
            let coeff = coeff.abs();
            let lo = from.map_or(0, |from| div_ceil(from, coeff));
            let most = to.map(|to| to.div_euclid(coeff));
            if most.is_some_and(|most| most < 0) {
                return Err(Conflict::Arith { con });
            }
            let hi = most.map_or(ANY, |most| u64::try_from(most).unwrap_or(ANY));
            // A size that no machine word holds is no size.
            let Some(lo) = u64::try_from(lo.max(0)).ok().filter(|lo| *lo < ANY) else {
                return Err(Conflict::Arith { con });
            };
            if lo > known.lo || hi < known.hi {
                if lo > hi {
                    return Err(Conflict::Arith { con });
                }
                self.narrow(con, known.root, (lo, hi), lo.max(known.lo) == hi.min(known.hi))?;
            }
        }
        // If the sizes were not all known, the equation is looked at again when they are.
        self.share_basis(con, open.is_empty())
    }

    /// What carries the basis of an equation has one and the same: known of one, it is known of all, and
    /// with the size it is the value.
    fn share_basis(&mut self, con: u32, holds: bool) -> Step {
        let Arith::Linear { items, .. } = self.ariths.get(con) else { return Ok(()) };
        let mut basis: Option<Basis> = None;
        let (mut open, mut settled) = (SmallVec::<[u32; 3]>::new(), true);
        for item in items {
            let resolved = self.dims.resolve(item.dim);
            settled &= resolved.is_ground();
            let own = match (resolved.node(), resolved.atom_index()) {
                _ if !item.carries => None,
                // What may turn out to be the unit, or empty, is no evidence.
                (Some(root), _) => {
                    open.push(root);
                    self.dims.basis(root).filter(|_| self.is_atom(root))
                }
                // The empty part has no basis to speak of, unless it claims to be a size.
                (None, Some(atom)) if self.atoms[atom].size > 0 || item.claims => {
                    Some(self.atoms[atom].basis)
                }
                (None, _) => None,
            };
            if let Some(own) = own
                && *basis.get_or_insert(own) != own
            {
                return Err(Conflict::Arith { con });
            }
        }
        if settled {
            if holds {
                self.ariths.finish(&mut self.trail, con);
            }
            return Ok(());
        }
        let Some(basis) = basis else { return Ok(()) };
        let reason = self.dims.reason(Reason::Arith { con });
        for root in open {
            self.dims.set_basis(&mut self.trail, root, basis, reason);
            self.value_from_size(root, reason)?;
        }
        Ok(())
    }

    /// Whether a class without a value is certain to be an atom with elements.
    fn is_atom(&self, root: u32) -> bool {
        let known = self.size_of(DimTerm(root));
        known.lo >= 2 || (known.lo == 1 && self.dims.claims(root))
    }

    /// The value of a class whose size and basis are both known.
    fn value_from_size(&mut self, root: u32, reason: ReasonId) -> Step {
        let root = self.dims.find(root);
        let (Some(basis), true) = (self.dims.basis(root), self.dims.value(root).is_none()) else {
            return Ok(());
        };
        let fixed = self.size_of(DimTerm(root)).fixed().filter(|size| *size > 0 && self.dims.claims(root));
        let Some(size) = fixed else { return Ok(()) };
        let value = self.atom(Atom { size, basis });
        self.dims.commit(&mut self.trail, root, value, reason)
    }

    /// The axes of the pieces, if every rank is fixed; axes nobody spoke of yet get a variable.
    fn flatten(&mut self, con: u32) -> Option<Vec<DimTerm>> {
        let pieces = self.ariths.get(con).pieces().to_vec();
        let mut axes = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Dim(dim) => axes.push(dim),
                Piece::Row(RowVar(row)) if self.rows.is_fixed(row) => {
                    for at in 0..self.ranks.lo(row) {
                        let axis = self.rows.axis(row, at);
                        axes.push(if axis.is_none() { self.mint(Slot::Axis { row, at }) } else { axis });
                    }
                }
                Piece::Row(_) => return None,
            }
        }
        Some(axes)
    }

    /// `denom·∏ axes·∏ divided_by = coeff·over`, once the ranks are fixed.
    fn run_count(&mut self, con: u32) -> Step {
        let Some(axes) = self.flatten(con) else { return Ok(()) };
        if !self.ariths.cons[con as usize].expanded {
            self.ariths.save(&mut self.trail, con);
            self.ariths.cons[con as usize].expanded = true;
            for node in axes.iter().filter_map(|axis| axis.node()) {
                let extra = self.dims.extra(&mut self.trail, node);
                self.dims.sizes.watch(&mut self.trail, extra, con);
            }
        }
        let Arith::Count { numerator, divided_by, .. } = self.ariths.get(con) else { return Ok(()) };
        let Numerator { coeff, over, denom } = *numerator;
        let mut product =
            Product { left: u128::from(denom), right: u128::from(coeff), open: SmallVec::new() };
        let mut settled = true;
        for (dim, exponent) in
            axes.iter().chain(divided_by).map(|dim| (*dim, 1)).chain(over.map(|dim| (dim, -1)))
        {
            let known = self.size_of(dim);
            settled &= known.root == NIL;
            if !product.multiply(known, exponent) {
                return Err(Conflict::Arith { con });
            }
        }
        if settled {
            self.ariths.finish(&mut self.trail, con);
        }
        let Some(bounds) = product.bounds() else { return Err(Conflict::Arith { con }) };
        for (known, (lo, hi)) in product.open.iter().map(|(known, _)| *known).zip(bounds) {
            if lo > known.lo || hi < known.hi {
                self.narrow(con, known.root, (lo, hi), lo.max(known.lo) == hi.min(known.hi))?;
            }
        }
        Ok(())
    }

    /// The pieces are the axes: ranks add up, and what is certain from either end is equal.
    fn run_exact(&mut self, con: u32) -> Step {
        let Arith::Exact { pieces, axes, .. } = self.ariths.get(con) else { return Ok(()) };
        let (pieces, axes) = (pieces.clone(), axes.clone());
        let total = axes.len() as i64;
        let least = |piece: &Piece| match piece {
            Piece::Dim(_) => 1,
            Piece::Row(row) => i64::from(self.ranks.lo(row.0)),
        };
        let needed: i64 = pieces.iter().map(least).sum();
        let open: SmallVec<[u32; 3]> =
            self.ariths.get(con).rows().filter(|row| !self.rows.is_fixed(*row)).collect();
        if open.is_empty() && needed != total || needed > total {
            return Err(Conflict::Arith { con });
        }
        for row in &open {
            let most = total - needed + i64::from(self.ranks.lo(*row));
            self.ranks.at_most(&mut self.trail, *row, most, Pred::arith(con))?;
            if open.len() == 1 {
                self.ranks.at_least(&mut self.trail, *row, most as u32, Pred::arith(con))?;
            }
        }
        if !self.ranks.touched.is_empty() {
            // Come back when the axes are laid out.
            self.ariths.enqueue(con);
            return Ok(());
        }
        self.align_exact(con, &mut pieces.iter(), &mut axes.iter(), false)?;
        if open.is_empty() {
            self.ariths.finish(&mut self.trail, con);
            return Ok(());
        }
        self.align_exact(con, &mut pieces.iter().rev(), &mut axes.iter().rev(), true)
    }

    /// Equates pieces with axes from one end, up to the first row of open rank.
    fn align_exact<'a>(
        &mut self,
        con: u32,
        pieces: &mut dyn Iterator<Item = &'a Piece>,
        axes: &mut dyn Iterator<Item = &'a DimTerm>,
        back: bool,
    ) -> Step {
        for piece in pieces {
            match *piece {
                Piece::Dim(dim) => {
                    let Some(axis) = axes.next() else { return Ok(()) };
                    let reason = self.dims.reason(Reason::Arith { con });
                    self.dims.equate(&mut self.trail, dim, *axis, reason)?;
                }
                Piece::Row(RowVar(row)) if self.rows.is_fixed(row) => {
                    let rank = self.ranks.lo(row);
                    for at in 0..rank {
                        let at = if back { rank - 1 - at } else { at };
                        let Some(axis) = axes.next() else { return Ok(()) };
                        let reason = self.dims.reason(Reason::Arith { con });
                        match self.rows.axis(row, at) {
                            DimTerm::NONE => {
                                self.rows.fill(&mut self.trail, Slot::Axis { row, at }, *axis, reason);
                                self.is_an_axis(*axis, reason)?;
                            }
                            own => self.dims.equate(&mut self.trail, own, *axis, reason)?,
                        }
                    }
                }
                Piece::Row(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// The rank that a count or a list leaves to one of its rows, when all other rows have theirs: no
    /// further axes if that can do, else one axis of the size that is missing.
    pub(crate) fn counted_rank(&self, row: u32) -> Option<u32> {
        let least = self.ranks.lo(row);
        let counted = |con: &u32| {
            let arith = self.ariths.get(*con);
            let Arith::Count { pieces, numerator, divided_by, .. } = arith else { return least };
            let others_open = arith.rows().any(|other| other != row && !self.rows.is_fixed(other));
            if others_open && arith.rest() != Some(RowVar(row)) {
                return least;
            }
            let Numerator { coeff, over, denom } = *numerator;
            let mut product =
                Product { left: u128::from(denom), right: u128::from(coeff), open: SmallVec::new() };
            let mut multiply = |dim: DimTerm, exponent: i32| {
                let unspoken = Known { root: NIL, lo: 1, hi: ANY };
                let known = if dim.is_none() { unspoken } else { self.size_of(dim) };
                product.multiply(known, exponent)
            };
            let mut fits = divided_by.iter().all(|dim| multiply(*dim, 1));
            fits &= over.is_none_or(|dim| multiply(dim, -1));
            for piece in pieces {
                match *piece {
                    Piece::Dim(dim) => fits &= multiply(dim, 1),
                    Piece::Row(RowVar(row)) => {
                        let term = Term { start: 0, lead: 0, trail: 0, hole: row };
                        for at in 0..self.ranks.lo(row) {
                            fits &= match self.rows.spot(&self.ranks, term, super::reason::Side::Left, at) {
                                super::rows::Spot::Known(dim) => multiply(dim, 1),
                                _ => multiply(DimTerm::NONE, 1),
                            };
                        }
                    }
                }
            }
            if fits && product.bounds().is_some() { least } else { least + 1 }
        };
        self.ariths.of_row(row).iter().map(counted).max()
    }
}

/// `left·∏ openᵉ = right`, exponents of either sign.
struct Product {
    left: u128,
    right: u128,
    open: SmallVec<[(Known, i32); 8]>,
}

impl Product {
    /// False if the numbers are beyond all reason.
    fn multiply(&mut self, known: Known, exponent: i32) -> bool {
        match known.fixed() {
            Some(size) => {
                let side = if exponent > 0 { &mut self.left } else { &mut self.right };
                match side.checked_mul(u128::from(size)) {
                    Some(product) => *side = product,
                    None => return false,
                }
            }
            None => {
                // What may be zero does not cancel out: it is kept for each side.
                let same = |(other, sum): &&mut (Known, i32)| {
                    other.root == known.root && known.root != NIL && (known.lo > 0 || *sum * exponent > 0)
                };
                match self.open.iter_mut().find(same) {
                    Some((_, sum)) => *sum += exponent,
                    None => self.open.push((known, exponent)),
                }
            }
        }
        true
    }

    /// Bounds for each open factor; none if there is no solution.
    fn bounds(&mut self) -> Option<SmallVec<[(u64, u64); 8]>> {
        let Product { left, right, open } = self;
        let all = (0, ANY);
        // If one side is not zero, no factor of the other side is.
        let positive = |constant: u128, sign: i32| {
            let may_vanish = |(known, exponent): &(Known, i32)| *exponent * sign >= 0 && known.lo == 0;
            constant > 0 && !open.iter().any(may_vanish)
        };
        if open.iter().any(|(known, _)| known.lo == 0) {
            let (left_is, right_is) = (positive(*left, 1), positive(*right, -1));
            let least = |exponent: i32| {
                let opposite = if exponent > 0 { right_is } else { left_is };
                if opposite && exponent != 0 { (1, ANY) } else { all }
            };
            return Some(open.iter().map(|(_, exponent)| least(*exponent)).collect());
        }
        open.retain(|(_, exponent)| *exponent != 0);
        match (*left, *right) {
            (0, 0) => return Some(open.iter().map(|_| all).collect()),
            (0, _) | (_, 0) => return None,
            _ => {}
        }
        let common = gcd(*left, *right);
        let (left, right) = (*left / common, *right / common);
        match open.as_slice() {
            [] => (left == right).then(SmallVec::new),
            [(_, exponent)] => {
                let (from, to) = if *exponent > 0 { (left, right) } else { (right, left) };
                let root = (from == 1).then(|| integer_root(to, exponent.unsigned_abs())).flatten()?;
                Some(SmallVec::from_slice(&[(root, root)]))
            }
            [(_, 1), (_, -1)] | [(_, -1), (_, 1)] => {
                // `left·x = right·y` in lowest terms: each is a multiple of the other's factor.
                let least =
                    |exponent: i32| Some((u64::try_from(if exponent > 0 { right } else { left }).ok()?, ANY));
                open.iter().map(|(_, exponent)| least(*exponent)).collect()
            }
            // Several unknowns on one side: together they are the quotient, so each is at most that.
            open if open.iter().all(|(_, exponent)| *exponent > 0) => {
                if left != 1 {
                    return None;
                }
                let power =
                    |known: &Known, exponent: i32| u128::from(known.lo).saturating_pow(exponent as u32);
                let least =
                    open.iter().fold(1u128, |product, (known, e)| product.saturating_mul(power(known, *e)));
                if least > right {
                    return None;
                }
                let most = |known: &Known, exponent: i32| {
                    let others = least / power(known, exponent).max(1);
                    u64::try_from(right / others.max(1)).unwrap_or(ANY)
                };
                Some(open.iter().map(|(known, exponent)| (0, most(known, *exponent))).collect())
            }
            open => Some(open.iter().map(|_| all).collect()),
        }
    }
}

/// The greatest common divisor.
pub(crate) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn integer_root(value: u128, exponent: u32) -> Option<u64> {
    if exponent == 1 {
        return u64::try_from(value).ok();
    }
    let root = (1..=64u32).rev().fold(0u128, |root, bit| {
        let next = root | 1 << (bit - 1);
        if next.checked_pow(exponent).is_some_and(|power| power <= value) { next } else { root }
    });
    (root.checked_pow(exponent) == Some(value)).then(|| u64::try_from(root).ok()).flatten()
}

fn div_ceil(a: i128, b: i128) -> i128 {
    a.saturating_neg().div_euclid(b).saturating_neg()
}
