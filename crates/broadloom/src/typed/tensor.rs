//! Tensors with a shape as their type ("TypedTensor").
//!
//! A typed tensor holds numbers and a shape; its actual sizes are those that the shape allows. An
//! operation infers the shape of its result first, checks what inference could not know (that a
//! name has one size in all operands), and computes.

use broadloom_array::random::normal_f64;
use broadloom_array::{Array, Dtype};
use broadloom_spec as spec;

use super::{Broadcasting, Context, Dim, DimSpec, ShapeCheck, ShapeError, TensorShape};
use crate::{Backend, Graph, Routine, Session, Settings, Tensor};

/// Numbers with a shape as their type.
///
/// ```
/// use broadloom::typed::{DimSpec, ShapeError, TypedTensor};
/// let batch = DimSpec::ranged("batch", 4, 1, 64);
/// let x = TypedTensor::ones(&[batch, DimSpec::exact(3)])?;
/// let w = TypedTensor::from_data(&[DimSpec::exact(3), DimSpec::exact(2)], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let y = x.matmul(&w)?;
/// assert_eq!((y.shape().to_string(), y.sizes()), ("[batch: 1..64, 2]".into(), &[4, 2][..]));
/// assert_eq!(y.to_f64s()[..2], [9.0, 12.0]);
/// assert!(matches!(y.matmul(&w), Err(ShapeError::MatmulShapeMismatch { .. })));
/// # Ok::<(), ShapeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TypedTensor {
    values: Array,
    shape: TensorShape,
    check: ShapeCheck,
}

impl TypedTensor {
    /// Zeros, at the sample sizes.
    pub fn zeros(specs: &[DimSpec]) -> Result<TypedTensor, ShapeError> {
        TypedTensor::filled(specs, |_| 0.0)
    }

    /// Ones, at the sample sizes.
    pub fn ones(specs: &[DimSpec]) -> Result<TypedTensor, ShapeError> {
        TypedTensor::filled(specs, |_| 1.0)
    }

    /// Normal numbers, with mean 0 and deviation 1, at the sample sizes. They depend only on the
    /// key and on their position.
    pub fn randn(specs: &[DimSpec], key: u64) -> Result<TypedTensor, ShapeError> {
        TypedTensor::filled(specs, |position| normal_f64(key, position))
    }

    /// Numbers in memory order, the last dimension fastest, at the sample sizes.
    pub fn from_data(specs: &[DimSpec], numbers: &[f32]) -> Result<TypedTensor, ShapeError> {
        let sizes: Vec<u64> = specs.iter().map(|spec| spec.sample).collect();
        let values = Array::from_slice(&sizes, numbers).map_err(message)?;
        TypedTensor::declared(values, specs)
    }

    /// An existing array, whose sizes are checked against the specs.
    pub fn from_array(values: Array, specs: &[DimSpec]) -> Result<TypedTensor, ShapeError> {
        TypedTensor::declared(values, specs)
    }

    fn filled(specs: &[DimSpec], number: impl Fn(u64) -> f64) -> Result<TypedTensor, ShapeError> {
        let sizes: Vec<u64> = specs.iter().map(|spec| spec.sample).collect();
        let mut values = Array::zeros(Dtype::F32, &sizes).map_err(message)?;
        let numbers: Vec<f32> = (0..values.len() as u64).map(|position| number(position) as f32).collect();
        if numbers.iter().any(|number| *number != 0.0) {
            values = Array::from_slice(&sizes, &numbers).map_err(message)?;
        }
        TypedTensor::declared(values, specs)
    }

    /// Checks sizes against the type, and against ranges without a name, which the type leaves out.
    fn declared(values: Array, specs: &[DimSpec]) -> Result<TypedTensor, ShapeError> {
        for (spec, actual) in specs.iter().zip(values.sizes()) {
            let (min, max) = (spec.min.unwrap_or(1), spec.max.unwrap_or(u64::MAX));
            if spec.name.is_none() && min != max && !(min..=max).contains(actual) {
                return Err(ShapeError::DimensionOutOfRange { name: "*".into(), actual: *actual, min, max });
            }
        }
        let shape = TensorShape::new(specs.iter().cloned().map(Dim::from));
        let check = ShapeCheck::new(&shape);
        check.verify(values.sizes())?;
        Ok(TypedTensor { values, shape, check })
    }

    /// The type.
    pub fn shape(&self) -> &TensorShape {
        &self.shape
    }

    /// The actual sizes.
    pub fn sizes(&self) -> &[u64] {
        self.values.sizes()
    }

    /// The numbers.
    pub fn values(&self) -> &Array {
        &self.values
    }

    /// The numbers, in memory order.
    pub fn to_f64s(&self) -> Vec<f64> {
        self.values.to_f64s()
    }

    /// Checks the actual sizes against the type: once for each dimension that is not proved.
    pub fn verify(&self) -> Result<(), ShapeError> {
        self.check.verify(self.values.sizes())
    }

    /// The matrix product; dimensions before the matrices are broadcast.
    pub fn matmul(&self, other: &TypedTensor) -> Result<TypedTensor, ShapeError> {
        let shape = Context::new().matmul(&self.shape, &other.shape)?;
        self.same_names(other)?;
        let misfit = |cause: ShapeError| ShapeError::MatmulShapeMismatch {
            left: TensorShape::of(self.sizes()),
            right: TensorShape::of(other.sizes()),
            cause: Box::new(cause),
        };
        let values = compute(|g| {
            // `[…, m, k]` maps k to m: its input comes last in memory, as it does in a graph.
            let left = map(g, "left", &self.values, false)?;
            let right = map(g, "right", &other.values, true)?;
            let product = g.compose(left, right)?;
            g.einsum("... | n -> m => ... | m, n", &[product])
        });
        self.result(values.map_err(misfit)?, shape)
    }

    /// The sum, dimension by dimension; missing and `Broadcast` dimensions are broadcast.
    pub fn add(&self, other: &TypedTensor) -> Result<TypedTensor, ShapeError> {
        self.add_with(other, Broadcasting::Explicit)
    }

    /// The sum, with a choice of whether ones broadcast.
    pub fn add_with(
        &self,
        other: &TypedTensor,
        broadcasting: Broadcasting,
    ) -> Result<TypedTensor, ShapeError> {
        let shape = Context::new().broadcast(&[self.shape.clone(), other.shape.clone()], broadcasting)?;
        self.same_names(other)?;
        let values = compute(|g| {
            let ones = broadcasting == Broadcasting::NumPy;
            let left = plain(g, "left", &self.values, ones)?;
            let right = plain(g, "right", &other.values, ones)?;
            g.add(left, right)
        });
        let misfit = |cause: ShapeError| ShapeError::BroadcastIncompatible {
            shapes: [self, other].map(|tensor| TensorShape::of(tensor.sizes())).to_vec(),
            cause: Box::new(cause),
        };
        self.result(values.map_err(misfit)?, shape)
    }

    /// The same numbers in another shape, of the sample sizes of the specs.
    pub fn reshape(&self, specs: &[DimSpec]) -> Result<TypedTensor, ShapeError> {
        let target = TensorShape::new(specs.iter().cloned().map(Dim::from));
        let (shape, _) = Context::new().reshape(&self.shape, &target)?;
        let sizes: Vec<u64> = specs.iter().map(|spec| spec.sample).collect();
        let values =
            self.values.clone().reshape(&sizes).map_err(|_| ShapeError::ReshapeElementsMismatch {
                input: TensorShape::of(self.sizes()),
                output: TensorShape::of(&sizes),
            })?;
        self.result(values, shape)
    }

    /// Two dimensions swapped.
    pub fn transpose(&self, dim0: usize, dim1: usize) -> Result<TypedTensor, ShapeError> {
        let shape = Context::new().transpose(&self.shape, dim0, dim1)?;
        let from = labels(self.sizes().len());
        let mut to = from.clone();
        to.swap(dim0, dim1);
        let values = self.by_axes(&from, &to)?;
        self.result(values, shape)
    }

    /// The sum over a dimension, which is left out, or kept as one.
    pub fn sum(&self, dim: usize, keep: bool) -> Result<TypedTensor, ShapeError> {
        let shape = Context::new().reduce(&self.shape, dim, keep)?;
        let from = labels(self.sizes().len());
        let mut to = from.clone();
        to.remove(dim);
        let values = self.by_axes(&from, &to)?;
        let values = if keep {
            let mut sizes = values.sizes().to_vec();
            sizes.insert(dim, 1);
            values.reshape(&sizes).map_err(message)?
        } else {
            values
        };
        self.result(values, shape)
    }

    /// The mean over a dimension, which is left out, or kept as one.
    pub fn mean(&self, dim: usize, keep: bool) -> Result<TypedTensor, ShapeError> {
        let sum = self.sum(dim, keep)?;
        let count = self.sizes()[dim] as f32;
        let numbers: Vec<f32> = sum.values.to_f32s().iter().map(|number| number / count).collect();
        let values = Array::from_slice(sum.values.sizes(), &numbers).map_err(message)?;
        Ok(TypedTensor { values, ..sum })
    }

    /// The numbers along other axes: axes that are not among them are summed over.
    fn by_axes(&self, from: &[Along], to: &[Along]) -> Result<Array, ShapeError> {
        compute(|g| {
            let own = plain(g, "tensor", &self.values, false)?;
            by_axes(g, own, from, to)
        })
    }

    /// The result of an operation whose operands have been checked. Its literal sizes and its names follow from
    /// theirs, so inference has proved them; expressions have not been computed yet.
    fn result(&self, values: Array, shape: TensorShape) -> Result<TypedTensor, ShapeError> {
        let proved = |at: usize| !matches!(shape.dims()[at], Dim::Expression(_));
        ShapeCheck::without(&shape, proved).verify(values.sizes())?;
        debug_assert!(ShapeCheck::new(&shape).verify(values.sizes()).is_ok(), "what is proved holds");
        let check = ShapeCheck::without(&shape, |_| true);
        Ok(TypedTensor { values, shape, check })
    }

    /// Checks that each name has one size in both operands.
    fn same_names(&self, other: &TypedTensor) -> Result<(), ShapeError> {
        for (dim, expected) in self.shape.dims().iter().zip(self.sizes()) {
            let Dim::Named(name, _) = dim else { continue };
            for (facing, actual) in other.shape.dims().iter().zip(other.sizes()) {
                if matches!(facing, Dim::Named(facing, _) if facing == name) && actual != expected {
                    return Err(ShapeError::LiteralMismatch { expected: *expected, actual: *actual });
                }
            }
        }
        Ok(())
    }
}

/// Computes a tensor of a program.
fn compute(build: impl FnOnce(&mut Graph) -> Result<Tensor, crate::Error>) -> Result<Array, ShapeError> {
    let mut graph = Graph::new();
    let result = build(&mut graph)?;
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let mut session = Session::with(graph, settings)?;
    let mut routine = Routine::new("typed");
    routine.forward(result);
    session.run(&routine)?;
    Ok(session.get(result)?)
}

/// An array as a plain tensor: output axes only, ones as units if they broadcast.
fn plain(g: &mut Graph, name: &str, values: &Array, ones: bool) -> Result<Tensor, crate::Error> {
    let sizes: Vec<String> = values.sizes().iter().map(u64::to_string).collect();
    let shape = if sizes.is_empty() { "|".to_string() } else { sizes.join(", ") };
    let tensor = g.array(name, &shape, values.clone())?;
    if !(ones && values.sizes().contains(&1)) {
        return Ok(tensor);
    }
    // The index 0 reads the one element, and writes it to an axis without a size of its own.
    let along = |(axis, size): (Along, &u64)| if *size == 1 { Along::First } else { axis };
    let axes: Vec<Along> = labels(sizes.len()).into_iter().zip(values.sizes()).map(along).collect();
    by_axes(g, tensor, &axes, &axes)
}

/// An array of matrices as maps: the last axis is the input, or the one before it, if it is to be swapped.
fn map(g: &mut Graph, name: &str, values: &Array, swapped: bool) -> Result<Tensor, crate::Error> {
    let matrices = plain(g, name, values, false)?;
    // The axes before the matrices become batch axes: a row variable is the same in rows of any kind.
    let spec = if swapped { "..b.., k, n => ..b.. | n -> k" } else { "..b.., m, k => ..b.. | k -> m" };
    g.einsum(spec, &[matrices])
}

/// The treatment of an axis.
#[derive(Clone, Copy)]
enum Along {
    /// It has this label.
    Label(usize),
    /// Only its first index is read or written.
    First,
}

/// A tensor along other axes.
fn by_axes(g: &mut Graph, tensor: Tensor, from: &[Along], to: &[Along]) -> Result<Tensor, crate::Error> {
    let mut build = spec::Builder::new();
    let mut shape = |axes: &[Along]| {
        let axis = |along: &Along| match along {
            Along::Label(at) => build.label(&format!("a{at}")),
            Along::First => spec::Axis::fixed(0),
        };
        spec::Shape::new(None, None, spec::Row::closed(axes.iter().map(axis)))
    };
    let (operand, result) = (shape(from), shape(to));
    let spec = build.finish(vec![operand], vec![result]);
    let none = || crate::Error::new(crate::ErrorKind::Use, "the spec has no result");
    g.einsum(&spec.ok_or_else(none)?, &[tensor])
}

fn labels(rank: usize) -> Vec<Along> {
    (0..rank).map(Along::Label).collect()
}

fn message(error: impl std::fmt::Display) -> ShapeError {
    ShapeError::InferenceError { message: error.to_string() }
}
