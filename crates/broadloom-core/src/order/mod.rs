//! The broadcast order.
