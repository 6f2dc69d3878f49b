//! Values that are given to a session, and results that are taken out of it, without copying if possible.

use std::fmt;

use broadloom_array::{Array, Dtype};
use broadloom_graph::lowering::{Face, Leaf};
use broadloom_graph::{Error, ErrorKind, Graph, Input, Misfit, Tensor};
use broadloom_loops::{Block, Lent};

use super::Session;
use crate::lower::Content;

/// Values that are given to a session.
#[derive(Clone, Debug)]
pub enum GivenValues<'a> {
    /// They are copied.
    Copied(&'a Array),
    /// They are read where they are, if that is possible.
    Lent(Lent),
}

impl GivenValues<'_> {
    fn sizes(&self) -> &[u64] {
        match self {
            GivenValues::Copied(values) => values.sizes(),
            GivenValues::Lent(lent) => lent.sizes(),
        }
    }

    fn dtype(&self) -> Dtype {
        match self {
            GivenValues::Copied(values) => values.dtype(),
            GivenValues::Lent(lent) => lent.dtype(),
        }
    }
}

/// Why values that were lent are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copied {
    /// The program stores them in another type.
    Type {
        /// The type of the values.
        given: Dtype,
        /// The type in which the program stores them.
        stored: Dtype,
    },
    /// Windows of the program read beyond an axis, so that its memory has margins.
    Margins,
    /// They last from run to run.
    Lasts,
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Copied::Type { given, stored } => write!(f, "it is {given}, and the program stores {stored}"),
            Copied::Margins => {
                write!(f, "windows read beyond its axes, so that the program keeps it with margins")
            }
            Copied::Lasts => write!(f, "it is a parameter or a state, which lasts from run to run"),
        }
    }
}

impl Session {
    /// Sets the values of several tensors. Named sizes are set to those that all of them imply
    /// together; if anything does not fit, nothing is changed.
    ///
    /// ```
    /// use broadloom::{Array, Dtype, Graph, Session};
    /// let mut g = Graph::new();
    /// g.dim("batch", 1..=64, 32)?;
    /// let (x, target) = (g.data("x", "batch | 4")?, g.data("target", "batch | 1")?);
    /// let ones = |sizes: &[u64]| Array::full(Dtype::F32, sizes, 1.0);
    /// let mut session = Session::new(g)?;
    /// session.set_all(&[(x, &ones(&[16, 4])?), (target, &ones(&[16, 1])?)])?;
    /// let error = session.set_all(&[(x, &ones(&[16, 4])?), (target, &ones(&[17, 1])?)]).unwrap_err();
    /// assert!(error.message().contains("axis 0 of `x` makes `batch` 16, axis 0 of `target` makes it 17"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn set_all(&mut self, inputs: &[(Tensor, &Array)]) -> Result<(), Error> {
        let given: Vec<(Tensor, GivenValues<'_>)> =
            inputs.iter().map(|(tensor, values)| (*tensor, GivenValues::Copied(values))).collect();
        self.give(&given).map(drop)
    }

    /// Like [`set_all`](Session::set_all), with values that may be lent: these are read where they are, until they are
    /// [given back](Session::give_back). Says for each why it was copied, if it was.
    pub fn give(&mut self, inputs: &[(Tensor, GivenValues<'_>)]) -> Result<Vec<Option<Copied>>, Error> {
        self.refresh()?;
        self.give_fitting(inputs).map_err(|error| self.misfit_of(inputs).unwrap_or(error))
    }

    /// The error for values whose sizes do not fit, if there are any: the axis, and both of its sizes.
    fn misfit_of(&mut self, inputs: &[(Tensor, GivenValues<'_>)]) -> Option<Error> {
        let input = |(tensor, values): &'_ (Tensor, GivenValues<'_>)| {
            (*tensor, values.sizes().to_vec(), values.dtype())
        };
        let all: Vec<(Tensor, Vec<u64>, Dtype)> = inputs.iter().map(input).collect();
        let all: Vec<Input<'_>> = all
            .iter()
            .map(|(tensor, sizes, dtype)| Input { tensor: *tensor, sizes, dtype: *dtype })
            .collect();
        let is_size = |misfit: &Misfit| !matches!(misfit, Misfit::Dtype { .. });
        let misfit = self.graph.fit(&all).ok()?.misfits.into_iter().find(is_size)?;
        let tensors = misfit.tensors();
        let kind = match misfit {
            Misfit::Range { .. } | Misfit::Check { .. } => ErrorKind::Range,
            _ => ErrorKind::Value,
        };
        let mut error = Error::new(kind, misfit.to_string()).with_help(misfit.help());
        if let Some(first) = tensors.first() {
            error = error.about_values_of(*first, &self.graph.label_of(*first));
        }
        let ends = tensors.iter().map(|tensor| self.graph.declared_end(*tensor));
        Some(ends.fold(error, Error::with_end))
    }

    fn give_fitting(&mut self, inputs: &[(Tensor, GivenValues<'_>)]) -> Result<Vec<Option<Copied>>, Error> {
        let about = |graph: &Graph, tensor: Tensor, error: Error| {
            error.about_values_of(tensor, &graph.label_of(tensor))
        };
        for (tensor, values) in inputs {
            let suits = self.graph.settable(*tensor).and_then(|()| {
                self.store.suits(&self.graph, &self.layout, Content::Value(*tensor), values.dtype())
            });
            suits.map_err(|error| about(&self.graph, *tensor, error))?;
        }
        let sizes: Vec<(Tensor, &[u64])> =
            inputs.iter().map(|(tensor, values)| (*tensor, values.sizes())).collect();
        self.follow(&sizes)?;
        for (tensor, values) in inputs {
            let facts = (values.sizes(), values.dtype());
            let fits = self.store.fits(&self.graph, &self.layout, Content::Value(*tensor), facts);
            let fits = fits.and_then(|()| self.holds(*tensor, values));
            fits.map_err(|error| about(&self.graph, *tensor, error))?;
        }
        let mut copied = Vec::with_capacity(inputs.len());
        for (tensor, values) in inputs {
            let held = match values {
                GivenValues::Copied(values) => self
                    .store
                    .write(&self.graph, &self.layout, Content::Value(*tensor), values)
                    .map(|()| None),
                GivenValues::Lent(lent) => self.lend(*tensor, lent),
            };
            copied.push(held.map_err(|error| about(&self.graph, *tensor, error))?);
        }
        Ok(copied)
    }

    /// Refuses numbers that the type of a tensor does not hold.
    fn holds(&self, tensor: Tensor, values: &GivenValues<'_>) -> Result<(), Error> {
        let stored = self.layout.dtypes[tensor.index()];
        if values.dtype() == stored {
            return Ok(());
        }
        let outside = match values {
            GivenValues::Copied(values) => values.outside(stored),
            GivenValues::Lent(lent) => lent.read()?.outside(stored),
        };
        let Some(outside) = outside else { return Ok(()) };
        let name = self.graph.label_of(tensor);
        let range = match stored.range() {
            Some((least, greatest)) => format!(", from {least} to {greatest}"),
            None => String::new(),
        };
        let message = format!("`{name}` holds {stored}{range}, and {outside} is among the values");
        Err(Error::new(ErrorKind::Value, message)
            .with_help(format!("declare a wider type for `{name}`, or change the values first")))
    }

    /// Reads values where they are, or copies them and says why.
    fn lend(&mut self, tensor: Tensor, lent: &Lent) -> Result<Option<Copied>, Error> {
        let (node, stored) = (Content::Value(tensor), self.layout.dtypes[tensor.index()]);
        let why = match self.graph.leaf(tensor) {
            Some(Leaf::Data) if stored != lent.dtype() => Copied::Type { given: lent.dtype(), stored },
            Some(Leaf::Data) => {
                if self.store.lend(&self.graph, &self.layout, node, lent)? {
                    return Ok(None);
                }
                Copied::Margins
            }
            _ => Copied::Lasts,
        };
        self.store.write(&self.graph, &self.layout, node, &lent.read()?)?;
        Ok(Some(why))
    }

    /// Forgets all values that were lent. Their owners can change them again.
    pub fn give_back(&mut self) {
        self.store.give_back();
    }

    /// Forgets the values that some data was given. Data with values of its own has these again.
    pub fn forget(&mut self, tensor: Tensor) {
        self.store.forget(Content::Value(tensor));
    }

    /// Returns true if a tensor has values now.
    pub fn has_values(&self, tensor: Tensor) -> bool {
        self.store.has_values(Content::Value(tensor))
    }

    /// Takes the values of a tensor out of the session, with the memory that they are in. Those of a leaf are copied, and
    /// so are those that have margins. What was computed is not there any more afterwards.
    pub fn take(&mut self, tensor: Tensor) -> Result<Block, Error> {
        self.refresh()?;
        self.graph.known(tensor)?;
        let taken = match self.graph.leaf(tensor) {
            Some(_) => None,
            None => self.store.take(Content::Value(tensor))?,
        };
        match taken {
            Some(block) => Ok(block),
            None => Ok(Block::of(&self.get(tensor)?)?),
        }
    }
}
