//! The named sizes of a graph with the numbers that they have.

use std::sync::Arc;

use broadloom_core::Symbol;
use broadloom_graph::lowering::{self, Face, Inferred, SomeSizes, contains, out_of_range};
use broadloom_graph::{Error, ErrorKind, Graph, RuntimeCheck, Tensor};
use broadloom_loops::Progression;

/// Divisions by more than this are not looked through for the sizes that they leave.
const LONGEST_PERIOD: u64 = 4096;

/// The named sizes of a graph, by symbol, with the numbers they have.
#[derive(Clone)]
pub(crate) struct Sizes {
    pub(crate) names: Vec<Box<str>>,
    pub(crate) ranges: Vec<(u64, Option<u64>)>,
    /// The representative symbol of each: another one if they are the same size.
    pub(crate) same: Arc<[usize]>,
    pub(crate) checks: Arc<[RuntimeCheck]>,
    /// The symbols that sizes of tensors, or numbers, depend on.
    pub(crate) open: Arc<[Symbol]>,
    /// The number of each symbol.
    pub now: Vec<u64>,
    /// The source of each number.
    pub(crate) by: Vec<By>,
}

/// The source of the number of a named size.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum By {
    /// Nothing yet: the number is a placeholder.
    Undecided,
    /// The program, or its sample.
    Program,
    /// [`Session::set_sizes`].
    Caller,
    /// Data that was set.
    Data(Tensor),
}

impl Sizes {
    pub fn new(graph: &mut Graph, inferred: &Inferred) -> Result<Sizes, Error> {
        let checks = graph.runtime_checks()?.into();
        let decided = |sample: bool| if sample { By::Program } else { By::Undecided };
        let SomeSizes { numbers: now, same } = lowering::some_sizes(graph)?;
        let known = |at: usize| graph.symbol_now(at).number;
        let by = graph.symbols().iter().enumerate();
        // A sample at which the program is not valid decides nothing.
        let by = by.map(|(at, data)| decided(known(at).is_some() || data.sample == Some(now[at]))).collect();
        let names = graph.symbols().iter().map(|data| data.name.clone()).collect();
        let ranges = same.iter().map(|at| graph.symbol_now(*at).range).collect();
        let open = inferred.symbols().into();
        Ok(Sizes { names, ranges, same, checks, open, now, by })
    }

    /// The sizes for a graph that has changed: given numbers are kept, as far as they are still
    /// possible.
    pub fn carried_to(&self, changed: Sizes, graph: &Graph) -> Sizes {
        let mut carried = changed.clone();
        for (at, name) in self.names.iter().enumerate() {
            let kept = match self.by[at] {
                By::Caller => true,
                By::Data(tensor) => graph.known(tensor).is_ok(),
                By::Undecided | By::Program => false,
            };
            if let Some(to) = changed.names.iter().position(|known| known == name)
                && kept
                && graph.symbol_now(to).number.is_none()
            {
                carried.give(to, self.now[at], self.by[at]);
            }
        }
        if carried.check(graph).is_ok() { carried } else { changed }
    }

    /// Sets the number of a size, under all its names.
    pub fn give(&mut self, at: usize, number: u64, by: By) {
        for other in (0..self.same.len()).filter(|other| self.same[*other] == self.same[at]) {
            (self.now[other], self.by[other]) = (number, by);
        }
    }

    /// The representative symbol of a size.
    pub fn known_as(&self, at: usize) -> usize {
        self.same[at]
    }

    /// The numbers of some sizes.
    pub fn of(&self, symbols: &[Symbol]) -> Vec<u64> {
        self.values(symbols, &self.now)
    }

    /// The numbers of some sizes, from the numbers of all.
    pub fn values(&self, symbols: &[Symbol], all: &[u64]) -> Vec<u64> {
        symbols.iter().map(|symbol| all[symbol.0 as usize]).collect()
    }

    /// The numbers that a size can have, its range aside, as far as divisions of it alone show.
    pub fn progression(&self, symbol: Symbol) -> Progression {
        let forms = self.checks.iter().map(RuntimeCheck::form);
        let alone: Vec<_> =
            forms.filter(|form| form.denominator() > 1 && form.symbols() == [symbol]).collect();
        let divisors = alone.iter().map(|form| u64::try_from(form.denominator()).unwrap_or(u64::MAX));
        // A sum of products of a size has the same rest at sizes that differ by its divisor.
        let period = divisors.fold(1, least_common_multiple);
        let is_whole = |(numerator, denominator): (i128, i128)| numerator % denominator == 0;
        let fits = |size: u64| alone.iter().all(|form| form.value(|_| Some(size)).is_some_and(is_whole));
        let found = (period <= LONGEST_PERIOD).then(|| Progression::of(period, fits));
        found.flatten().unwrap_or_default()
    }

    /// The least number that a size can have, by its range and by the checks that concern it alone.
    pub fn least(&self, symbol: Symbol) -> u64 {
        let relied_on = self.checks.iter().filter_map(RuntimeCheck::least);
        let relied_on = relied_on.filter(|(own, _)| *own == symbol).map(|(_, least)| least);
        relied_on.fold(self.ranges[symbol.0 as usize].0, u64::max)
    }

    /// Returns true if some sizes are numbers that code for all sizes assumes.
    pub fn are_usual(&self, symbols: &[Symbol]) -> bool {
        let is_usual = |(symbol, size): (&Symbol, u64)| self.progression(*symbol).place_of(size).is_some();
        symbols.iter().zip(self.of(symbols)).all(is_usual)
    }

    /// Name, number and range of the sizes that tensors or numbers depend on.
    pub fn each_open(&self) -> impl Iterator<Item = (&str, u64, (u64, Option<u64>))> {
        self.open.iter().map(|symbol| {
            let at = symbol.0 as usize;
            (&*self.names[at], self.now[at], self.ranges[at])
        })
    }

    /// Returns true if something depends on a size.
    pub fn is_open(&self, at: usize) -> bool {
        self.open.iter().any(|symbol| symbol.0 as usize == at)
    }

    /// The numbers that a size can have, by its range and its divisions: the first, the last and
    /// the distance.
    pub fn choices(&self, at: usize) -> (u64, Option<u64>, u64) {
        let of = self.progression(Symbol(at as u32));
        let (lo, hi) = self.ranges[at];
        let first = of.at(of.place_from(lo));
        (first, hi.map(|hi| of.last_to(hi).unwrap_or(first).max(first)), of.step)
    }

    /// The least sizes, and the greatest if all have one.
    pub fn ends(&self) -> (Vec<u64>, Option<Vec<u64>>) {
        let (mut least, mut most) = (self.now.clone(), Some(self.now.clone()));
        for symbol in self.open.iter() {
            let at = symbol.0 as usize;
            let (first, last, _) = self.choices(at);
            least[at] = first;
            most = most.zip(last).map(|(mut most, last)| {
                most[at] = last;
                most
            });
        }
        (least, most)
    }

    /// Large numbers for the sizes, all different, so that each number identifies its size.
    pub fn large(&self) -> Vec<u64> {
        // Products of all of them have to fit into 64 bits.
        let least = match self.open.len() {
            0..=3 => 10_009,
            4..=5 => 1_011,
            _ => 103,
        };
        let mut sizes = self.now.clone();
        for (place, symbol) in (0u64..).zip(self.open.iter()) {
            sizes[symbol.0 as usize] = self.progression(*symbol).at(least + 2 * place);
        }
        sizes
    }

    /// Returns true if the program is valid at these sizes, ranges aside.
    pub fn is_possible(&self, sizes: &[u64]) -> bool {
        let pairs = self.pairs(sizes);
        self.checks.iter().all(|check| check.is_bound() || check.holds(&pairs) != Some(false))
    }

    pub fn pairs<'a>(&'a self, sizes: &[u64]) -> Vec<(&'a str, u64)> {
        self.names.iter().map(|name| &**name).zip(sizes.iter().copied()).collect()
    }

    /// The names and numbers of all sizes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.names.iter().map(|name| &**name).zip(self.now.iter().copied())
    }

    /// Refuses sizes out of their ranges, and sizes at which the program is not valid.
    pub fn check(&self, graph: &Graph) -> Result<(), Error> {
        for symbol in self.open.iter() {
            let at = symbol.0 as usize;
            if !contains(self.ranges[at], self.now[at]) {
                return Err(
                    self.explained(out_of_range(&self.names[at], self.now[at], self.ranges[at]), graph)
                );
            }
        }
        let Some(check) = self.broken_at(&self.now) else { return Ok(()) };
        let sizes: Vec<String> = check.names().map(|name| self.equation(name)).collect();
        let message = format!("there is no program for {}: it relies on this: {check}", sizes.join(", "));
        let error = Error::new(ErrorKind::Range, message).with_help("choose sizes for which this holds");
        Err(self.explained(error, graph))
    }

    pub fn equation(&self, name: &str) -> String {
        let number = self.iter().find(|(known, _)| *known == name).map_or(0, |(_, size)| size);
        format!("`{name}` = {number}")
    }

    /// Adds the data that decided the sizes to an error.
    pub fn explained(&self, error: Error, graph: &Graph) -> Error {
        self.open.iter().fold(error, |error, symbol| match self.by[symbol.0 as usize] {
            By::Data(tensor) => {
                let (name, size) = (&self.names[symbol.0 as usize], self.now[symbol.0 as usize]);
                error.with_end(format!("`{name}` is {size} in the values for `{}`", graph.label_of(tensor)))
            }
            _ => error,
        })
    }

    /// The first undecided size that something depends on.
    pub fn undecided(&self) -> Option<&str> {
        let is_undecided = |symbol: &&Symbol| self.by[symbol.0 as usize] == By::Undecided;
        self.open.iter().find(is_undecided).map(|symbol| &*self.names[symbol.0 as usize])
    }

    /// The first check of the program that does not hold at some sizes.
    pub fn broken_at(&self, sizes: &[u64]) -> Option<&RuntimeCheck> {
        let pairs = self.pairs(sizes);
        self.checks.iter().find(|check| check.holds(&pairs) == Some(false))
    }

    /// The data that decided a size on which another tensor depends, with the name and the number
    /// of the size.
    pub fn decided_by(&self, symbols: &[Symbol]) -> Option<(Tensor, &str, u64)> {
        symbols.iter().rev().find_map(|symbol| {
            let at = symbol.0 as usize;
            match self.by[at] {
                By::Data(tensor) => Some((tensor, &*self.names[at], self.now[at])),
                _ => None,
            }
        })
    }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}
