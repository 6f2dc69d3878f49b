//! Graphs that are built in Python. An expression there is a graph and the number of a tensor.

use std::sync::{Mutex, MutexGuard, PoisonError};

use broadloom::{
    Accumulate, Adam, Combine, Error, Graph as Tensors, Operation, Padding, Routine, Sgd, SliceIndex,
    SpecOptions, Tensor,
};
use pyo3::prelude::*;

use crate::arrays::received;
use crate::data::object;
use crate::errors::{detached, plain};
use crate::matrices;
use crate::places::{Places, PythonPlace};

/// A graph under construction.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Graph {
    inner: Mutex<Inner>,
}

/// A graph, where its steps were written, and what can be run on it.
pub struct Inner {
    pub tensors: Tensors,
    pub places: Places,
    /// Routines, with the tensors that they give back.
    pub routines: Vec<(Routine, Vec<Tensor>)>,
}

impl Inner {
    /// The tensor of a number.
    pub fn tensor(&self, number: usize) -> Result<Tensor, Error> {
        let found = self.tensors.tensors().nth(number);
        found.ok_or_else(|| Error::run("a tensor of another graph is used here".into()))
    }

    fn all(&self, numbers: &[usize]) -> Result<Vec<Tensor>, Error> {
        numbers.iter().map(|number| self.tensor(*number)).collect()
    }

    /// Keeps a routine, and returns its number.
    fn keep(&mut self, routine: Routine, gives: Vec<Tensor>) -> usize {
        self.routines.push((routine, gives));
        self.routines.len() - 1
    }
}

impl Graph {
    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Extends the graph. What it gains was written at a place.
    fn make<T: Send>(
        &self,
        py: Python<'_>,
        place: &PythonPlace,
        make: impl FnOnce(&mut Inner) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let made = detached(py, || {
            let mut inner = self.inner();
            let made = make(&mut inner);
            let steps = inner.tensors.steps();
            if made.is_ok() {
                inner.places.until(steps, place);
            }
            made
        })?;
        made.map_err(|error| {
            let places = self.inner().places.clone();
            places.raised(py, &error, Some(place))
        })
    }

    /// Extends the graph by a tensor, and returns its number.
    fn tensor(
        &self,
        py: Python<'_>,
        place: &PythonPlace,
        make: impl FnOnce(&mut Inner) -> Result<Tensor, Error> + Send,
    ) -> PyResult<usize> {
        self.make(py, place, make).map(Tensor::index)
    }
}

/// The operation that combines values that meet.
fn accumulate(py: Python<'_>, name: &str) -> PyResult<Accumulate> {
    match name {
        "sum" => Ok(Accumulate::Sum),
        "prod" => Ok(Accumulate::Product),
        "max" => Ok(Accumulate::Max),
        "min" => Ok(Accumulate::Min),
        other => Err(plain(
            py,
            &format!("`reduce` is \"sum\", \"prod\", \"max\" or \"min\" in a graph, not \"{other}\""),
        )),
    }
}

/// The operation that combines the operands of a spec at each point.
fn combine(py: Python<'_>, sign: &str) -> PyResult<Combine> {
    match sign {
        "*" => Ok(Combine::Product),
        "+" => Ok(Combine::Sum),
        "where" => Ok(Combine::Where),
        other => Err(plain(py, &format!("`combine` is \"*\", \"+\" or \"where\", not \"{other}\""))),
    }
}

/// The behaviour of windows at the ends of an axis, if the spec leaves it open.
fn padding(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Padding>> {
    match name {
        None => Ok(None),
        Some("same") => Ok(Some(Padding::Padded)),
        Some("valid") => Ok(Some(Padding::Valid)),
        Some("drop") => Ok(Some(Padding::Dropped)),
        Some(other) => {
            Err(plain(py, &format!("`padding` is \"same\", \"valid\" or \"drop\", not \"{other}\"")))
        }
    }
}

/// The names of all pointwise operations, and how many operands each has.
#[pyfunction]
pub fn operations() -> Vec<(&'static str, usize)> {
    Operation::all().iter().map(|operation| (operation.name(), operation.arity())).collect()
}

#[pymethods]
impl Graph {
    #[new]
    fn new() -> Graph {
        let inner = Inner { tensors: Tensors::new(), places: Places::default(), routines: Vec::new() };
        Graph { inner: Mutex::new(inner) }
    }

    fn dim(
        &self,
        py: Python<'_>,
        name: &str,
        least: u64,
        most: Option<u64>,
        usual: Option<u64>,
        place: PythonPlace,
    ) -> PyResult<()> {
        self.make(py, &place, |inner| match most {
            Some(most) => inner.tensors.dim(name, least..=most, usual),
            None => inner.tensors.dim(name, least.., usual),
        })
    }

    fn data(&self, py: Python<'_>, name: &str, shape: &str, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| inner.tensors.data(name, shape))
    }

    fn array(
        &self,
        py: Python<'_>,
        name: &str,
        shape: &str,
        array: &Bound<'_, PyAny>,
        place: PythonPlace,
    ) -> PyResult<usize> {
        let values = received(array)?.copied().map_err(|message| plain(py, &message))?;
        self.tensor(py, &place, |inner| inner.tensors.array(name, shape, values))
    }

    fn param(&self, py: Python<'_>, name: &str, shape: Option<&str>, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| match shape {
            Some(shape) => inner.tensors.param_shaped(name, shape),
            None => Ok(inner.tensors.param(name)),
        })
    }

    fn state(&self, py: Python<'_>, name: &str, shape: &str, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| inner.tensors.state_shaped(name, shape))
    }

    fn number(&self, py: Python<'_>, value: f64, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| Ok(inner.tensors.number(value)))
    }

    /// A pointwise operation by its name; `@` composes, and `T` swaps input and output.
    fn apply(&self, py: Python<'_>, name: &str, operands: Vec<usize>, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| {
            let tensors = inner.all(&operands)?;
            match (name, tensors.as_slice()) {
                ("@", [a, b]) => inner.tensors.compose(*a, *b),
                ("T", [a]) => inner.tensors.transpose(*a),
                ("gather", [table, rows]) => inner.tensors.gather(*table, *rows),
                _ => match Operation::named(name) {
                    Some(operation) => inner.tensors.pointwise(operation.name(), &tensors),
                    None => Err(Error::run(format!("there is no operation `{name}`"))),
                },
            }
        })
    }

    /// A function of matrices by its name, which may have several results.
    fn matrices(
        &self,
        py: Python<'_>,
        name: &str,
        operands: Vec<usize>,
        place: PythonPlace,
    ) -> PyResult<Vec<usize>> {
        let made = self.make(py, &place, |inner| {
            let tensors = inner.all(&operands)?;
            matrices::apply(&mut inner.tensors, name, &tensors)
        })?;
        Ok(made.into_iter().map(Tensor::index).collect())
    }

    #[allow(clippy::too_many_arguments)] // as many as people can say
    fn einsum(
        &self,
        py: Python<'_>,
        spec: &str,
        operands: Vec<usize>,
        reduce: &str,
        combined: &str,
        padded: Option<&str>,
        sizes: Vec<(String, u64)>,
        place: PythonPlace,
    ) -> PyResult<usize> {
        let options = SpecOptions {
            accumulate: accumulate(py, reduce)?,
            combine: combine(py, combined)?,
            padding: padding(py, padded)?,
            ..SpecOptions::default()
        };
        self.tensor(py, &place, |inner| {
            let tensors = inner.all(&operands)?;
            let made = inner.tensors.einsum_with(spec, &tensors, &options)?;
            for (name, size) in &sizes {
                let captured = inner.tensors.captured(made, name)?;
                inner.tensors.set(captured, *size)?;
            }
            Ok(made)
        })
    }

    fn mean(
        &self,
        py: Python<'_>,
        spec: &str,
        operands: Vec<usize>,
        over: Vec<String>,
        place: PythonPlace,
    ) -> PyResult<usize> {
        self.tensor(py, &place, |inner| {
            let tensors = inner.all(&operands)?;
            inner.tensors.mean(spec, &tensors, &over)
        })
    }

    fn split(
        &self,
        py: Python<'_>,
        spec: &str,
        operands: Vec<usize>,
        place: PythonPlace,
    ) -> PyResult<Vec<usize>> {
        let made = self.make(py, &place, |inner| {
            let tensors = inner.all(&operands)?;
            inner.tensors.split(spec, &tensors)
        })?;
        Ok(made.into_iter().map(Tensor::index).collect())
    }

    fn slice(&self, py: Python<'_>, of: usize, at: u64, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| {
            let tensor = inner.tensor(of)?;
            inner.tensors.slice(tensor, SliceIndex::At(at))
        })
    }

    fn reshape(&self, py: Python<'_>, of: usize, shape: Option<&str>, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| {
            let tensor = inner.tensor(of)?;
            let made = inner.tensors.reshape(tensor)?;
            if let Some(shape) = shape {
                inner.tensors.declare_shape(made, shape)?;
            }
            Ok(made)
        })
    }

    fn name(&self, py: Python<'_>, of: usize, name: &str, place: PythonPlace) -> PyResult<()> {
        self.make(py, &place, |inner| {
            let tensor = inner.tensor(of)?;
            inner.tensors.name(tensor, name);
            Ok(())
        })
    }

    /// The name of a tensor in messages.
    fn label(&self, of: usize) -> String {
        let inner = self.inner();
        inner.tensor(of).map_or(String::new(), |tensor| inner.tensors.label_of(tensor))
    }

    /// The final shape of a tensor: its text and its rows.
    fn shape<'py>(
        &self,
        py: Python<'py>,
        of: usize,
        place: PythonPlace,
    ) -> PyResult<(String, Bound<'py, PyAny>)> {
        let shape = self.make(py, &place, |inner| {
            let tensor = inner.tensor(of)?;
            inner.tensors.final_shape(tensor)
        })?;
        Ok((shape.to_string(), object(py, &broadloom_ide::Rows::from(&shape))?))
    }

    /// The named data, by their numbers.
    fn leaves(&self) -> Vec<(String, usize)> {
        let inner = self.inner();
        let is_data = |tensor: &Tensor| {
            matches!(
                inner.tensors.node(*tensor),
                Some(broadloom::Node::Leaf { kind: broadloom::LeafKind::Data })
            )
        };
        let data = inner.tensors.tensors().filter(is_data);
        data.map(|tensor| (inner.tensors.label_of(tensor), tensor.index())).collect()
    }

    /// The parameters, by their numbers.
    fn parameters(&self) -> Vec<(String, usize)> {
        let inner = self.inner();
        let params = inner.tensors.params().into_iter();
        params.map(|tensor| (inner.tensors.label_of(tensor), tensor.index())).collect()
    }

    /// Makes a routine that computes some tensors.
    fn forward(&self, py: Python<'_>, of: Vec<usize>, place: PythonPlace) -> PyResult<usize> {
        self.make(py, &place, |inner| {
            let tensors = inner.all(&of)?;
            let mut routine = Routine::new("forward");
            tensors.iter().for_each(|tensor| _ = routine.forward(*tensor));
            let known = inner.routines.iter().position(|(known, _)| *known == routine);
            Ok(known.unwrap_or_else(|| inner.keep(routine, tensors)))
        })
    }

    /// Makes a routine that computes the gradients of a number with respect to some tensors.
    fn gradients(&self, py: Python<'_>, loss: usize, of: Vec<usize>, place: PythonPlace) -> PyResult<usize> {
        self.make(py, &place, |inner| {
            let (loss, of) = (inner.tensor(loss)?, inner.all(&of)?);
            let mut routine = Routine::new("gradients");
            routine.backward(&mut inner.tensors, loss)?;
            let mut gives = Vec::new();
            for tensor in of {
                let gradient = inner.tensors.gradient(tensor)?;
                routine.keep(gradient);
                gives.push(gradient);
            }
            Ok(inner.keep(routine, gives))
        })
    }

    /// Makes a routine that makes a number smaller, by gradient descent with momentum.
    fn minimise_by_sgd(
        &self,
        py: Python<'_>,
        loss: usize,
        of: Vec<usize>,
        rate: usize,
        settings: (f64, f64),
        place: PythonPlace,
    ) -> PyResult<usize> {
        let (momentum, weight_decay) = settings;
        let update = Sgd { momentum, weight_decay };
        self.minimise(py, loss, of, rate, &place, |graph, routine, of, rate| {
            update.update(graph, routine, of, rate)
        })
    }

    /// Makes a routine that makes a number smaller, by Adam.
    fn minimise_by_adam(
        &self,
        py: Python<'_>,
        loss: usize,
        of: Vec<usize>,
        rate: usize,
        settings: (f64, f64, f64, f64, bool),
        place: PythonPlace,
    ) -> PyResult<usize> {
        let (beta1, beta2, epsilon, weight_decay, decoupled) = settings;
        let update = Adam { beta1, beta2, epsilon, weight_decay, decoupled };
        self.minimise(py, loss, of, rate, &place, |graph, routine, of, rate| {
            update.update(graph, routine, of, rate)
        })
    }
}

impl Graph {
    fn minimise(
        &self,
        py: Python<'_>,
        loss: usize,
        of: Vec<usize>,
        rate: usize,
        place: &PythonPlace,
        update: impl FnOnce(&mut Tensors, &mut Routine, &[Tensor], Tensor) -> Result<(), Error> + Send,
    ) -> PyResult<usize> {
        self.make(py, place, |inner| {
            let (loss, of, rate) = (inner.tensor(loss)?, inner.all(&of)?, inner.tensor(rate)?);
            let mut routine = Routine::new(&format!("minimise{}", inner.routines.len()));
            routine.backward(&mut inner.tensors, loss)?;
            routine.check_finite(loss);
            update(&mut inner.tensors, &mut routine, &of, rate)?;
            Ok(inner.keep(routine, vec![loss]))
        })
    }
}
