//! Windows: convolutions, their gradients, and pooling.

use crate::function::Writer;
use crate::nest::Nest;

impl Writer<'_> {
    /// Writes a store as one operation on windows, if it is one.
    pub fn windowed_store(&mut self, _nest: &Nest<'_>) -> Result<bool, String> {
        Ok(false)
    }
}
