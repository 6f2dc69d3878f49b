//! The least ranks of a whole graph at once.

use crate::ids::{RankEdgeId, RowConId};
use crate::solver::components::{Components, components};
use crate::solver::stores::ranks::{Pred, RankCause, RankEdge, Ranks};
use crate::solver::stores::reason::{Conflict, Outcome};
use crate::solver::stores::trail::{Cell, Trail};
use crate::term::RowVar;
use rustc_hash::FxHashMap;

impl Ranks {
    /// Adds the fact `rank to ≥ rank from + k` without moving anything: [`settle`](Ranks::settle) does.
    pub fn hold_edge(&mut self, from: RowVar, to: RowVar, k: i32, con: RowConId) -> Outcome {
        if from != to {
            self.link(from, to, k, con);
        } else if k > 0 {
            return Err(Conflict::RankCycle { row: to, con });
        }
        Ok(())
    }

    /// Raises every least rank to the least solution of all facts. Components of the graph are visited from
    /// below, so that each is final before the next. Within one, rows are visited in the order in which they
    /// were reached and then in the opposite order, again and again until nothing moves; what goes around a cycle
    /// moves all the way with one of the two.
    pub fn settle(&mut self, trail: &mut Trail) -> Outcome {
        let Components { of, mut order } = components(self.nodes.len(), |row, out| {
            out.extend(self.outward(row).map(|(_, edge)| edge.to));
        });
        order.reverse();
        for members in order.chunk_by(|a, b| of[*a] == of[*b]) {
            let mut moved = self.raise_from(trail, members.iter())?;
            while moved && members.len() > 1 {
                self.no_cycle(members)?;
                let back = self.raise_from(trail, members.iter().rev())?;
                moved = self.raise_from(trail, members.iter())? || back;
            }
        }
        Ok(())
    }

    /// The edges along which a raise of a row travels on.
    fn outward(&self, row: RowVar) -> impl Iterator<Item = (RankEdgeId, RankEdge)> + '_ {
        let mut next = self.nodes[row].out;
        std::iter::from_fn(move || {
            let edge = next.some()?;
            next = self.edges[edge].next_out;
            Some((edge, self.edges[edge]))
        })
    }

    /// Raises what the given rows ask for, once. Returns whether anything moved.
    fn raise_from<'r>(&mut self, trail: &mut Trail, rows: impl Iterator<Item = &'r RowVar>) -> Outcome<bool> {
        let mut moved = false;
        for row in rows {
            let mut next = self.nodes[*row].out;
            while next != RankEdgeId::NIL {
                let (edge, RankEdge { to, k, next_out, .. }) = (next, self.edges[next]);
                let reached = i64::from(self.lo(*row)) + i64::from(k);
                if reached > i64::from(self.lo(to)) {
                    self.spend()?;
                    let node = &mut self.nodes[to];
                    trail.save_pair(Cell::Lo, to, node.lo, node.lo_pred);
                    (node.lo, node.lo_pred) = (reached as u32, Pred::edge(edge));
                    let (bound, most, supports) = (node.lo, node.hi, node.supports);
                    self.touched.push(to);
                    if supports {
                        self.moved.push(to);
                    }
                    if bound > most {
                        return Err(Conflict::Rank { row: to, lo: bound, hi: most });
                    }
                    moved = true;
                }
                next = next_out;
            }
        }
        Ok(moved)
    }

    /// Fails if some of the rows raised each other in a circle: then the facts around it have a gain.
    fn no_cycle(&self, rows: &[RowVar]) -> Outcome {
        // The walk that passed each row.
        let mut walk: FxHashMap<RowVar, RowVar> = FxHashMap::default();
        for start in rows {
            let mut at = *start;
            while let RankCause::Edge(edge) = self.lo_cause(at) {
                match walk.insert(at, *start) {
                    None => at = self.edge(edge).from,
                    Some(earlier) if earlier == *start => {
                        return Err(Conflict::RankCycle { row: at, con: self.edge(edge).con });
                    }
                    Some(_) => break,
                }
            }
        }
        Ok(())
    }
}
