//! The checks that remain for run time ("Runtime Verification").

use super::{Dim, ShapeError, TensorShape};

/// The checks of a shape, made once, which compare actual sizes with a declaration. Dimensions that
/// the declaration leaves open are skipped, and so are those that inference has proved. A check
/// looks at each of the others once and allocates nothing.
///
/// ```
/// use broadloom::typed::{Dim, ShapeCheck, ShapeError, TensorShape};
/// let shape = TensorShape::new([Dim::Named("batch".into(), Some((1, 64))), Dim::Literal(784)]);
/// let check = ShapeCheck::new(&shape);
/// assert!(check.verify(&[32, 784]).is_ok());
/// let error = check.verify(&[65, 784]).unwrap_err();
/// assert_eq!(
///     error,
///     ShapeError::DimensionOutOfRange { name: "batch".into(), actual: 65, min: 1, max: 64 }
/// );
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShapeCheck {
    shape: TensorShape,
    bounds: Vec<Bounds>,
    /// Pairs of dimensions that have the same name.
    same: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bounds {
    at: u32,
    lo: u64,
    hi: u64,
}

impl ShapeCheck {
    /// All checks of a shape.
    pub fn new(shape: &TensorShape) -> ShapeCheck {
        ShapeCheck::without(shape, |_| false)
    }

    /// The checks of the dimensions that are not proved.
    pub fn without(shape: &TensorShape, proved: impl Fn(usize) -> bool) -> ShapeCheck {
        let mut check = ShapeCheck { shape: shape.clone(), bounds: Vec::new(), same: Vec::new() };
        for (at, dim) in shape.dims().iter().enumerate().filter(|(at, _)| !proved(*at)) {
            let (lo, hi) = match dim {
                Dim::Literal(size) => (*size, *size),
                Dim::Named(_, Some(range)) => *range,
                Dim::Expression(size) => (size.min(), size.max().unwrap_or(u64::MAX)),
                Dim::Named(_, None) | Dim::Dynamic | Dim::Var(_) | Dim::Broadcast => (0, u64::MAX),
            };
            if (lo, hi) != (0, u64::MAX) {
                check.bounds.push(Bounds { at: at as u32, lo, hi });
            }
            if let Dim::Named(name, _) = dim {
                let same = |other: &Dim| matches!(other, Dim::Named(other, _) if other == name);
                if let Some(first) = shape.dims()[..at].iter().position(same) {
                    check.same.push((first as u32, at as u32));
                }
            }
        }
        check
    }

    /// Compares actual sizes with the shape.
    #[inline]
    pub fn verify(&self, actual: &[u64]) -> Result<(), ShapeError> {
        if actual.len() != self.shape.rank() {
            return Err(ShapeError::RankMismatch {
                left: TensorShape::of(actual),
                right: self.shape.clone(),
            });
        }
        for Bounds { at, lo, hi } in &self.bounds {
            let size = actual[*at as usize];
            if size < *lo || size > *hi {
                return Err(self.outside(*at as usize, size, (*lo, *hi)));
            }
        }
        for (first, second) in &self.same {
            let (expected, actual) = (actual[*first as usize], actual[*second as usize]);
            if expected != actual {
                return Err(ShapeError::LiteralMismatch { expected, actual });
            }
        }
        Ok(())
    }

    #[cold]
    fn outside(&self, at: usize, actual: u64, (min, max): (u64, u64)) -> ShapeError {
        match &self.shape.dims()[at] {
            Dim::Literal(expected) => ShapeError::LiteralMismatch { expected: *expected, actual },
            dim => {
                let name = if let Dim::Named(name, _) = dim { name.clone() } else { dim.to_string() };
                ShapeError::DimensionOutOfRange { name, actual, min, max }
            }
        }
    }
}
