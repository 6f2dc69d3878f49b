//! Memory over all sizes that named sizes can have, and the largest size that fits.

use super::memory::Plan;
use super::{Memory, Session};
use crate::error::{Error, ErrorKind};
use crate::lower::Layout;
use crate::routine::Routine;

/// The memory that routines need, over the ranges of named sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// At the least sizes.
    pub least: Memory,
    /// At the present sizes, which are the samples if nothing else was said.
    pub now: Memory,
    /// At the greatest sizes; nothing if a size that matters has no greatest.
    pub most: Option<Memory>,
}

impl MemoryRange {
    /// Whether it fits into so many bytes whatever the sizes are (*Tensor Dimension Inference*, "Training Memory Safety").
    pub fn always_fits(&self, bytes: u64) -> bool {
        self.most.as_ref().is_some_and(|most| most.peak() <= bytes)
    }
}

/// A named size that tensors depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSize {
    /// Its name.
    pub name: String,
    /// The number it has now.
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

    /// How much memory routines need over all sizes. Nothing is allocated, nor compiled.
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
    /// let most = range.most.map(|most| most.lasting());
    /// assert_eq!((range.least.lasting(), range.now.lasting(), most), (bytes(1), bytes(32), Some(bytes(64))));
    /// // What fits into 100 kB:
    /// assert_eq!(session.largest_that_fits("batch", &[forward], 100_000)?, Some(21));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn memory_range(&mut self, routines: &[Routine]) -> Result<MemoryRange, Error> {
        self.refresh()?;
        let plans = self.plans(routines)?;
        let now = self.planned_at(&self.layout, routines, &plans)?;
        let (least, most) = self.sizes.ends();
        let at = |sizes: &[u64]| match self.sizes.is_possible(sizes) {
            true => self.planned_for(sizes, routines, &plans).map(Some),
            false => Ok(None),
        };
        let least = at(&least)?.unwrap_or_else(|| now.clone());
        let most = match most {
            Some(most) => at(&most)?,
            None => None,
        };
        Ok(MemoryRange { least, now, most })
    }

    /// How much memory routines need at other sizes than the present ones. Nothing is allocated, nor compiled.
    pub fn memory_at(&mut self, sizes: &[(&str, u64)], routines: &[Routine]) -> Result<Memory, Error> {
        self.refresh()?;
        let wanted = self.wanted(sizes)?;
        wanted.check(&self.graph)?;
        let plans = self.plans(routines)?;
        self.planned_for(&wanted.now, routines, &plans)
    }

    /// The largest number that a named size can have if routines are to fit into so many bytes, the other sizes being as
    /// they are now; nothing if they never do. Work space of threads is not counted.
    pub fn largest_that_fits(
        &mut self,
        name: &str,
        routines: &[Routine],
        bytes: u64,
    ) -> Result<Option<u64>, Error> {
        self.refresh()?;
        let own = self.graph.symbol_at(name).ok_or_else(|| self.graph.no_such_size(name))?;
        let at = self.graph.symbol_stands_for(own);
        if !self.sizes.is_open(at) {
            let message = format!("no tensor depends on `{name}`, so that memory does not either");
            return Err(Error::new(ErrorKind::Range, message));
        }
        let (first, last, step) = self.sizes.choices(at);
        let plans = self.plans(routines)?;
        let mut sizes = self.sizes.now.clone();
        let mut fits = |choice: u64| {
            sizes[at] = first.saturating_add(choice.saturating_mul(step));
            Ok::<bool, Error>(self.planned_for(&sizes, routines, &plans)?.peak() <= bytes)
        };
        if !fits(0)? {
            return Ok(None);
        }
        // More of anything takes no less memory: the answer is between one that fits and one that does not.
        let end = last.map_or(BEYOND, |last| (last - first) / step);
        let (mut good, mut bad) = (0, 1);
        while bad <= end && fits(bad)? {
            (good, bad) = (bad, bad * 2);
        }
        bad = bad.min(end + 1);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if fits(middle)? { good = middle } else { bad = middle }
        }
        Ok(Some(first + good * step))
    }

    fn planned_for(&self, sizes: &[u64], routines: &[Routine], plans: &[Plan]) -> Result<Memory, Error> {
        self.planned_at(&Layout::at(&self.graph, &self.inferred, sizes)?, routines, plans)
    }
}

/// No size is larger than this, whatever its range.
const BEYOND: u64 = 1 << 40;
