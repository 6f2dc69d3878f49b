//! The stores: every fact the solver has recorded, why it holds, and the log that takes it back.
//!
//! A store knows its own rules ([`dims`]: Def. 4.2; [`ranks`]: Def. 5.2.1) and nothing of the rules that relate it
//! to others. [`State`](state::State) owns them all.

pub(crate) mod ariths;
pub(crate) mod constraints;
pub(crate) mod dims;
pub(crate) mod ranks;
pub(crate) mod reason;
pub(crate) mod rows;
pub(crate) mod sizes;
pub(crate) mod state;
pub(crate) mod supports;
pub(crate) mod symbols;
pub(crate) mod trail;
