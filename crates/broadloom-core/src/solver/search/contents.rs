//! The values that the axes of rows can have, whatever their ranks.
//!
//! Axes do not come from nowhere. In `R ≈ S` every axis of the one is an axis of the other; in `res ⊑ opnd`
//! every axis of the operand is the unit or an axis of the result; and the axes of a row that is
//! shifted against itself lie on chains between two flanks ([`residues`](super::residues)). So each row has a set of values
//! that its axes can have, found as a greatest fixpoint, and a flank that asks for something else is a contradiction, at
//! every rank.
//!
//! For example `[2, ..r..] ~ [..r.., 2]` makes `r` a word of twos; with `[..r..] <= [..s..]`, `s` has twos and units; and
//! `[..s..] <= [3]` then has no solution. A search over ranks would not come to an end before its bound.

use crate::ids::IdVec;
use crate::solver::search::residues::Shifted;
use crate::solver::stores::reason::{Conflict, Outcome};
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::{DimTerm, RowVar};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// A set of values: a bit for the unit and one for each atom.
type Values = u64;

const UNIT: Values = 1;

const ALL: Values = Values::MAX;

/// The possible values of all rows, in one step of the fixpoint.
struct Contents<'a> {
    state: &'a State,
    bits: FxHashMap<DimTerm, u32>,
    /// The values that the axes of each row can have.
    rows: IdVec<RowVar, Values>,
    /// The rows whose residue is assumed: residue and modulus.
    residues: &'a FxHashMap<RowVar, (u32, u32)>,
}

/// Checks that every flank can be made of what faces it, given the residues of some ranks.
pub(crate) fn contents_fit(state: &State, residues: &FxHashMap<RowVar, (u32, u32)>) -> Outcome {
    let mut contents = Contents { state, bits: FxHashMap::default(), rows: IdVec::default(), residues };
    for con in state.rows.cons() {
        for term in [con.res, con.opnd] {
            for axis in state.rows.literals(term) {
                contents.note(*axis);
            }
        }
    }
    if contents.bits.len() >= Values::BITS as usize {
        return Ok(());
    }
    contents.rows = IdVec::filled(ALL, state.rows.len());
    if contents.narrow() { Ok(()) } else { Err(Conflict::Contents) }
}

impl Contents<'_> {
    /// Gives a value a bit; the unit has the first.
    fn note(&mut self, axis: DimTerm) {
        let value = self.state.dims.resolve(axis);
        if value.is_ground() && value != DimTerm::UNIT {
            let next = self.bits.len() as u32 + 1;
            self.bits.entry(value).or_insert(next);
        }
    }

    /// The values that a dimension can have.
    fn of(&self, axis: DimTerm) -> Values {
        match self.state.dims.resolve(axis) {
            DimTerm::UNIT => UNIT,
            value => self.bits.get(&value).map_or(ALL, |bit| 1 << bit),
        }
    }

    /// The values that the axes of a term can have.
    fn word(&self, term: Term) -> Values {
        let inner = if term.hole == RowVar::NIL { 0 } else { self.rows[term.hole] };
        self.state.rows.literals(term).iter().fold(inner, |all, axis| all | self.of(*axis))
    }

    /// Narrows the rows to the fixpoint. False if a flank has no value left, or a row that has axes.
    fn narrow(&mut self) -> bool {
        loop {
            let before = self.rows.clone();
            for con in self.state.rows.cons() {
                if !self.narrow_by(con) {
                    return false;
                }
            }
            let starved = |row: RowVar| self.rows[row] == 0 && self.state.ranks.lo(row) > 0;
            if self.rows.ids().any(starved) {
                return false;
            }
            if self.rows.iter().eq(before.iter()) {
                return true;
            }
        }
    }

    fn narrow_by(&mut self, con: RowCon) -> bool {
        if let Some(shifted) = Shifted::new(con) {
            self.rows[con.res.hole] &= self.on_chains(shifted);
        } else if let Some(source) = self.source(con) {
            self.rows[con.res.hole] &= source | UNIT;
        }
        let RowCon { res, opnd, kind, .. } = con;
        match kind {
            Kind::Eq => self.made_of(opnd, self.word(res)) && self.made_of(res, self.word(opnd)),
            Kind::Le => self.made_of(opnd, self.word(res) | UNIT),
        }
    }

    /// The flank that all axes of a row come from, if it is an operand of itself and each of its axes faces one nearer to
    /// that flank, on whichever side of the marker it stands.
    fn source(&self, con: RowCon) -> Option<Values> {
        let RowCon { res, opnd, .. } = con;
        if res.hole == RowVar::NIL || res.hole != opnd.hole {
            return None;
        }
        let (lead, trail) = self.state.rows.literals(res).split_at(res.lead as usize);
        let flank = match (res.lead.cmp(&opnd.lead), res.trail.cmp(&opnd.trail)) {
            (Ordering::Greater, Ordering::Less) => lead,
            (Ordering::Less, Ordering::Greater) => trail,
            _ => return None,
        };
        Some(flank.iter().fold(0, |all, axis| all | self.of(*axis)))
    }

    /// Allows the axes of a term some values only. False if one has none of them.
    fn made_of(&mut self, term: Term, values: Values) -> bool {
        if term.hole != RowVar::NIL {
            self.rows[term.hole] &= values;
        }
        self.state.rows.literals(term).iter().all(|axis| self.of(*axis) & values != 0)
    }

    /// The values between the ends of the chains through a row that is shifted against itself.
    fn on_chains(&self, shifted: Shifted) -> Values {
        let RowCon { res, opnd, kind, .. } = shifted.con;
        let residues = match self.residues.get(&res.hole) {
            Some((residue, modulus)) if modulus % shifted.period == 0 => *residue..residue + 1,
            _ => 0..shifted.period,
        };
        let ends = residues.flat_map(|residue| shifted.chains(residue));
        ends.fold(0, |all, (below, above)| {
            let below = self.of(self.state.rows.literals(res)[below]);
            let above = self.of(self.state.rows.literals(opnd)[above]);
            all | match kind {
                Kind::Eq => below & above,
                // Whatever is below the unit; and above anything, the unit.
                Kind::Le => (below | UNIT) & (if above & UNIT == 0 { above } else { ALL }),
            }
        })
    }
}
