//! Listed axes: an equation between sequences.

use smallvec::SmallVec;

use super::super::Solver;
use super::super::ranks::Pred;
use super::super::reason::{Conflict, Reason, Step};
use super::super::rows::Slot;
use super::Arith;
use crate::term::{DimTerm, Piece, RowVar};

impl Solver {
    /// The pieces are the axes: ranks add up, and what is certain from either end is equal.
    pub(crate) fn run_exact(&mut self, con: u32) -> Step {
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
}
