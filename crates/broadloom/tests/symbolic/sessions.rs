//! One session for many sizes: it goes through numbers for its names, which are set or implied by
//! data, and gets input that it has to refuse. After each step it computes the same as a session of
//! the program with numbers.

use broadloom::{Array, Backend, Dtype, Settings};
use broadloom_testing::Dice;

use crate::symbolic::judge::Named;
use crate::symbolic::program::{Program, Size, values};
use crate::symbolic::run::{Running, difference, has_meaning, lasting_changes, names_of, sizes_at};

/// Counts of the possible outcomes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub programs: usize,
    /// Runs with the same numbers.
    pub runs: usize,
    /// Changes of sizes by data alone.
    pub by_data: usize,
    /// Sizes out of range, at which the program is not valid, or at which parameters would change;
    /// all refused.
    pub refused: usize,
    /// Programs that are compiled separately for each size.
    pub by_themselves: usize,
}

/// A way to run programs, and its tolerance.
pub struct Way {
    pub settings: Settings,
    pub tolerance: f64,
}

impl Way {
    pub fn new(backend: Backend, tolerance: f64) -> Way {
        Way { settings: Settings { backend, threads: Some(1), ..Settings::default() }, tolerance }
    }
}

/// A session, and the current numbers of its names.
struct Tour<'a> {
    program: &'a Program,
    way: &'a Way,
    one: Running,
    now: Vec<u64>,
}

/// Checks a session that goes through some numbers. The error describes the disagreement; the
/// result is its notices.
pub fn tour(
    program: &Program,
    way: &Way,
    stops: &[Vec<u64>],
    random: &mut Dice,
    counts: &mut Counts,
) -> Result<Option<String>, String> {
    let Some(first) = stops.first() else { return Ok(None) };
    let mut it = Tour::begin(program, way, first)?;
    for to in stops {
        if *to != it.now && lasting_changes(program, &it.now, to) {
            // Learned values must not be discarded because of a size.
            it.must_refuse(to, counts)?;
            it = Tour::begin(program, way, to)?;
        } else if random.below(2) == 0 || !it.follows(to, random, counts)? {
            it.told(to)?;
        }
        it.now = to.clone();
        let mut own = it.own()?;
        it.compare(&mut own, counts)?;
        it.offered_mistakes(random, counts)?;
        it.compare(&mut own, counts).map_err(|what| format!("after refusals, {what}"))?;
    }
    Ok(it.one.session.notices().first().cloned())
}

impl<'a> Tour<'a> {
    fn begin(program: &'a Program, way: &'a Way, first: &[u64]) -> Result<Tour<'a>, String> {
        let one = Running::new(program, None, way.settings.clone())
            .map_err(|error| format!("there is no session: {error}"))?;
        let mut it = Tour { program, way, one, now: first.to_vec() };
        it.told(first)?;
        it.one.set_params().map_err(|error| format!("parameters are refused: {error}"))?;
        Ok(it)
    }

    /// A session of the program with numbers, with the same parameters.
    fn own(&mut self) -> Result<Running, String> {
        let told = |error: broadloom::Error| format!("with numbers there is no session: {error}");
        let mut own = Running::new(self.program, Some(&self.now), self.way.settings.clone()).map_err(told)?;
        own.take_from(&mut self.one).map_err(|error| format!("parameters differ: {error}"))?;
        own.set_all(self.program).map_err(told)?;
        Ok(own)
    }

    fn told(&mut self, to: &[u64]) -> Result<(), String> {
        let pairs = self.program.pairs(to);
        self.one.session.set_sizes(&pairs).map_err(|error| format!("{to:?} are refused: {error}"))?;
        self.one.set_all(self.program).map_err(|error| format!("data for {to:?} is refused: {error}"))
    }

    /// Changes numbers by data; the numbers in between have to be valid too.
    fn follows(&mut self, to: &[u64], random: &mut Dice, counts: &mut Counts) -> Result<bool, String> {
        let mut data = self.one.data.clone();
        random.shuffle(&mut data);
        let mut between = self.now.clone();
        for (line, tensor) in data.clone() {
            let Some((declared, names)) = names_of(self.program, line) else { return Ok(false) };
            let mut next = between.clone();
            names.iter().for_each(|at| next[*at] = to[*at]);
            let dtype = self.one.session.dtype(tensor).map_err(|error| error.to_string())?;
            let array = values(self.program, line, &sizes_at(declared, &next), dtype);
            let set = self.one.session.set(tensor, &array);
            let possible =
                has_meaning(self.program, &next) && !lasting_changes(self.program, &between, &next);
            match (set, possible) {
                (Ok(()), true) => between = next,
                (Err(_), false) => return Ok(false),
                (Ok(()), false) => return Err(format!("data for {next:?} is accepted")),
                (Err(error), true) => return Err(format!("data for {next:?} is refused: {error}")),
            }
        }
        if between != to {
            return Ok(false);
        }
        // Data that was set first may no longer fit, if data that depends on a derived size came
        // later.
        self.one.set_all(self.program).map_err(|error| format!("data for {to:?} is refused: {error}"))?;
        counts.by_data += 1;
        Ok(true)
    }

    fn compare(&mut self, own: &mut Running, counts: &mut Counts) -> Result<(), String> {
        let found = self.one.run().map_err(|error| format!("at {:?} it does not run: {error}", self.now))?;
        let wanted = own.run().map_err(|error| format!("with numbers it does not run: {error}"))?;
        difference(&found, &wanted, self.way.tolerance)
            .map_err(|what| format!("at {:?}: {what}", self.now))?;
        counts.runs += 1;
        Ok(())
    }

    fn must_refuse(&mut self, to: &[u64], counts: &mut Counts) -> Result<(), String> {
        let pairs = self.program.pairs(to);
        if self.one.session.set_sizes(&pairs).is_ok() {
            return Err(format!("at {:?}, the numbers {to:?} are accepted", self.now));
        }
        counts.refused += 1;
        Ok(())
    }

    /// Tries numbers that are out of range or not valid, set and implied, and contradictory data.
    fn offered_mistakes(&mut self, random: &mut Dice, counts: &mut Counts) -> Result<(), String> {
        let program = self.program;
        let used = used_names(program);
        for at in 0..program.names.len() {
            for number in [random.below(14) as u64, random.below(40) as u64, 1] {
                let mut to = self.now.clone();
                to[at] = number;
                if used[at] && number > 0 && !has_meaning(program, &to) {
                    self.must_refuse(&to, counts)?;
                }
            }
        }
        for (line, tensor) in self.one.data.clone() {
            let Some((declared, names)) = names_of(program, line) else { continue };
            let mut sizes = sizes_at(declared, &self.now);
            if sizes.is_empty() {
                continue;
            }
            let at = random.below(sizes.len());
            sizes[at] += 1 + random.below(3) as u64;
            // The axis in memory order: batch, output, input.
            let [batch, input, output] = &declared.0;
            let axis = [batch, output, input].into_iter().flatten().nth(at);
            let fits = match axis {
                Some(Size::Named(name)) => {
                    let mut to = self.now.clone();
                    to[*name] = sizes[at];
                    let once = names.iter().filter(|own| *own == name).count() == 1;
                    once && has_meaning(program, &to) && !lasting_changes(program, &self.now, &to)
                }
                _ => false,
            };
            if !fits {
                let array = Array::full(Dtype::F64, &sizes, 1.0).map_err(|error| error.to_string())?;
                if self.one.session.set(tensor, &array).is_ok() {
                    return Err(format!("t{line} accepts values of sizes {sizes:?} at {:?}", self.now));
                }
                counts.refused += 1;
            }
        }
        Ok(())
    }
}

/// For each name, true if some shape depends on it: a session ignores the others.
fn used_names(program: &Program) -> Vec<bool> {
    let Ok(named) = Named::new(program) else { return vec![false; program.names.len()] };
    let texts: Vec<String> = named.tensors().map(|tensor| named.shapes.get(tensor).to_string()).collect();
    program.names.iter().map(|name| texts.iter().any(|text| text.contains(name.name))).collect()
}
