//! Leaves: tensors that no operation makes.
//!
//! | leaf | rows that are not stated | closing |
//! |---|---|---|
//! | data, with a declared shape | have no axes | what is stated stays; `...` and names take the least that fits |
//! | parameter | batch has no axes; input and output are inferred | from its uses; a hole is an error |
//! | constant | are all inferred | from its uses; a hole is filled with the least shape |
//! | number | have no axes | – |
//!
//! In a declared shape `1` is a size like any other and does not broadcast; `1:unit` is the unit, an axis of
//! one element that broadcasts.

use std::sync::Arc;

use broadloom_array::{Array, Dtype};
use broadloom_core::Role;
use broadloom_spec::Kind;

use crate::declaration::{BufferFacts, Declaration, StatedNames};
use crate::declared::ComputedShape;
use crate::error::{Error, ErrorKind};
use crate::initial::Initial;
use crate::notation::DeclaredShape;
use crate::step::{Aspect, Captured, Leaf, RowRef, Step, Tensor, place};
use crate::symbols::read;
use crate::{Graph, captured, names, size_expr};

impl Graph {
    /// Data with a declared shape, such as `"32 | 28, 28, 3:rgb"`.
    ///
    /// A row that is not written has no axes. `...` stands for axes to be inferred, a name for a size to
    /// be inferred. A size, even 1, is a claim and has to be met; `1:unit` is an axis of one element that
    /// claims nothing and broadcasts.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (image, mask) = (g.data("image", "32 | 28, 28, 3")?, g.data("mask", "28, 28, 1:unit")?);
    /// let masked = g.mul(image, mask)?;
    /// assert_eq!(g.final_shape(masked)?.to_string(), "32 | 28, 28, 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn data<'s>(&mut self, name: &str, shape: impl Into<DeclaredShape<'s>>) -> Result<Tensor, Error> {
        self.declared(name, shape.into(), Leaf::Data, BufferFacts::Nothing)
    }

    /// Data whose buffer has exactly these axes, in the order batch, output, input; the shape
    /// divides them among the rows.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data_with_axes("x", "... | 3, 3, 1", &[8, 3, 3, 1])?;
    /// assert_eq!(g.final_shape(x)?.to_string(), "8 | 3, 3, 1");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn data_with_axes<'s>(
        &mut self,
        name: &str,
        shape: impl Into<DeclaredShape<'s>>,
        axes: &[u64],
    ) -> Result<Tensor, Error> {
        self.declared(name, shape.into(), Leaf::Data, BufferFacts::Axes(axes.into()))
    }

    /// The same, where the first axis is a [named size](Graph::dim) and the others are these.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// g.dim("batch", 1..=64, 32)?;
    /// let x = g.data_in_batches("x", "... | n", "batch", &[784])?;
    /// assert_eq!(g.final_shape(x)?.to_string(), "batch | 784");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn data_in_batches<'s>(
        &mut self,
        name: &str,
        shape: impl Into<DeclaredShape<'s>>,
        rows: &str,
        row: &[u64],
    ) -> Result<Tensor, Error> {
        read::symbol_at(self, rows).ok_or_else(|| read::no_such_size(self, rows))?;
        self.declared(name, shape.into(), Leaf::Data, BufferFacts::Rows(rows.into(), row.into()))
    }

    /// Data with this many elements, in the shape that its uses ask for.
    pub fn data_with_count<'s>(
        &mut self,
        name: &str,
        shape: impl Into<DeclaredShape<'s>>,
        count: u64,
    ) -> Result<Tensor, Error> {
        self.declared(name, shape.into(), Leaf::Data, BufferFacts::Count(count))
    }

    /// A parameter; its shape is inferred from its uses.
    pub fn param(&mut self, name: &str) -> Tensor {
        let rows = [None, Some(Role::Param), Some(Role::Param)];
        self.undeclared(Some(name), Leaf::Param, rows)
    }

    /// A parameter whose shape is stated, in part or in full: `"64"`, `"... -> hidden"`.
    pub fn param_shaped<'s>(
        &mut self,
        name: &str,
        shape: impl Into<DeclaredShape<'s>>,
    ) -> Result<Tensor, Error> {
        self.declared(name, shape.into(), Leaf::Param, BufferFacts::Nothing)
    }

    /// A parameter whose values have exactly these axes, in the order batch, output, input; its
    /// uses divide them among the rows.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let w = g.param_with_axes("w", &[3, 4])?;
    /// let x = g.data("x", "8 | 4")?;
    /// g.compose(w, x)?;
    /// assert_eq!(g.final_shape(w)?.to_string(), "4 -> 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn param_with_axes(&mut self, name: &str, axes: &[u64]) -> Result<Tensor, Error> {
        self.declared(name, "... | ... -> ...".into(), Leaf::Param, BufferFacts::Axes(axes.into()))
    }

    /// A tensor filled with one value, in the shape that the context asks for.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "5")?;
    /// // Sum by a vector of ones whose length the context decides.
    /// let ones = g.constant(1.0);
    /// let sum = g.einsum("i; i => 0", &[x, ones])?;
    /// assert_eq!(g.final_shape(ones)?.to_string(), "5");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn constant(&mut self, value: f64) -> Tensor {
        self.undeclared(None, Leaf::Constant(value), [Some(Role::Filler); 3])
    }

    /// A number: a tensor without axes. It broadcasts everywhere and shapes nothing.
    pub fn number(&mut self, value: f64) -> Tensor {
        self.undeclared(None, Leaf::Number(value), [None; 3])
    }

    /// A captured size as a number: for means, scales and normalisations.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let x = g.data("x", "8 | 3, 4")?;
    /// let sum = g.einsum("... | ..d.. => ... | 0", &[x])?;
    /// let d = g.captured(sum, "d")?;
    /// let d = g.size_number(d)?;
    /// let mean = g.div(sum, d)?;
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn size_number(&mut self, captured: Captured) -> Result<Tensor, Error> {
        captured::resolve(self, captured)?;
        self.facts.sizes.push(captured);
        let place = self.facts.sizes.len() as u32 - 1;
        Ok(self.undeclared(None, Leaf::Size(place), [None; 3]))
    }

    /// Data with values of its own. Its axes in memory order are those of the array, and the shape
    /// divides them among the rows.
    ///
    /// ```
    /// use broadloom::{Array, Graph};
    /// let mut g = Graph::new();
    /// let values = Array::from_slice(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let x = g.array("x", "... | 3", values)?;
    /// assert_eq!(g.final_shape(x)?.to_string(), "2 | 3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn array<'s>(
        &mut self,
        name: &str,
        shape: impl Into<DeclaredShape<'s>>,
        values: Array,
    ) -> Result<Tensor, Error> {
        let tensor = self.data_with_axes(name, shape, values.sizes())?;
        self.facts.precisions.insert(tensor, values.dtype());
        self.facts.arrays.insert(tensor, Arc::new(values));
        Ok(tensor)
    }

    /// The same with numbers that are written in a program: like a [number](Graph::number), they take the type of what they
    /// meet.
    ///
    /// ```
    /// use broadloom::{Array, Dtype, Graph};
    /// let mut g = Graph::new();
    /// let x = g.data("x", "2")?;
    /// g.set_precision(x, Dtype::F64)?;
    /// let tenths = g.open_array("tenths", "...", Array::from_slice(&[2], &[0.1, 0.2])?)?;
    /// g.mul(x, tenths)?;
    /// assert_eq!(g.dtypes()[tenths.index()], Dtype::F64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_array<'s>(
        &mut self,
        name: &str,
        shape: impl Into<DeclaredShape<'s>>,
        values: Array,
    ) -> Result<Tensor, Error> {
        let tensor = self.data_with_axes(name, shape, values.sizes())?;
        self.facts.arrays.insert(tensor, Arc::new(values));
        Ok(tensor)
    }

    /// Returns true if data has [values of its own](Graph::array).
    pub fn has_values(&self, tensor: Tensor) -> bool {
        self.facts.arrays.contains_key(&tensor)
    }

    /// The [values of its own](Graph::array) that data has.
    pub fn values_of(&self, tensor: Tensor) -> Option<&Array> {
        self.facts.arrays.get(&tensor).map(Arc::as_ref)
    }

    /// The types of the numbers of each tensor: [given](Graph::set_precision) for leaves, inferred
    /// for the rest.
    pub fn dtypes(&self) -> Vec<Dtype> {
        crate::precision::precisions(self)
    }

    /// Positions 0, 1, 2, … in memory order, in a declared shape, such as `"seq"` or `"128 |"`.
    pub fn range<'s>(&mut self, name: &str, shape: impl Into<DeclaredShape<'s>>) -> Result<Tensor, Error> {
        self.declared(name, shape.into(), Leaf::Range, BufferFacts::Nothing)
    }

    /// Random numbers, uniform in `[0, 1)`, in the shape that the context asks for; new ones in
    /// every run. They depend only on the name, the seed and the number of the run.
    pub fn uniform(&mut self, name: &str) -> Tensor {
        self.undeclared(Some(name), Leaf::Uniform, [Some(Role::Filler); 3])
    }

    /// The same, with mean 0 and deviation 1.
    pub fn normal(&mut self, name: &str) -> Tensor {
        self.undeclared(Some(name), Leaf::Normal, [Some(Role::Filler); 3])
    }

    /// The gradient of a tensor, as a tensor: it has the same shape. Routines that go
    /// backward compute it.
    pub fn gradient(&mut self, tensor: Tensor) -> Result<Tensor, Error> {
        self.known(tensor)?;
        refuse_in_turn(self, tensor)?;
        if let Some(known) = self.facts.gradients.get(&tensor) {
            return Ok(*known);
        }
        let rows = self.rows(tensor);
        let gradient = self.tensor(rows);
        let name = format!("{}.grad", names::label_of(self, tensor));
        self.name(gradient, &name);
        self.steps.push(Step::Leaf { leaf: Leaf::Gradient(tensor), tensor: gradient.0 });
        self.settled = None;
        self.facts.gradients.insert(tensor, gradient);
        Ok(gradient)
    }

    /// A tensor with a declared shape that lasts from run to run and is not trained: running
    /// statistics, counters. It begins at 0, or with the values of
    /// [`set_initial`](Graph::set_initial), and routines assign to it.
    ///
    /// ```
    /// use broadloom::{Graph, Initial, Routine, Session};
    /// let mut g = Graph::new();
    /// let (x, seen) = (g.number(2.0), g.state_shaped("seen", "|")?);
    /// g.set_initial(seen, Initial::Constant(1.0))?;
    /// let mut routine = Routine::new("count");
    /// routine.assign(&mut g, "seen =+ x", &[("seen", seen), ("x", x)])?;
    /// let mut session = Session::new(g)?;
    /// session.run(&routine)?;
    /// session.run(&routine)?;
    /// assert_eq!(session.item(seen)?, 5.0);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn state_shaped<'s>(
        &mut self,
        name: &str,
        shape: impl Into<DeclaredShape<'s>>,
    ) -> Result<Tensor, Error> {
        self.declared(name, shape.into(), Leaf::State, BufferFacts::Nothing)
    }

    /// A state whose values have exactly these axes: see [`Graph::param_with_axes`].
    pub fn state_with_axes(&mut self, name: &str, axes: &[u64]) -> Result<Tensor, Error> {
        self.declared(name, "... | ... -> ...".into(), Leaf::State, BufferFacts::Axes(axes.into()))
    }

    /// A state whose shape follows from the values that are assigned to it. It is 0 before the
    /// first run and lasts from run to run.
    ///
    /// ```
    /// use broadloom::{Graph, Routine};
    /// let mut g = Graph::new();
    /// let (x, mean) = (g.data("x", "8 | 3")?, g.state("mean"));
    /// let mut routine = Routine::new("follow");
    /// routine.assign(&mut g, "mean = 0.9 * mean + 0.1 * x", &[("mean", mean), ("x", x)])?;
    /// assert_eq!(g.final_shape(mean)?.to_string(), "8 | 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn state(&mut self, name: &str) -> Tensor {
        self.undeclared(Some(name), Leaf::State, [Some(Role::Interior); 3])
    }

    /// Sets the text of a result without a name as its author wrote it, where it is made
    /// differently here. Messages show it.
    pub fn shown_as(&mut self, tensor: Tensor, text: &str) {
        self.facts.shown.insert(tensor, text.into());
    }

    /// Sets the text of the application whose result a tensor is, or forgets it. Messages show it where the tensor has no
    /// name; [`label_of`](Graph::label_of) still says how it is computed.
    pub fn applied_as(&mut self, tensor: Tensor, text: Option<&str>) {
        match text {
            Some(text) => self.facts.applied.insert(tensor, text.into()),
            None => self.facts.applied.remove(&tensor),
        };
    }

    /// Sets the type of the numbers of a leaf. Results computed from it follow.
    pub fn set_precision(&mut self, tensor: Tensor, dtype: Dtype) -> Result<(), Error> {
        self.known(tensor)?;
        self.facts.precisions.insert(tensor, dtype);
        Ok(())
    }

    /// Sets the type of numbers where nothing else decides it; 32-bit floats at first.
    pub fn set_default_precision(&mut self, dtype: Dtype) {
        self.facts.default_precision = dtype;
    }

    /// Sets the initial values of a parameter or a state.
    pub fn set_initial(&mut self, param: Tensor, initial: Initial) -> Result<(), Error> {
        self.known(param)?;
        if !matches!(self.leaf(param), Some(Leaf::Param | Leaf::State)) {
            let message = format!("`{}` is neither a parameter nor a state", names::label_of(self, param));
            return Err(
                Error::new(ErrorKind::Use, message).with_help("only those begin with values of their own")
            );
        }
        self.facts.initials.insert(param, initial);
        Ok(())
    }

    /// All parameters, in the order they were made.
    pub fn params(&self) -> Vec<Tensor> {
        self.tensors().filter(|tensor| self.leaf(*tensor) == Some(Leaf::Param)).collect()
    }

    /// The kind of a leaf; `None` if the tensor is not one.
    pub(crate) fn leaf(&self, tensor: Tensor) -> Option<Leaf> {
        let data = self.tensors.get(tensor.index())?;
        match self.steps.get(data.step.index()) {
            Some(Step::Leaf { leaf, .. }) => Some(*leaf),
            _ => None,
        }
    }

    /// A leaf with nothing stated: rows with a role are inferred, the others have no axes.
    pub(crate) fn undeclared(&mut self, name: Option<&str>, leaf: Leaf, roles: [Option<Role>; 3]) -> Tensor {
        let rows = roles.map(|role| role.map_or(RowRef::EMPTY, |role| RowRef::var(self.fresh_row(role, 0))));
        let tensor = self.tensor(rows);
        if let Some(name) = name {
            self.name(tensor, name);
        }
        self.steps.push(Step::Leaf { leaf, tensor: tensor.0 });
        self.settled = None;
        tensor
    }

    fn declared(
        &mut self,
        name: &str,
        shape: DeclaredShape<'_>,
        leaf: Leaf,
        given: BufferFacts,
    ) -> Result<Tensor, Error> {
        let made = self.declared_leaf(name, shape, leaf, given);
        self.refusing(made)
    }

    fn declared_leaf(
        &mut self,
        name: &str,
        shape: DeclaredShape<'_>,
        leaf: Leaf,
        given: BufferFacts,
    ) -> Result<Tensor, Error> {
        let about = |error: Error| error.about(&format!("the shape of `{name}`"));
        let shape = self.read_shape(shape).map_err(about)?;
        let decl = &shape.decl;
        if matches!(given, BufferFacts::Count(0))
            || matches!(&given, BufferFacts::Axes(axes) | BufferFacts::Rows(_, axes) if axes.contains(&0))
        {
            return Err(Error::new(ErrorKind::Use, format!("`{name}` would have no elements"))
                .with_help("every axis has at least one element"));
        }
        let (before, first_label) = (self.begin(&[])?, self.labels.len());
        let role = if leaf == Leaf::Param { Role::Param } else { Role::Leaf };
        let rows = self.declared_rows(decl, role, None);
        let tensor = self.tensor(rows);
        self.name(tensor, name);
        if !matches!(given, BufferFacts::Nothing) {
            self.describe_buffer(rows, &given, decl);
        }
        let named = self.declared_names(decl, rows, first_label);
        let declaration = Declaration { shape: shape.text.into(), decl: shape.placed(), given, named };
        self.declarations.insert(tensor.0, declaration);
        let made = self.finish(before, Step::Leaf { leaf, tensor: tensor.0 });
        if made.is_err() {
            self.declarations.remove(&tensor.0);
        }
        made.map(|()| tensor)
    }

    /// Requires that a tensor that an operation made has a shape, given in part or in full, as it
    /// is written for [data](Graph::data): a row that is not written has no axes.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (x, w) = (g.data("x", "32 | 784")?, g.param("w"));
    /// let y = g.compose(w, x)?;
    /// g.declare_shape(y, "32 | 10")?;
    /// assert_eq!(g.final_shape(w)?.to_string(), "784 -> 10");
    /// assert!(g.declare_shape(y, "... | 3").is_err());
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn declare_shape<'s>(
        &mut self,
        tensor: Tensor,
        shape: impl Into<DeclaredShape<'s>>,
    ) -> Result<(), Error> {
        self.declare_computed(tensor, ComputedShape { shape: shape.into(), sizes: &[] })
    }

    /// The same for a shape with expressions for sizes.
    pub fn declare_computed(&mut self, tensor: Tensor, shape: ComputedShape<'_>) -> Result<(), Error> {
        self.shape_step(tensor, shape, None)
    }

    /// States the shape of a tensor as a part of a signature: names that were used before, in the shapes of other tensors
    /// of the same signature, are the same sizes and rows again.
    ///
    /// ```
    /// use broadloom::{Graph, StatedNames};
    /// let mut g = Graph::new();
    /// let (x, y) = (g.data("x", "32 | 10")?, g.data("y", "32 |")?);
    /// let mut names = StatedNames::default();
    /// g.state_shape(x, "..b.. | n".into(), &mut names)?;
    /// g.state_shape(y, "..b.. |".into(), &mut names)?;
    /// assert!(g.state_shape(y, "..b.. | n".into(), &mut names).is_err());
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn state_shape(
        &mut self,
        tensor: Tensor,
        shape: ComputedShape<'_>,
        names: &mut StatedNames,
    ) -> Result<(), Error> {
        let known = names.clone();
        let made = self.shape_step(tensor, shape, Some(names));
        if made.is_err() {
            *names = known;
        }
        made
    }

    /// Says what shape a tensor has. Without shared names, this is its declaration, unless it has one.
    fn shape_step(
        &mut self,
        tensor: Tensor,
        ComputedShape { shape, sizes }: ComputedShape<'_>,
        shared: Option<&mut StatedNames>,
    ) -> Result<(), Error> {
        let step = self.next_step();
        let shape = self.read_shape(shape).map_err(|error| {
            error.about(&format!("the shape of `{}`", names::label_of(self, tensor))).about_step(step)
        })?;
        let decl = &shape.decl;
        let (before, first_label) = (self.begin(&[tensor])?, self.labels.len());
        let declares = shared.is_none() && !self.declarations.contains_key(&tensor.0);
        let (own, rows) = (self.rows(tensor), self.declared_rows(decl, Role::Interior, shared));
        for kind in Kind::ALL {
            self.equate_rows(rows[place(kind)], own[place(kind)], 0, Aspect::Row(kind));
        }
        for (label, size) in sizes {
            let label = decl.names.axes.find(label).map(|label| self.labels[first_label + label.0 as usize]);
            if let Some(Err(error)) = label.map(|label| size_expr::constrain_size(self, label, size)) {
                self.take_back(before);
                return Err(error);
            }
        }
        let fillers =
            own.iter().filter_map(|row| row.hole).filter(|var| self.solver.role(*var) == Role::Filler);
        self.facts.shaped.extend(fillers);
        if declares {
            let named = self.declared_names(decl, rows, first_label);
            let (text, given) = (shape.text.into(), BufferFacts::Nothing);
            let declaration = Declaration { shape: text, decl: shape.placed(), given, named };
            self.declarations.insert(tensor.0, declaration);
        }
        self.facts.stated.insert(step, (shape.text.into(), self.names.len() as u32));
        let made = self.finish(before, Step::Declared(tensor));
        if made.is_err() {
            self.facts.stated.remove(&step);
            if declares {
                self.declarations.remove(&tensor.0);
            }
        }
        made
    }
}

/// Refuses the gradient of a tensor that the body of an open scan computes: it has another value in every turn.
fn refuse_in_turn(graph: &Graph, tensor: Tensor) -> Result<(), Error> {
    let step = graph.tensors[tensor.index()].step;
    let is_computed = matches!(graph.leaf(tensor), None | Some(Leaf::Carried));
    let Some(_) = graph.facts.scans.open.first().filter(|open| is_computed && step >= open.start) else {
        return Ok(());
    };
    let name = names::label_of(graph, tensor);
    let message = format!("`{name}` is computed anew in every turn of a scan, and has no gradient there");
    Err(Error::new(ErrorKind::Use, message)
        .about_step(step)
        .with_help("ask for gradients outside of the scan, of parameters and of what it goes through"))
}
