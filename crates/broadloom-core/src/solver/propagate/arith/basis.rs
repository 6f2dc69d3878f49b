//! The basis that the dimensions of a linear equation share.

use crate::ids::ArithId;
use crate::order::{Atom, Basis};
use crate::solver::known::size_of;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::reason::{Conflict, Outcome, Reason, ReasonId};
use crate::solver::stores::state::State;
use crate::term::DimVar;
use smallvec::SmallVec;

/// Shares the basis of an equation among the dimensions that carry it: known of one, it is known of all, and
/// with the size it is the value.
pub(crate) fn share_basis(state: &mut State, con: ArithId, holds: bool) -> Outcome {
    let Arith::Linear { items, .. } = state.ariths.get(con) else { return Ok(()) };
    let mut basis: Option<Basis> = None;
    let (mut open, mut settled) = (SmallVec::<[DimVar; 3]>::new(), true);
    for item in items {
        let resolved = state.dims.resolve(item.dim);
        settled &= resolved.is_ground();
        let own = match (resolved.var(), resolved.atom()) {
            _ if !item.carries => None,
            // A component that may turn out to be the unit, or empty, is no evidence.
            (Some(root), _) => {
                open.push(root);
                state.dims.basis(root).filter(|_| is_atom(state, root))
            }
            // The empty part has no basis, unless it claims to be a size.
            (None, Some(atom)) if state.atoms[atom].size > 0 || item.claims => Some(state.atoms[atom].basis),
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
            state.ariths.finish(&mut state.trail, con);
        }
        return Ok(());
    }
    let Some(basis) = basis else { return Ok(()) };
    let reason = state.dims.reason(Reason::Arith { con });
    for root in open {
        state.dims.set_basis(&mut state.trail, root, basis, reason);
        value_from_size(state, root, reason)?;
    }
    Ok(())
}

/// True if a class without a value is certain to be an atom with elements.
fn is_atom(state: &State, root: DimVar) -> bool {
    let known = size_of(state, root.into());
    known.lo >= 2 || (known.lo == 1 && state.dims.claims(root))
}

/// The value of a class whose size and basis are both known.
fn value_from_size(state: &mut State, root: DimVar, reason: ReasonId) -> Outcome {
    let root = state.dims.find(root);
    let (Some(basis), true) = (state.dims.basis(root), state.dims.value(root).is_none()) else {
        return Ok(());
    };
    let fixed = size_of(state, root.into()).fixed().filter(|size| *size > 0 && state.dims.claims(root));
    let Some(size) = fixed else { return Ok(()) };
    let value = state.atom(Atom { size, basis });
    state.dims.commit(&mut state.trail, root, value, reason)
}
