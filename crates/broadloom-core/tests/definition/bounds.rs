//! The least and the greatest rank of every row, from the constraints on ranks.
//!
//! Every rule is applied to every constraint, over and over, until nothing changes.

use super::system::{Says, System, Term};

/// Stands for "no greatest rank".
pub const MANY: i32 = 1_000_000;

/// Ranks beyond this only come from going round a circle of facts that has no solution.
const TOO_LONG: i32 = 100;

/// The bounds of each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The least rank.
    pub lo: Vec<i32>,
    /// The greatest rank, or [`MANY`].
    pub hi: Vec<i32>,
}

/// The reason why there are no ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The equalities and inequalities contradict each other.
    Facts,
    /// They do not, but a result would be longer than the operands it is made of.
    Made,
}

impl Bounds {
    /// Returns true if the rank of a row is known.
    pub fn fixed(&self, row: usize) -> bool {
        self.lo[row] == self.hi[row]
    }

    /// The least number of axes of a term.
    pub fn least(&self, term: &Term) -> i32 {
        term.flanks() + term.row.map_or(0, |row| self.lo[row])
    }

    /// The greatest number of axes of a term.
    pub fn most(&self, term: &Term) -> i32 {
        match term.row.map_or(0, |row| self.hi[row]) {
            MANY => MANY,
            hi => hi + term.flanks(),
        }
    }

    fn raise(&mut self, term: &Term, least: i32) {
        if let Some(row) = term.row {
            self.lo[row] = self.lo[row].max(least - term.flanks());
        } else if least > term.flanks() {
            self.hi.iter_mut().for_each(|hi| *hi = -1);
        }
    }

    fn lower(&mut self, term: &Term, most: i32) {
        if let Some(row) = term.row {
            if most < MANY {
                self.hi[row] = self.hi[row].min(most - term.flanks());
            }
        } else if most < term.flanks() {
            self.hi.iter_mut().for_each(|hi| *hi = -1);
        }
    }

    fn refine(&mut self, res: &Term, opnd: &Term) {
        self.raise(res, self.least(opnd));
        self.lower(opnd, self.most(res));
    }

    fn apply(&mut self, says: &Says, with_made: bool) {
        match says {
            Says::Le(res, opnd) => self.refine(res, opnd),
            Says::Eq(a, b) => {
                self.refine(a, b);
                self.refine(b, a);
            }
            Says::Made(res, opnds) if with_made => {
                let res = Term::var(*res);
                self.lower(&res, opnds.iter().map(|opnd| self.most(opnd)).max().unwrap_or(0));
                let least = self.least(&res);
                let mut able = opnds.iter().filter(|opnd| self.most(opnd) >= least);
                if let (Some(only), None) = (able.next(), able.next()) {
                    self.raise(&only.clone(), least);
                }
            }
            Says::Made(..) => {}
        }
    }

    fn possible(&self) -> bool {
        self.lo.iter().zip(&self.hi).all(|(lo, hi)| lo <= hi && *lo < TOO_LONG)
    }
}

fn fixpoint(system: &System, settled: &[Option<i32>], with_made: bool) -> Option<Bounds> {
    let mut bounds = Bounds {
        lo: settled.iter().map(|rank| rank.unwrap_or(0)).collect(),
        hi: settled.iter().map(|rank| rank.unwrap_or(MANY)).collect(),
    };
    loop {
        let before = bounds.clone();
        system.says.iter().for_each(|says| bounds.apply(says, with_made));
        if !bounds.possible() {
            return None;
        }
        if bounds == before {
            return Some(bounds);
        }
    }
}

/// The bounds, where some ranks are settled already.
pub fn bounds(system: &System, settled: &[Option<i32>]) -> Result<Bounds, Failed> {
    fixpoint(system, settled, true).ok_or_else(|| match fixpoint(system, settled, false) {
        Some(_) => Failed::Made,
        None => Failed::Facts,
    })
}
