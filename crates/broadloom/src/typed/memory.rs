//! Memory as a range ("Memory Estimation").

use super::{Dim, TensorShape};

impl TensorShape {
    /// The least and the greatest number of elements. There is no greatest if a dimension has none,
    /// or is still to be inferred (the algorithm of the document counts it as one, which its proofs
    /// do not). Broadcast dimensions count as one.
    ///
    /// ```
    /// use broadloom::typed::{Dim, TensorShape};
    /// let shape = TensorShape::new([Dim::Named("batch".into(), Some((1, 64))), Dim::Literal(256)]);
    /// assert_eq!(shape.elements_range(), (256, Some(16_384)));
    /// assert_eq!(shape.memory_range(4), (1_024, Some(65_536)));
    /// ```
    pub fn elements_range(&self) -> (u64, Option<u64>) {
        let range = |dim: &Dim| match dim {
            Dim::Literal(size) => (*size, Some(*size)),
            Dim::Named(_, Some((lo, hi))) => (*lo, Some(*hi).filter(|hi| *hi != u64::MAX)),
            Dim::Named(_, None) | Dim::Dynamic | Dim::Var(_) => (1, None),
            Dim::Expression(size) => (size.min(), size.max()),
            Dim::Broadcast => (1, Some(1)),
        };
        self.dims().iter().map(range).fold((1, Some(1)), |(least, most): (u64, Option<u64>), (lo, hi)| {
            (least.saturating_mul(lo), most.zip(hi).map(|(most, hi)| most.saturating_mul(hi)))
        })
    }

    /// The range in bytes, for elements of this many bytes.
    pub fn memory_range(&self, element: u64) -> (u64, Option<u64>) {
        let (least, most) = self.elements_range();
        (least.saturating_mul(element), most.map(|most| most.saturating_mul(element)))
    }
}

/// The memory that training takes ("Training Memory Model"): parameters, as much again for
/// gradients, twice as much for the state of Adam, and activations.
///
/// ```
/// use broadloom::typed::{Dim, TensorShape, TrainingMemory};
/// let batch = Dim::Named("batch".into(), Some((1, 64)));
/// let parameters = [TensorShape::of(&[784, 256]), TensorShape::of(&[256, 10])];
/// let activations = [TensorShape::new([batch, Dim::Literal(256)])];
/// let memory = TrainingMemory::estimate(&parameters, &activations, 4);
/// let bytes = 4 * (784 * 256 + 256 * 10);
/// assert_eq!(memory.parameters, (bytes, Some(bytes)));
/// assert_eq!((memory.min(), memory.max()), (4 * bytes + 1_024, Some(4 * bytes + 65_536)));
/// assert!(memory.fits(4_000_000));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrainingMemory {
    /// Bytes of all parameters: the least and the greatest.
    pub parameters: (u64, Option<u64>),
    /// Bytes of all activations: the least and the greatest.
    pub activations: (u64, Option<u64>),
}

impl TrainingMemory {
    /// The memory for parameters and activations, with elements of this many bytes.
    pub fn estimate(parameters: &[TensorShape], activations: &[TensorShape], element: u64) -> TrainingMemory {
        let sum = |(least, most): (u64, Option<u64>), shape: &TensorShape| {
            let (lo, hi) = shape.memory_range(element);
            (least.saturating_add(lo), most.zip(hi).map(|(most, hi)| most.saturating_add(hi)))
        };
        TrainingMemory {
            parameters: parameters.iter().fold((0, Some(0)), sum),
            activations: activations.iter().fold((0, Some(0)), sum),
        }
    }

    /// The least it takes: parameters, gradients, two states of the optimiser, activations.
    pub fn min(&self) -> u64 {
        self.parameters.0.saturating_mul(4).saturating_add(self.activations.0)
    }

    /// The most it takes, if there is a limit.
    pub fn max(&self) -> Option<u64> {
        let both = self.parameters.1.zip(self.activations.1);
        both.map(|(parameters, activations)| parameters.saturating_mul(4).saturating_add(activations))
    }

    /// Returns true if it fits into this many bytes, whatever the sizes ("Training Memory Safety").
    pub fn fits(&self, bytes: u64) -> bool {
        self.max().is_some_and(|most| most <= bytes)
    }
}
