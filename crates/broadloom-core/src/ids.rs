//! Numbers of things in stores.

/// `u32::MAX`: no node, no edge, no reason, no row constraint.
pub(crate) const NIL: u32 = u32::MAX;
