//! Graphs that are built in Python. An expression there is a graph and the number of a tensor.

use std::num::NonZeroU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use broadloom::{
    Accumulate, Adam, Along, Combine, Dtype, Error, ErrorKind, Graph as Tensors, Initial, Kind, LeafKind,
    MessageLine, Node, Operation, OperationId, Padding, Pointwise, Remedy, Routine, Sgd, SliceIndex,
    SpecOptions, Tensor, concat,
};
use broadloom_lang::{leaves_out_unnamed, left_out, named_axis};
use broadloom_spec::parse_spec;
use pyo3::prelude::*;

use crate::arrays::received;
use crate::data::object;
use crate::errors::{detached, plain};
use crate::matrices;
use crate::places::{Places, PythonPlace};
use crate::recurrences::Recurrences;
use crate::sizes::{SizeData, sizes};

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
    /// Scans whose turn is being computed.
    recurrences: Recurrences,
}

/// The tensors of a turn of a scan, or of its results: two lists of numbers.
type TwoLists = (Vec<usize>, Vec<usize>);

impl Inner {
    /// The tensor of a number.
    pub fn tensor(&self, number: usize) -> Result<Tensor, Error> {
        let found = self.tensors.tensors().nth(number);
        found.ok_or_else(|| Error::run("a tensor of another graph is used here".into()))
    }

    /// The tensor of a number, to compute with: one of a turn has a value in that turn only.
    fn operand(&self, number: usize) -> Result<Tensor, Error> {
        let tensor = self.tensor(number)?;
        self.recurrences.reachable(&self.tensors, tensor).map(|()| tensor)
    }

    fn all(&self, numbers: &[usize]) -> Result<Vec<Tensor>, Error> {
        numbers.iter().map(|number| self.operand(*number)).collect()
    }

    fn pairs(&self, numbers: &[(usize, usize)]) -> Result<Vec<(Tensor, Tensor)>, Error> {
        numbers.iter().map(|(target, value)| Ok((self.operand(*target)?, self.operand(*value)?))).collect()
    }

    /// The leaves of a kind with their names, by their numbers.
    fn leaves_of(&self, kind: LeafKind) -> Vec<(String, usize)> {
        let is_one = |tensor: &Tensor| matches!(self.tensors.node(*tensor), Some(Node::Leaf { kind: known }) if known == kind);
        let found = self.tensors.tensors().filter(is_one);
        found.map(|tensor| (self.tensors.label_of(tensor), tensor.index())).collect()
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

/// Refuses the gradients of what is known to be more than one number where they are asked for. With a size that is open or has a name it is the
/// run that knows.
fn is_one_number(graph: &Tensors, loss: Tensor) -> Result<(), Error> {
    let shape = graph.shape(loss);
    let mut axes = shape.rows.iter().flat_map(|row| row.lead.iter().chain(&row.trail));
    if axes.all(|axis| axis.size().is_none_or(|size| size == 1)) {
        return Ok(());
    }
    let label = graph.label_of(loss);
    let error =
        Error::new(ErrorKind::Use, format!("gradients are of one number, but `{label}` has shape `{shape}`"));
    let made = graph.step_of(loss).map(|step| MessageLine::at(step, format!("`{label}` is `{shape}`")));
    let error = made.into_iter().fold(error, Error::with_end);
    Err(error.with_remedy(Remedy::Reduce, "sum it up first"))
}

/// An axis by the word for its kind, whose first axis it is, or by the shape that names it.
fn along(text: &str) -> Result<Along, Error> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == text);
    kind.map(Along::first).or_else(|| named_axis(text)).ok_or_else(|| {
        let message = format!("`\"{text}\"` does not name one axis, first or last of its kind, to go along");
        let help = "write `\"..., t | ...\"` for the last batch axis, `\"... | t, ...\"` for the first output axis, \
                    and `\"batch\"`, `\"input\"` or `\"output\"` for the first of a kind";
        Error::new(ErrorKind::Use, message).with_help(help)
    })
}

/// Puts tensors together along an axis, or along a new one in its place.
fn joined(
    graph: &mut Tensors,
    operation: OperationId,
    mut parts: Vec<Tensor>,
    along: Along,
) -> Result<Tensor, Error> {
    let specs = (concat::concatenation(parts.len(), along), concat::layer(along));
    let (Some(whole), Some(layer)) = specs else {
        return Err(Error::new(ErrorKind::Use, "there is nothing to put together"));
    };
    if operation == OperationId::Stack {
        for part in &mut parts {
            *part = graph.einsum(&layer, &[*part])?;
            let layer = graph.captured(*part, "layer")?;
            graph.set(layer, 1)?;
        }
    }
    graph.einsum_with(&whole, &parts, &SpecOptions { operation: Some(operation), ..SpecOptions::default() })
}

/// Sets the sizes of labels of the spec that made a tensor.
fn set_sizes(graph: &mut Tensors, made: Tensor, sizes: &[(String, u64)]) -> Result<(), Error> {
    sizes.iter().try_for_each(|(name, size)| {
        let captured = graph.captured(made, name)?;
        graph.set(captured, *size)
    })
}

/// Refuses to assign to what is computed, or comes from outside.
fn is_lasting(graph: &Tensors, target: Tensor) -> Result<(), Error> {
    if matches!(graph.node(target), Some(Node::Leaf { kind: LeafKind::State | LeafKind::Param })) {
        return Ok(());
    }
    let message =
        format!("`{}` does not last from run to run: nothing can be assigned to it", graph.label_of(target));
    Err(Error::new(ErrorKind::Use, message).with_remedy(Remedy::State, "assign to a state"))
}

/// Adds assignments to a routine. All of the new values are computed from the old ones.
fn assign(graph: &mut Tensors, routine: &mut Routine, pairs: &[(Tensor, Tensor)]) -> Result<(), Error> {
    for (target, value) in pairs {
        is_lasting(graph, *target)?;
        let text = format!("{} = {}", graph.label_of(*target), graph.label_of(*value));
        routine.assign_as(graph, ".", "target = value", &[("target", *target), ("value", *value)], &text)?;
    }
    Ok(())
}

/// Has a routine compute what is to be assigned, before anything is.
fn compute_new(graph: &Tensors, routine: &mut Routine, pairs: &[(Tensor, Tensor)]) {
    let computed = |tensor: Tensor| matches!(graph.node(tensor), Some(Node::Operation { .. }));
    let values = pairs.iter().map(|(_, value)| *value).filter(|value| computed(*value));
    values.for_each(|value| _ = routine.forward(value));
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

fn numbers(tensors: Vec<Tensor>) -> Vec<usize> {
    tensors.into_iter().map(Tensor::index).collect()
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
        let inner = Inner {
            tensors: Tensors::new(),
            places: Places::default(),
            routines: Vec::new(),
            recurrences: Recurrences::default(),
        };
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

    fn state(&self, py: Python<'_>, name: &str, shape: Option<&str>, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| match shape {
            Some(shape) => inner.tensors.state_shaped(name, shape),
            None => Ok(inner.tensors.state(name)),
        })
    }

    fn range(&self, py: Python<'_>, name: &str, shape: &str, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| inner.tensors.range(name, shape))
    }

    /// Random numbers, new ones in every run, and in every turn of a scan: with mean 0 and deviation 1, or from 0 to 1.
    fn random(&self, py: Python<'_>, name: &str, normal: bool, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| {
            let drawn = match normal {
                true => inner.tensors.normal(name),
                false => inner.tensors.uniform(name),
            };
            inner.tensors.in_turn(drawn)
        })
    }

    /// A value in the shape that the context asks for.
    fn constant(&self, py: Python<'_>, value: f64, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| Ok(inner.tensors.constant(value)))
    }

    /// Sets the type of the numbers of a leaf; without one, of all whose type nothing else decides.
    fn precision(&self, py: Python<'_>, of: Option<usize>, name: &str, place: PythonPlace) -> PyResult<()> {
        let dtype: Dtype = name.parse().map_err(|error: broadloom::ArrayError| plain(py, &error.message))?;
        self.make(py, &place, |inner| match of {
            Some(of) => {
                let tensor = inner.tensor(of)?;
                inner.tensors.set_precision(tensor, dtype)
            }
            None => {
                inner.tensors.set_default_precision(dtype);
                Ok(())
            }
        })
    }

    /// Sets the distribution of the first values of a parameter or a state.
    fn initial(
        &self,
        py: Python<'_>,
        of: usize,
        how: &str,
        numbers: (f64, f64),
        place: PythonPlace,
    ) -> PyResult<()> {
        let (first, second) = numbers;
        let initial = match how {
            "constant" => Initial::Constant(first),
            "uniform" => Initial::Uniform { low: first, high: second },
            "normal" => Initial::Normal { mean: first, deviation: second },
            "kaiming" => Initial::Kaiming { gain: first },
            "kaiming_normal" => Initial::KaimingNormal { gain: first },
            "xavier" => Initial::Xavier { gain: first },
            "xavier_normal" => Initial::XavierNormal { gain: first },
            other => return Err(plain(py, &format!("there are no first values called `{other}`"))),
        };
        self.make(py, &place, |inner| {
            let tensor = inner.tensor(of)?;
            inner.tensors.set_initial(tensor, initial)
        })
    }

    /// Sets the first values of a parameter or a state.
    fn initial_values(
        &self,
        py: Python<'_>,
        of: usize,
        array: &Bound<'_, PyAny>,
        place: PythonPlace,
    ) -> PyResult<()> {
        let values = received(array)?.copied().map_err(|message| plain(py, &message))?;
        self.make(py, &place, |inner| {
            let tensor = inner.tensor(of)?;
            inner.tensors.set_initial(tensor, Initial::Values(values))
        })
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
                _ => match Pointwise::named(name) {
                    Some(operation) => inner.tensors.pointwise(operation, &tensors),
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
        Ok(numbers(made))
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
            set_sizes(&mut inner.tensors, made, &sizes)?;
            Ok(made)
        })
    }

    /// The mean over names of a spec; without names, over those that the result leaves out.
    fn mean(
        &self,
        py: Python<'_>,
        spec: &str,
        operands: Vec<usize>,
        over: Option<Vec<String>>,
        sizes: Vec<(String, u64)>,
        place: PythonPlace,
    ) -> PyResult<usize> {
        // A spec that is not well written is refused below.
        let read = parse_spec(spec).ok().filter(|_| over.is_none());
        let is_unnamed = read.as_ref().is_some_and(leaves_out_unnamed);
        let over = over.unwrap_or_else(|| read.as_ref().map(left_out).unwrap_or_default());
        self.tensor(py, &place, |inner| {
            if is_unnamed {
                let message = "a mean divides by the sizes of the axes that it sums, and `_` has no name";
                return Err(
                    Error::new(ErrorKind::Use, message).with_help("write a label in the place of `_`")
                );
            }
            let tensors = inner.all(&operands)?;
            if sizes.is_empty() {
                return inner.tensors.mean(spec, &tensors, &over);
            }
            let options = SpecOptions { operation: Some(OperationId::Mean), ..SpecOptions::default() };
            let sum = inner.tensors.einsum_with(spec, &tensors, &options)?;
            set_sizes(&mut inner.tensors, sum, &sizes)?;
            inner.tensors.mean_of(sum, &over)
        })
    }

    fn split(
        &self,
        py: Python<'_>,
        spec: &str,
        operands: Vec<usize>,
        sizes: Vec<(String, u64)>,
        place: PythonPlace,
    ) -> PyResult<Vec<usize>> {
        let made = self.make(py, &place, |inner| {
            let tensors = inner.all(&operands)?;
            let made = inner.tensors.split(spec, &tensors)?;
            made.first().map_or(Ok(()), |first| set_sizes(&mut inner.tensors, *first, &sizes))?;
            Ok(made)
        })?;
        Ok(numbers(made))
    }

    /// An operation along an axis that a text names: `take`, `take_along`, `argsort`, `argsort_descending`, `concat`, `stack`.
    fn along(
        &self,
        py: Python<'_>,
        name: &str,
        operands: Vec<usize>,
        axis: &str,
        place: PythonPlace,
    ) -> PyResult<usize> {
        self.tensor(py, &place, |inner| {
            let (axis, tensors) = (along(axis)?, inner.all(&operands)?);
            match (name, tensors.as_slice()) {
                ("take", [x, ids]) => inner.tensors.take(*x, *ids, axis),
                ("take_along", [x, ids]) => inner.tensors.take_along(*x, *ids, axis),
                ("argsort", [x]) => inner.tensors.argsort(*x, axis, false),
                ("argsort_descending", [x]) => inner.tensors.argsort(*x, axis, true),
                ("concat", _) => joined(&mut inner.tensors, OperationId::Concat, tensors, axis),
                ("stack", _) => joined(&mut inner.tensors, OperationId::Stack, tensors, axis),
                _ => Err(Error::run(format!("there is no operation `{name}` along an axis"))),
            }
        })
    }

    /// Begins a scan over an axis of some tensors. Returns the tensors of a turn: the elements, and what is carried.
    fn begin_scan(
        &self,
        py: Python<'_>,
        firsts: Vec<(String, usize)>,
        over: Vec<usize>,
        axis: &str,
        every: Option<NonZeroU64>,
        place: PythonPlace,
    ) -> PyResult<TwoLists> {
        let made = self.make(py, &place, |inner| {
            let along = along(axis)?;
            let named = firsts.iter().map(|(name, first)| Ok((name.as_str(), inner.operand(*first)?)));
            let (named, over) = (named.collect::<Result<Vec<_>, Error>>()?, inner.all(&over)?);
            inner.recurrences.begin(&mut inner.tensors, &named, &over, along, every)
        })?;
        Ok(made.map(numbers).into())
    }

    /// Ends the innermost scan, with what its turn made, and what is wanted of all turns. Returns the values of all turns, and the last ones.
    fn end_scan(
        &self,
        py: Python<'_>,
        made: Vec<usize>,
        wanted: Vec<usize>,
        place: PythonPlace,
    ) -> PyResult<TwoLists> {
        let ended = self.make(py, &place, |inner| {
            let given = inner.all(&made).and_then(|made| Ok((made, inner.all(&wanted)?)));
            let Inner { tensors, recurrences, .. } = inner;
            match given {
                Ok((made, wanted)) => recurrences.end(tensors, &made, &wanted),
                Err(error) => {
                    recurrences.give_up(tensors);
                    Err(error)
                }
            }
        })?;
        Ok((numbers(ended.collected), numbers(ended.last)))
    }

    /// Leaves the innermost scan, whose turn has a mistake.
    fn give_up_scan(&self) {
        let mut inner = self.inner();
        let Inner { tensors, recurrences, .. } = &mut *inner;
        recurrences.give_up(tensors);
    }

    /// The elements of a tensor at integers along a new first batch axis of a size.
    fn scatter(
        &self,
        py: Python<'_>,
        x: usize,
        ids: usize,
        size: u64,
        reduce: &str,
        place: PythonPlace,
    ) -> PyResult<usize> {
        let accumulate = accumulate(py, reduce)?;
        self.tensor(py, &place, |inner| {
            let (x, ids) = (inner.operand(x)?, inner.operand(ids)?);
            let made = inner.tensors.scatter(x, ids, accumulate)?;
            let rows = inner.tensors.captured(made, "n")?;
            inner.tensors.set(rows, size)?;
            Ok(made)
        })
    }

    /// Makes a routine that assigns to states or parameters, and gives their new values.
    fn assign(&self, py: Python<'_>, pairs: Vec<(usize, usize)>, place: PythonPlace) -> PyResult<usize> {
        self.make(py, &place, |inner| {
            inner.recurrences.outside()?;
            let pairs = inner.pairs(&pairs)?;
            let mut routine = Routine::new(&format!("assign{}", inner.routines.len()));
            compute_new(&inner.tensors, &mut routine, &pairs);
            assign(&mut inner.tensors, &mut routine, &pairs)?;
            Ok(inner.keep(routine, pairs.iter().map(|(target, _)| *target).collect()))
        })
    }

    fn slice(&self, py: Python<'_>, of: usize, at: u64, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| {
            let tensor = inner.operand(of)?;
            inner.tensors.slice(tensor, SliceIndex::At(at))
        })
    }

    fn reshape(&self, py: Python<'_>, of: usize, shape: Option<&str>, place: PythonPlace) -> PyResult<usize> {
        self.tensor(py, &place, |inner| {
            let tensor = inner.operand(of)?;
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

    /// The sizes of the final shape of a tensor, in the order of memory.
    fn sizes(&self, py: Python<'_>, of: usize, place: PythonPlace) -> PyResult<Vec<SizeData>> {
        let shape = self.make(py, &place, |inner| {
            let tensor = inner.tensor(of)?;
            inner.tensors.final_shape(tensor)
        })?;
        Ok(sizes(&shape))
    }

    /// The named data, by their numbers.
    fn leaves(&self) -> Vec<(String, usize)> {
        self.inner().leaves_of(LeafKind::Data)
    }

    /// The parameters, by their numbers.
    fn parameters(&self) -> Vec<(String, usize)> {
        self.inner().leaves_of(LeafKind::Param)
    }

    /// The states, by their numbers.
    fn states(&self) -> Vec<(String, usize)> {
        self.inner().leaves_of(LeafKind::State)
    }

    /// Makes a routine that computes some tensors.
    fn forward(&self, py: Python<'_>, of: Vec<usize>, place: PythonPlace) -> PyResult<usize> {
        self.make(py, &place, |inner| {
            inner.recurrences.outside()?;
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
            inner.recurrences.outside()?;
            let (loss, of) = (inner.operand(loss)?, inner.all(&of)?);
            let mut routine = Routine::new("gradients");
            is_one_number(&inner.tensors, loss)?;
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

    /// Makes a routine that makes a number smaller, by gradient descent with momentum, and assigns to states.
    #[allow(clippy::too_many_arguments)] // as many as people can say
    fn minimise_by_sgd(
        &self,
        py: Python<'_>,
        loss: usize,
        of: Vec<usize>,
        rate: usize,
        settings: (f64, f64),
        assigned: Vec<(usize, usize)>,
        place: PythonPlace,
    ) -> PyResult<usize> {
        let (momentum, weight_decay) = settings;
        let update = Sgd { momentum, weight_decay };
        self.minimise(py, (loss, of, rate), &assigned, &place, |graph, routine, of, rate| {
            update.update(graph, routine, of, rate)
        })
    }

    /// Makes a routine that makes a number smaller, by Adam, and assigns to states.
    #[allow(clippy::too_many_arguments)] // as many as people can say
    fn minimise_by_adam(
        &self,
        py: Python<'_>,
        loss: usize,
        of: Vec<usize>,
        rate: usize,
        settings: (f64, f64, f64, f64, bool),
        assigned: Vec<(usize, usize)>,
        place: PythonPlace,
    ) -> PyResult<usize> {
        let (beta1, beta2, epsilon, weight_decay, decoupled) = settings;
        let update = Adam { beta1, beta2, epsilon, weight_decay, decoupled };
        self.minimise(py, (loss, of, rate), &assigned, &place, |graph, routine, of, rate| {
            update.update(graph, routine, of, rate)
        })
    }
}

impl Graph {
    fn minimise(
        &self,
        py: Python<'_>,
        (loss, of, rate): (usize, Vec<usize>, usize),
        assigned: &[(usize, usize)],
        place: &PythonPlace,
        update: impl FnOnce(&mut Tensors, &mut Routine, &[Tensor], Tensor) -> Result<(), Error> + Send,
    ) -> PyResult<usize> {
        self.make(py, place, |inner| {
            inner.recurrences.outside()?;
            let (loss, of, rate) = (inner.operand(loss)?, inner.all(&of)?, inner.operand(rate)?);
            let mut routine = Routine::new(&format!("minimise{}", inner.routines.len()));
            is_one_number(&inner.tensors, loss)?;
            routine.backward(&mut inner.tensors, loss)?;
            routine.check_finite(loss);
            let pairs = inner.pairs(assigned)?;
            compute_new(&inner.tensors, &mut routine, &pairs);
            update(&mut inner.tensors, &mut routine, &of, rate)?;
            assign(&mut inner.tensors, &mut routine, &pairs)?;
            Ok(inner.keep(routine, vec![loss]))
        })
    }
}
