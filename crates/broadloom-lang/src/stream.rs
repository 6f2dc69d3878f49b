//! Streams of data: a batch of rows at a time, in their order or shuffled, for epochs without end.
//!
//! The rows of a batch follow from the number of the batch, the number of rows and the seed, and from nothing else. So they are
//! the same on every backend and in a run that goes on from where another has come, and streams with equally many rows are
//! shuffled in the same way.

use std::sync::Arc;

use broadloom::{Array, Dtype, Tensor, random};
use broadloom_diagnostics::Span;

/// A web page has no files to stream from, and does not carry the code for it.
pub(crate) const HAS_STREAMS: bool = !cfg!(target_family = "wasm");

/// A stream of batches.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its files, or another word for it.
    pub name: String,
    /// Its arrays, all with the same number of rows.
    pub(crate) arrays: Vec<Part>,
    /// The number of rows in an epoch, including those that are left out.
    pub rows: u64,
    /// The number of rows in a batch.
    pub size: u64,
    /// True if the rows of each epoch are in an order of its own.
    pub shuffled: bool,
    /// True if the rows that are left over in an epoch are a smaller batch; otherwise they are left out.
    pub smaller_last: bool,
    /// The named size that the size of a batch is, if it is one.
    pub named: Option<String>,
    /// The data that it has the values of, and the array of each.
    pub(crate) data: Vec<(Tensor, usize)>,
    /// The span of the call.
    pub span: Span,
}

/// An array of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Its name; empty if it is the whole of a file.
    pub name: String,
    /// The sizes of its axes; the first is the number of rows.
    pub sizes: Vec<u64>,
    /// The type of its numbers, unless they were written as text.
    pub dtype: Option<Dtype>,
    pub from: PartFrom,
}

/// The place of the rows of an array.
#[derive(Clone, Debug)]
pub(crate) enum PartFrom {
    Memory(Arc<Array>),
    #[cfg(not(target_family = "wasm"))]
    File(Arc<broadloom::files::OpenRows>, usize),
}

impl Part {
    /// The rows at these positions.
    fn rows(&self, rows: &[u64]) -> Result<Array, String> {
        match &self.from {
            PartFrom::Memory(array) => array.rows(rows).map_err(|error| error.message),
            #[cfg(not(target_family = "wasm"))]
            PartFrom::File(file, array) => file.read(*array, rows).map_err(|error| error.to_string()),
        }
    }

    /// Returns true if all of it is held in memory though it is in a file.
    fn is_held(&self) -> bool {
        match &self.from {
            PartFrom::Memory(_) => false,
            #[cfg(not(target_family = "wasm"))]
            PartFrom::File(file, array) => file.arrays()[*array].is_held(),
        }
    }
}

impl Stream {
    /// The number of batches in an epoch.
    pub fn batches(&self) -> u64 {
        match self.smaller_last {
            true => self.rows.div_ceil(self.size),
            false => self.rows / self.size,
        }
    }

    /// The number of rows that are left over behind the last batch of full size.
    pub fn rest(&self) -> u64 {
        self.rows % self.size
    }

    /// Returns true if it has the values of some data.
    pub fn feeds(&self, data: Tensor) -> bool {
        self.data.iter().any(|(tensor, _)| *tensor == data)
    }

    /// Returns true if its rows are read from files, which takes time.
    pub(crate) fn is_read(&self) -> bool {
        self.data.iter().any(|(_, array)| !matches!(self.arrays[*array].from, PartFrom::Memory(_)))
    }

    /// Remarks that a user should read before it is used.
    pub(crate) fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        let name = &self.name;
        if self.rest() > 0 && !self.smaller_last {
            let (rest, rows, size) = (self.rest(), self.rows, self.size);
            let which = if self.shuffled { ", others each time" } else { "" };
            let are = if rest == 1 { "is" } else { "are" };
            notices.push(format!(
                "{name}: {rest} of {rows} rows {are} left out in each epoch{which}, because batches have {size}"
            ));
        }
        let mut held: Vec<usize> = self.data.iter().map(|(_, array)| *array).collect();
        held.sort_unstable();
        held.dedup();
        for part in held.iter().map(|array| &self.arrays[*array]).filter(|part| part.is_held()) {
            let what = if part.name.is_empty() { "the array".into() } else { format!("`{}`", part.name) };
            notices.push(format!(
                "{name}: {what} is compressed or in Fortran order, so that all of it is held in memory"
            ));
        }
        notices
    }
}

/// Reads the batches of a stream.
pub(crate) struct Batches {
    stream: Stream,
    seed: u64,
    /// The order of the rows in an epoch, the last one that was asked for.
    order: Option<(u64, Vec<u64>)>,
}

impl Batches {
    pub fn new(stream: Stream, seed: u64) -> Batches {
        Batches { stream, seed, order: None }
    }

    /// The values of the data of the stream in a batch, which is counted from 0 and over all epochs.
    pub fn read(&mut self, batch: u64) -> Result<Vec<Array>, String> {
        let rows = self.rows_of(batch);
        let stream = &self.stream;
        stream.data.iter().map(|(_, array)| stream.arrays[*array].rows(&rows)).collect()
    }

    fn rows_of(&mut self, batch: u64) -> Vec<u64> {
        let Stream { rows, size, shuffled, .. } = self.stream;
        let batches = self.stream.batches().max(1);
        let (epoch, first) = (batch / batches, batch % batches * size);
        let places = first..(first + size).min(rows);
        if !shuffled {
            return places.collect();
        }
        if self.order.as_ref().is_none_or(|(known, _)| *known != epoch) {
            self.order = Some((epoch, order(rows, epoch, self.seed)));
        }
        let order = self.order.as_ref().map(|(_, order)| &order[..]).unwrap_or_default();
        places.filter_map(|at| order.get(at as usize).copied()).collect()
    }
}

/// The rows of an epoch in a random order: Fisher and Yates, by numbers of Threefry.
fn order(rows: u64, epoch: u64, seed: u64) -> Vec<u64> {
    let key = random::key_of(seed, &format!("epoch {epoch} of {rows} rows"));
    let mut order: Vec<u64> = (0..rows).collect();
    for at in (1..order.len()).rev() {
        let [low, high] = random::threefry(key, at as u64);
        let drawn = u64::from(high) << 32 | u64::from(low);
        // A number up to `at`; the error is far below what anybody could notice.
        let other = (u128::from(drawn) * (at as u128 + 1)) >> 64;
        order.swap(at, other as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom::Graph;
    use broadloom_diagnostics::SourceId;

    fn stream(rows: u64, size: u64, shuffled: bool, smaller_last: bool) -> Stream {
        let array = Array::new(&[rows], (0..rows as i64).collect::<Vec<i64>>()).unwrap();
        let from = PartFrom::Memory(Arc::new(array));
        let part = Part { name: String::new(), sizes: vec![rows], dtype: None, from };
        let mut graph = Graph::new();
        let data = vec![(graph.number(0.0), 0)];
        let (name, span) = ("numbers".to_string(), Span::empty(SourceId::default(), 0));
        Stream { name, arrays: vec![part], rows, size, shuffled, smaller_last, named: None, data, span }
    }

    fn epoch(stream: &Stream, epoch: u64, seed: u64) -> Vec<f64> {
        let mut batches = Batches::new(stream.clone(), seed);
        let first = epoch * stream.batches();
        let all = first..first + stream.batches();
        all.flat_map(|batch| batches.read(batch).unwrap()[0].to_f64s()).collect()
    }

    #[test]
    fn an_epoch_has_every_row_once() {
        let plain: Vec<f64> = (0..103).map(f64::from).collect();
        assert_eq!(epoch(&stream(103, 10, false, true), 3, 0), plain);
        assert_eq!(epoch(&stream(103, 10, false, false), 3, 0), plain[..100]);
        let shuffled = stream(103, 10, true, true);
        let mut seen = epoch(&shuffled, 1, 7);
        assert_ne!(seen, plain);
        assert_ne!(seen, epoch(&shuffled, 2, 7), "another order in each epoch");
        assert_ne!(seen, epoch(&shuffled, 1, 8), "another order for another seed");
        seen.sort_by(f64::total_cmp);
        assert_eq!(seen, plain);
    }

    /// A batch does not depend on the batches that were read before it.
    #[test]
    fn batches_are_a_function_of_their_number() {
        let stream = stream(50, 8, true, false);
        let mut forward = Batches::new(stream.clone(), 1);
        let all: Vec<_> = (0..20).map(|batch| forward.read(batch).unwrap()).collect();
        for batch in [19, 3, 11, 0] {
            assert_eq!(Batches::new(stream.clone(), 1).read(batch).unwrap(), all[batch as usize]);
        }
    }

    /// Every row is as likely in every place: chi-squared over 2,000 epochs of 6 rows, 25 degrees of freedom.
    #[test]
    fn orders_are_even() {
        let mut counts = [[0u32; 6]; 6];
        for epoch in 0..2000 {
            let order = order(6, epoch, 5);
            order.iter().enumerate().for_each(|(place, row)| counts[place][*row as usize] += 1);
        }
        let expected = 2000.0 / 6.0;
        let chi: f64 =
            counts.iter().flatten().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        assert!(chi < 52.6, "{chi}: less than one in a thousand");
    }
}
