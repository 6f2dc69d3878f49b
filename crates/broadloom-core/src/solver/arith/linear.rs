//! Linear equations between sizes: affine axes and concatenations.

use smallvec::SmallVec;

use super::super::Solver;
use super::super::reason::{Conflict, Reason, ReasonId, Step};
use super::super::sizes::ANY;
use super::{Arith, Known};
use crate::order::{Atom, Basis};
use crate::term::DimTerm;

impl Solver {
    /// `0 = constant + Σ coeff·size`, or between that and the slack: bounds consistency, then bases.
    pub(crate) fn run_linear(&mut self, con: u32) -> Step {
        if !self.symbols.is_empty() && self.run_linear_symbolic(con)? {
            return Ok(());
        }
        let slack = self.ariths.get(con).slack();
        let Arith::Linear { items, constant, .. } = self.ariths.get(con) else { return Ok(()) };
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
        if open.is_empty() && !(-slack..=0).contains(&constant) {
            return Err(Conflict::Arith { con });
        }
        for at in 0..open.len() {
            let (known, coeff) = open[at];
            // coeff·x = −(constant + the others), somewhere between the two.
            let (mut least, mut greatest) = (Some(constant), Some(constant.saturating_add(slack)));
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
    pub(super) fn share_basis(&mut self, con: u32, holds: bool) -> Step {
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
}

fn div_ceil(a: i128, b: i128) -> i128 {
    a.saturating_neg().div_euclid(b).saturating_neg()
}
