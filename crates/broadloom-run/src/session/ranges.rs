//! Memory over the ranges of named sizes, and the largest size that fits.

use std::sync::Arc;

use broadloom_graph::lowering::Face;
use broadloom_graph::{Error, ErrorKind};

use super::memory::Lifetimes;
use super::{Memory, Session};
use crate::lower::Layout;
use crate::routine::Routine;

/// The memory that routines need, over the ranges of named sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// At the least sizes, or None if the program is not valid there, or if a size decreases when
    /// another grows.
    pub least: Option<Memory>,
    /// At the current sizes, which are the samples if nothing else was set.
    pub now: Memory,
    /// At the greatest sizes, or None if a size that matters has no maximum, if the program is not
    /// valid there, or if a size decreases when another grows (`seq - k`): then there is no
    /// guarantee.
    pub most: Option<Memory>,
}

impl MemoryRange {
    /// Returns true if it fits into this many bytes whatever the sizes are (*Tensor Dimension
    /// Inference*, "Training Memory Safety").
    pub fn always_fits(&self, bytes: u64) -> bool {
        self.most.as_ref().is_some_and(|most| most.peak() <= bytes)
    }
}

/// A named size that tensors depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSize {
    /// Its name.
    pub name: String,
    /// Its current number.
    pub now: u64,
    /// The least and the greatest number it can have.
    pub range: (u64, Option<u64>),
}

impl Session {
    /// The named sizes that tensors depend on, in the order of their declaration.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// g.dim("batch", 1..=64, 32)?;
    /// g.data("x", "batch | 784")?;
    /// let [batch] = &broadloom::Session::new(g)?.open_sizes()?[..] else { panic!("one size") };
    /// assert_eq!((batch.name.as_str(), batch.now, batch.range), ("batch", 32, (1, Some(64))));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn open_sizes(&mut self) -> Result<Vec<OpenSize>, Error> {
        self.refresh()?;
        Ok(self
            .sizes
            .each_open()
            .map(|(name, now, range)| OpenSize { name: name.into(), now, range })
            .collect())
    }

    /// The memory that routines need over all sizes. Nothing is allocated or compiled.
    ///
    /// ```
    /// use broadloom::{Graph, Routine, Session};
    /// let mut g = Graph::new();
    /// g.dim("batch", 1..=64, 32)?;
    /// let (x, w) = (g.data("x", "batch | 784")?, g.param_shaped("w", "... -> 10")?);
    /// let y = g.compose(w, x)?;
    /// let mut forward = Routine::new("forward");
    /// forward.forward(y);
    ///
    /// let mut session = Session::new(g)?;
    /// let range = session.memory_range(&[forward.clone()])?;
    /// let bytes = |batch: u64| 4 * (784 * 10 + batch * 784 + batch * 10);
    /// let [least, most] = [range.least, range.most].map(|memory| memory.map(|memory| memory.lasting()));
    /// assert_eq!((least, range.now.lasting(), most), (Some(bytes(1)), bytes(32), Some(bytes(64))));
    /// // What fits into 100 kB:
    /// assert_eq!(session.largest_that_fits("batch", &[forward], 100_000)?, Some(21));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn memory_range(&mut self, routines: &[Routine]) -> Result<MemoryRange, Error> {
        self.refresh()?;
        let plans = self.plans(routines)?;
        let now = self.planned_at(&self.layout, routines, &plans)?;
        let (least, most) = self.sizes.ends();
        let grows = self.inferred.shapes.grow();
        let at = |sizes: Vec<u64>| match grows && self.sizes.broken_at(&sizes).is_none() {
            true => self.planned_for(&sizes, routines, &plans).map(Some),
            false => Ok(None),
        };
        let most = most.map_or(Ok(None), at)?;
        Ok(MemoryRange { least: at(least)?, now, most })
    }

    /// The memory that routines need at other sizes than the current ones. Nothing is allocated or
    /// compiled.
    pub fn memory_at(&mut self, sizes: &[(&str, u64)], routines: &[Routine]) -> Result<Memory, Error> {
        self.refresh()?;
        let wanted = self.wanted(sizes)?;
        wanted.check(&self.graph)?;
        let plans = self.plans(routines)?;
        self.planned_for(&wanted.now, routines, &plans)
    }

    /// The largest number of a named size at which routines fit into this many bytes, with the
    /// other sizes as they are now, or None if they never do. Work space of threads is not counted.
    pub fn largest_that_fits(
        &mut self,
        name: &str,
        routines: &[Routine],
        bytes: u64,
    ) -> Result<Option<u64>, Error> {
        self.refresh()?;
        let own = self.graph.symbol_at(name)?;
        let at = self.sizes.known_as(own);
        if !self.sizes.is_open(at) {
            let message = format!("nothing depends on `{name}`, so that memory does not either");
            return Err(Error::new(ErrorKind::Range, message));
        }
        let plans = self.plans(routines)?;
        let (first, last, step) = self.sizes.choices(at);
        let end = last.map_or(BEYOND, |last| (last - first) / step);
        let mut sizes = self.sizes.now.clone();
        // Returns the size if a choice fits, or else the next lower one at which the program is
        // valid.
        let mut fits = |choice: u64| {
            for near in (choice.saturating_sub(NEAR)..=choice).rev() {
                sizes[at] = first.saturating_add(near.saturating_mul(step));
                if self.sizes.broken_at(&sizes).is_none() {
                    let memory = self.planned_for(&sizes, routines, &plans)?;
                    return Ok::<_, Error>((memory.peak() <= bytes).then_some(sizes[at]));
                }
            }
            Ok(None)
        };
        if self.inferred.shapes.grow() {
            return last_that_fits(end, fits);
        }
        if end > SCANNED {
            let message =
                format!("less memory may be needed for a larger `{name}`, and there are too many to try");
            return Err(Error::new(ErrorKind::Range, message).with_help("declare a smaller range"));
        }
        (0..=end).rev().find_map(|choice| fits(choice).transpose()).transpose()
    }

    fn planned_for(
        &self,
        sizes: &[u64],
        routines: &[Routine],
        plans: &[Arc<Lifetimes>],
    ) -> Result<Memory, Error> {
        self.planned_at(&Layout::at(&self.graph, &self.inferred, sizes)?, routines, plans)
    }
}

/// An upper limit for sizes without a maximum.
const BEYOND: u64 = 1 << 40;
/// The most steps to the next size at which a program is valid.
const NEAR: u64 = 16;
/// The most sizes that are tried one by one.
const SCANNED: u64 = 4096;

/// The last choice that fits, if all choices up to it fit and none beyond: more of anything takes
/// no less memory, so it can be found by bisection.
fn last_that_fits(
    end: u64,
    mut fits: impl FnMut(u64) -> Result<Option<u64>, Error>,
) -> Result<Option<u64>, Error> {
    let first = (0..=NEAR.min(end)).find_map(|choice| fits(choice).transpose().map(|size| (choice, size)));
    let Some((mut good, size)) = first else { return Ok(None) };
    let mut found = size?;
    let mut bad = good + 1;
    while bad <= end
        && let Some(size) = fits(bad)?
    {
        found = size;
        (good, bad) = (bad, bad * 2);
    }
    bad = bad.min(end + 1);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        match fits(middle)? {
            Some(size) => (good, found) = (middle, size),
            None => bad = middle,
        }
    }
    Ok(Some(found))
}
