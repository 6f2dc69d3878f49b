//! The store of arithmetic constraints: their forms, who waits for them, and the queue.

use crate::affine::Affine;
use crate::ids::{ArithId, IdVec};
use crate::solver::stores::trail::{Cell, Trail};
use crate::term::{ConstraintId, DimTerm, Numerator, Piece, RowVar};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A dimension of a linear equation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summand {
    pub coeff: i128,
    pub dim: DimTerm,
    /// True if it shares the basis of the others that do.
    pub carries: bool,
    /// True if it claims a size.
    pub claims: bool,
}

/// An arithmetic constraint.
#[derive(Clone, Debug)]
pub(crate) enum Arith {
    /// `0 = constant + Σ coeff·size`; the first item is the axis. An affine axis keeps its form: it is
    /// followed by what is iterated, and perhaps by a kernel. If its window drops a rest, the equation holds
    /// up to the slack of the form.
    Linear { items: SmallVec<[Summand; 3]>, constant: i128, form: Option<Affine> },
    /// `denom·∏ pieces·∏ divided_by = coeff·over`.
    Count { pieces: Vec<Piece>, numerator: Numerator, divided_by: Vec<DimTerm>, rest: Option<RowVar> },
    /// The pieces are the axes.
    Exact { pieces: Vec<Piece>, axes: Vec<DimTerm>, rest: Option<RowVar> },
}

impl Arith {
    /// The slack of a linear equation: its axis may be greater by so much than the rest of it says.
    pub fn slack(&self) -> i128 {
        match self {
            Arith::Linear { form: Some(form), .. } => form.slack().into(),
            _ => 0,
        }
    }

    /// The rows whose axes it is about.
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
    pub fn rows(&self) -> impl Iterator<Item = RowVar> + '_ {
        self.pieces().iter().filter_map(|piece| if let Piece::Row(row) = piece { Some(*row) } else { None })
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
    id: ConstraintId,
    what: Arith,
    done: bool,
    queued: bool,
    /// True if the axes of its rows are watched.
    expanded: bool,
    /// The number of bounds it narrowed without fixing them.
    narrowed: u32,
}

/// Two equations may push each other's bounds for ever (`x = y + 1`, `y = x + 1`); after so many pushes
/// an equation only passes on sizes that are fixed. Closing then says that it has no bound to search in.
const MOST_PUSHES: u32 = 256;

/// The store of arithmetic constraints.
#[derive(Clone, Default)]
pub(crate) struct Ariths {
    cons: IdVec<ArithId, Con>,
    queue: Vec<ArithId>,
    /// The dimensions that arithmetic mentions by name.
    mentioned: Vec<DimTerm>,
    /// Row variables in counts and lists.
    rows: FxHashMap<RowVar, SmallVec<[ArithId; 2]>>,
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

    /// Keeps a constraint.
    pub fn push(&mut self, what: Arith, id: ConstraintId) -> ArithId {
        let con = self.next();
        for row in what.rows() {
            self.rows.entry(row).or_default().push(con);
        }
        self.mention(&what.dims());
        self.cons.push(Con { id, what, done: false, queued: false, expanded: false, narrowed: 0 });
        con
    }

    /// The number that the next constraint gets.
    pub fn next(&self) -> ArithId {
        self.cons.next()
    }

    pub fn get(&self, con: ArithId) -> &Arith {
        &self.cons[con].what
    }

    /// The constraint's id.
    pub fn id(&self, con: ArithId) -> ConstraintId {
        self.cons[con].id
    }

    /// The constraints that are not settled.
    pub fn pending(&self) -> impl Iterator<Item = ArithId> + '_ {
        self.cons.ids().filter(|con| !self.cons[*con].done)
    }

    /// The counts and lists about a row variable.
    pub fn of_row(&self, row: RowVar) -> &[ArithId] {
        if self.rows.is_empty() { &[] } else { self.rows.get(&row).map_or(&[], |cons| cons.as_slice()) }
    }

    pub fn enqueue(&mut self, con: ArithId) {
        let entry = &mut self.cons[con];
        if !entry.done && !entry.queued {
            entry.queued = true;
            self.queue.push(con);
        }
    }

    pub fn enqueue_row(&mut self, row: RowVar) {
        if let Some(cons) = self.rows.get(&row) {
            for con in cons.clone() {
                self.enqueue(con);
            }
        }
    }

    pub fn pop(&mut self) -> Option<ArithId> {
        let con = self.queue.pop()?;
        self.cons[con].queued = false;
        Some(con)
    }

    /// Empties the queue.
    pub fn clear_queue(&mut self) {
        while self.pop().is_some() {}
    }

    /// Notes that the axes of its rows are watched. Returns whether that is news.
    pub fn expand(&mut self, trail: &mut Trail, con: ArithId) -> bool {
        if self.cons[con].expanded {
            return false;
        }
        self.save(trail, con);
        self.cons[con].expanded = true;
        true
    }

    /// Counts a bound that is narrowed without being fixed. Returns whether there were not too many of them.
    pub fn may_push(&mut self, trail: &mut Trail, con: ArithId) -> bool {
        if self.cons[con].narrowed >= MOST_PUSHES {
            return false;
        }
        self.save(trail, con);
        self.cons[con].narrowed += 1;
        true
    }

    /// Notes that a constraint has nothing left to say.
    pub fn finish(&mut self, trail: &mut Trail, con: ArithId) {
        self.save(trail, con);
        self.cons[con].done = true;
    }

    fn save(&self, trail: &mut Trail, con: ArithId) {
        let Con { done, expanded, narrowed, .. } = self.cons[con];
        trail.save_pair(Cell::Arith, con, u32::from(done) | u32::from(expanded) << 1, narrowed);
    }

    /// Puts a logged word back.
    pub fn restore(&mut self, con: ArithId, flags: u32, narrowed: u32) {
        let con = &mut self.cons[con];
        (con.done, con.expanded, con.narrowed) = (flags & 1 != 0, flags & 2 != 0, narrowed);
    }
}
