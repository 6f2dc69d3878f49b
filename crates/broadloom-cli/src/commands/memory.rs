//! `broadloom memory`: how much memory a program needs, by group and by tensor, and what the backend really allocates.

use broadloom::{
    Adam, Allocated, Backend, Error, Memory, MemoryRange, MemoryRole, OpenSize, Routine, Session, Settings,
    Sgd, Stored,
};
use broadloom_ide::words::{counted, grouped};
use broadloom_lang::Program;
use serde::Serialize;

use crate::console::{Console, Look};
use crate::json;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, status, unusable};
use crate::table::{Column, Table};

/// The arguments of `memory`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Say whether it fits into so much memory (`8GiB`, `500MB`), and with named sizes, how large they can be
    #[arg(long, value_name = "SIZE", value_parser = size)]
    fits: Option<u64>,
    /// What it would take to train: minimise this tensor, a single number
    #[arg(long, value_name = "LOSS")]
    train: Option<String>,
    /// With `--train`: the optimiser, which has a state for each parameter (momentum), two (adam) or none (sgd)
    #[arg(long, value_name = "NAME", requires = "train", default_value = "adam")]
    optimiser: Optimiser,
    /// List all tensors, not only the largest
    #[arg(long)]
    all: bool,
    /// Do not ask the backend; needs no C compiler
    #[arg(long)]
    planned: bool,
}

pub(crate) const HELP: &str = "\
Parameters, states (of optimisers, or the program's own), data and results that are shown last from run to run. Gradients and activations are there only while
a routine runs: optimisation does away with some of them, and the rest share memory. `each by itself` is what they would take
without sharing, `at the same time` what they take with it. The peak is what lasts and what is needed at the same time, for all
routines; beside it stands what the backend has allocated, and the space in which threads rearrange what they multiply.

If the program has sizes with a range (`dim batch in 1..64 = 32`), there are three columns: at the least sizes, at the declared
ones (or those set with `--set`), and at the greatest. `--fits` then asks whether it always fits, and looks for the largest size
with which it does.

The backend is not asked if more than 4 GiB are planned.

Exit status: 0 fine, 1 the program has errors or does not fit, 2 it cannot be read.

Example:
  $ broadloom memory mlp.loom --fits 8GiB
  $ broadloom memory mlp.loom --train loss --optimiser adam";

/// What updates parameters.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Optimiser {
    Sgd,
    Momentum,
    Adam,
}

/// How many tensors are listed.
const LISTED: usize = 20;
/// More than this is not allocated only to be counted.
const MOST: u64 = 4 << 30;
/// A size that is so large was not stopped by memory.
const WITHOUT_END: u64 = 1 << 40;
/// How many sizes are tried for the next that the program has a meaning for.
const MULTIPLES: usize = 1024;

/// `8GiB`, `500MB`, `64k`, a number of bytes.
fn size(text: &str) -> Result<u64, String> {
    let help = "write a number and a unit, such as `8GiB` or `500MB`";
    let digits = text.trim().trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text.trim()[digits.len()..].to_ascii_lowercase();
    let number: f64 = digits.trim().parse().map_err(|_| format!("`{text}` is not a size: {help}"))?;
    let power = match unit.chars().next() {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return Err(format!("`{unit}` is not a unit: {help}")),
    };
    let base: f64 = match unit.get(1..).unwrap_or_default() {
        "ib" | "i" => 1024.0,
        "b" | "" => 1000.0,
        _ => return Err(format!("`{unit}` is not a unit: {help}")),
    };
    if !(0.0..1e18).contains(&number) {
        return Err(help.into());
    }
    Ok((number * base.powi(power)) as u64)
}

/// Says how much memory a program needs.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("memory", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let mut program = broadloom_ide::Analysis::open(&text).program;
    let wrong = program.check_sizes();
    program.diagnostics.extend(wrong);
    let mut output = Output::new(status(&program.diagnostics));
    let measured = match program.is_ok() {
        true => match Measured::new(&mut program, args) {
            Ok(measured) => Some(measured),
            Err(message) => return unusable("memory", &message, args.program.json),
        },
        false => None,
    };
    let fits = args.fits.zip(measured.as_ref()).map(|(limit, measured)| measured.fits(limit));
    if fits == Some(false) {
        output.status = Status::Wrong;
    }
    if args.program.json {
        let data = measured.as_ref().map(|measured| measured.data(args.fits, fits));
        let data = Data { file: &text.name, memory: data };
        output.stdout = json::object("memory", &program.sources, &program.diagnostics, data);
        return output;
    }
    output.stderr = args.program.render(&program.sources, &program.diagnostics, console.stderr());
    if let Some(measured) = measured {
        output.stdout = measured.people(args.all, console.stdout());
        if let Some(limit) = args.fits {
            output.stdout.push_str(&format!("\n{}", measured.answer(limit)));
        }
    }
    output
}

/// What is planned, and what is allocated.
struct Measured {
    range: MemoryRange,
    allocated: Option<Allocated>,
    /// Why the backend was not asked.
    not_asked: Option<String>,
    /// What the backend has to say.
    notices: Vec<String>,
    /// The sizes that are open: what they are called, their range, what they are here, and with a limit the largest that fits.
    sizes: Vec<SizeData>,
}

/// A size that has a range.
#[derive(Serialize, Clone)]
struct SizeData {
    name: String,
    least: u64,
    here: u64,
    most: Option<u64>,
    /// With `--fits`: the largest that does, the others being what they are. Nothing if none does, or all do without end.
    largest: Option<u64>,
    /// With `--fits`: whether all sizes in range do, the others being what they are.
    every: Option<bool>,
}

const ROLES: [(MemoryRole, &str); 5] = [
    (MemoryRole::Parameter, "parameters"),
    (MemoryRole::Gradient, "gradients"),
    (MemoryRole::State, "states"),
    (MemoryRole::Data, "data"),
    (MemoryRole::Activation, "activations"),
];

fn word(role: MemoryRole) -> &'static str {
    ROLES.iter().find(|(known, _)| *known == role).map_or("", |(_, word)| word)
}

impl Measured {
    fn new(program: &mut Program, args: &Args) -> Result<Measured, String> {
        let routines = match &args.train {
            Some(loss) => vec![training(program, loss, args.optimiser)?],
            None => program.routines(),
        };
        let backend = if args.planned { Backend::Reference } else { Backend::Auto };
        let settings = Settings { backend, ..Settings::default() };
        Measured::of(program, &routines, settings, args.fits).map_err(|error| error.to_string())
    }

    fn of(
        program: &mut Program,
        routines: &[Routine],
        settings: Settings,
        limit: Option<u64>,
    ) -> Result<Measured, Error> {
        let planned = settings.backend == Backend::Reference;
        let mut session = Session::with(std::mem::take(&mut program.graph), settings)?;
        let set: Vec<(&str, u64)> = program.sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        session.set_sizes(&set)?;
        let range = session.memory_range(routines)?;
        let mut measured =
            Measured { range, allocated: None, not_asked: None, notices: Vec::new(), sizes: Vec::new() };
        if measured.range.now.peak() > MOST {
            measured.not_asked = Some(format!("more than {} are planned", people_size(MOST)));
        } else if !planned && !routines.is_empty() {
            measured.allocated = session.allocated(routines)?;
            measured.notices = session.notices().to_vec();
        }
        measured.sizes = sizes(&mut session, routines, limit.map(|limit| measured.beside_work(limit)))?;
        Ok(measured)
    }

    /// What has to fit at the present sizes.
    fn needed(&self) -> u64 {
        let planned = self.range.now.peak();
        self.allocated.as_ref().map_or(planned, |allocated| allocated.total().max(planned))
    }

    /// What is left of so many bytes beside the work space of threads, which does not depend on sizes.
    fn beside_work(&self, limit: u64) -> u64 {
        limit.saturating_sub(self.allocated.as_ref().map_or(0, |allocated| allocated.scratch))
    }

    /// Whether it fits, whatever the sizes are.
    fn fits(&self, limit: u64) -> bool {
        let always = match &self.sizes[..] {
            [] => true,
            // Memory need not depend on a size that has no greatest.
            [size] if size.every == Some(true) => true,
            _ => self.range.always_fits(self.beside_work(limit)),
        };
        always && self.needed() <= limit
    }

    fn answer(&self, limit: u64) -> String {
        let answer = |bytes: u64| if bytes <= limit { "fits into" } else { "does not fit into" };
        let (needed, size) = (self.needed(), people_size(limit));
        if self.sizes.is_empty() {
            return format!("{} {} {size}\n", people_size(needed), answer(needed));
        }
        let here: Vec<String> =
            self.sizes.iter().map(|size| format!("{} = {}", size.name, size.here)).collect();
        let mut out = format!("at {}: {} {} {size}\n", here.join(", "), people_size(needed), answer(needed));
        if self.fits(limit) {
            return out + "so it does at every size in range\n";
        }
        for SizeData { name, most, largest, every, .. } in &self.sizes {
            let others = if self.sizes.len() > 1 { ", the others being as they are" } else { "" };
            let answer = match (every, most, largest) {
                (Some(true), None, _) => format!("any {name} fits"),
                (Some(true), Some(_), _) => format!("every {name} in range fits"),
                (_, _, Some(largest)) => format!("the largest {name} that fits is {largest}"),
                (None, _, _) => {
                    format!("the largest {name} that fits is not known: more of it may need less")
                }
                (_, _, None) => format!("no {name} fits"),
            };
            out += &format!("{answer}{others}\n");
        }
        out
    }

    fn people(&self, all: bool, look: Look) -> String {
        let mut out = if self.sizes.is_empty() { self.groups().show(look) } else { self.ranges(look) };
        let mut listed: Vec<&Stored> = self.range.now.stored.iter().collect();
        listed.sort_by_key(|stored| std::cmp::Reverse(stored.bytes));
        let count = if all { listed.len() } else { listed.len().min(LISTED) };
        let mut table = Table::new([
            Column::name("tensor"),
            Column::number("bytes"),
            Column::new("group"),
            Column::faint("how long"),
        ]);
        for stored in &listed[..count] {
            let routine = stored.routine.and_then(|at| self.range.now.temporaries.get(at));
            let long = routine.map_or("lasts".to_string(), |each| format!("within {}", each.routine));
            table.row([stored.name.clone(), grouped(stored.bytes), word(stored.role).into(), long]);
        }
        if !table.is_empty() {
            out.push('\n');
            out.push_str(&table.show(look));
        }
        if count < listed.len() {
            let rest = (listed.len() - count) as u64;
            out.push_str(&format!("and {} that are smaller: --all lists them\n", counted(rest, "tensor")));
        }
        if let Some(reason) = &self.not_asked {
            out.push_str(&format!("\nthe backend was not asked: {reason}\n"));
        }
        let between = if self.notices.is_empty() { "" } else { "\n" };
        out.push_str(between);
        self.notices.iter().for_each(|notice| out.push_str(&format!("note: {notice}\n")));
        out
    }

    fn groups(&self) -> Table<4> {
        let mut table = Table::new([
            Column::name("memory"),
            Column::number("bytes"),
            Column::number(""),
            Column::faint("of which last"),
        ]);
        let memory = &self.range.now;
        for (role, word) in ROLES {
            let all = memory.stored.iter().filter(|stored| stored.role == role);
            let lasting: u64 =
                all.clone().filter(|stored| stored.routine.is_none()).map(|stored| stored.bytes).sum();
            let bytes = memory.of(role);
            if all.count() > 0 {
                let last = if lasting == bytes {
                    "all"
                } else if lasting == 0 {
                    "none"
                } else {
                    &grouped(lasting)
                };
                table.row([word.into(), grouped(bytes), people_size(bytes), last.into()]);
            }
        }
        for (name, bytes) in totals(memory).into_iter().chain(self.really()) {
            table.row([name, grouped(bytes), people_size(bytes), String::new()]);
        }
        table
    }

    /// The same at the least sizes, here, and at the greatest.
    fn ranges(&self, look: Look) -> String {
        let mut out = String::new();
        for SizeData { name, least, here, most, .. } in &self.sizes {
            let most = most.map_or(String::new(), |most| most.to_string());
            out.push_str(&format!("{name} {least}..{most}, here {here}\n"));
        }
        let mut table = Table::new([
            Column::name("memory"),
            Column::number("least"),
            Column::number("here"),
            Column::number("most"),
            Column::number(""),
        ]);
        let rows = |memory: &Memory| -> Vec<(String, u64)> {
            let there = ROLES.iter().filter(|(role, _)| memory.stored.iter().any(|each| each.role == *role));
            there.map(|(role, word)| (word.to_string(), memory.of(*role))).chain(totals(memory)).collect()
        };
        let [least, most] = [&self.range.least, &self.range.most].map(|memory| memory.as_ref().map(rows));
        for (at, (name, here)) in rows(&self.range.now).into_iter().enumerate() {
            let of = |rows: &Vec<(String, u64)>| rows.get(at).map_or(0, |(_, bytes)| *bytes);
            let (least, most) = (least.as_ref().map(of), most.as_ref().map(of));
            table.row([
                name,
                least.map_or("not known".into(), grouped),
                grouped(here),
                most.map_or("no limit".into(), grouped),
                most.map_or(String::new(), people_size),
            ]);
        }
        for (name, here) in self.really() {
            table.row([name, String::new(), grouped(here), String::new(), String::new()]);
        }
        out.push('\n');
        out + &table.show(look)
    }

    /// What the backend has allocated.
    fn really(&self) -> Vec<(String, u64)> {
        let Some(allocated) = &self.allocated else { return Vec::new() };
        let work = format!("work space of {}", counted(allocated.threads as u64, "thread"));
        vec![
            ("allocated by the backend".into(), allocated.blocks + allocated.arenas),
            (work, allocated.scratch),
        ]
    }

    fn data(&self, limit: Option<u64>, fits: Option<bool>) -> MemoryData<'_> {
        let MemoryRange { least, now: memory, most } = &self.range;
        let group = |(role, name): (MemoryRole, &'static str)| GroupData {
            name,
            bytes: memory.of(role),
            least: least.as_ref().map(|least| least.of(role)),
            most: most.as_ref().map(|most| most.of(role)),
            tensors: memory.stored.iter().filter(|stored| stored.role == role).count(),
        };
        let routine = |at: usize| memory.temporaries.get(at).map(|each| each.routine.as_str());
        let tensor = |stored: &'_ Stored| (stored.routine.and_then(routine), word(stored.role));
        let mut tensors: Vec<TensorData<'_>> = Vec::new();
        for stored in &memory.stored {
            let (routine, group) = tensor(stored);
            tensors.push(TensorData { name: &stored.name, bytes: stored.bytes, group, routine });
        }
        tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.bytes));
        let routines = memory.temporaries.iter().map(|each| RoutineData {
            name: &each.routine,
            unoptimised: each.unoptimised,
            separate: each.separate,
            shared: each.shared,
        });
        let allocated = self.allocated.as_ref().map(|allocated| AllocatedData {
            blocks: allocated.blocks,
            arenas: allocated.arenas,
            scratch: allocated.scratch,
            threads: allocated.threads,
            total: allocated.total(),
        });
        MemoryData {
            groups: ROLES.into_iter().map(group).collect(),
            routines: routines.collect(),
            sizes: self.sizes.clone(),
            lasting: memory.lasting(),
            peak: memory.peak(),
            least: least.as_ref().map(Memory::peak),
            most: most.as_ref().map(Memory::peak),
            allocated,
            limit,
            fits,
            tensors,
        }
    }
}

/// The temporaries of all routines, and the peak.
fn totals(memory: &Memory) -> Vec<(String, u64)> {
    let mut rows = Vec::new();
    for each in &memory.temporaries {
        let line = |what: &str, bytes: u64| (format!("temporaries of {}, {what}", each.routine), bytes);
        rows.push(line("before optimisation", each.unoptimised));
        rows.push(line("each by itself", each.separate));
        rows.push(line("at the same time", each.shared));
    }
    rows.push(("peak, planned".into(), memory.peak()));
    rows
}

/// The sizes that are open, with the largest of each that fits.
fn sizes(session: &mut Session, routines: &[Routine], limit: Option<u64>) -> Result<Vec<SizeData>, Error> {
    let mut sizes = Vec::new();
    for OpenSize { name, now: here, range: (least, most) } in session.open_sizes()? {
        let (mut largest, mut every) = (None, None);
        // It is not known where more of one size is less of another, and there are too many sizes to try.
        let found = limit.and_then(|limit| session.largest_that_fits(&name, routines, limit).ok());
        if let Some(found) = found {
            largest = found;
            let all = match (largest, most) {
                // The search ends somewhere, whether the range does or not.
                (Some(largest), None) => largest >= WITHOUT_END,
                // The others may be in range, and have no meaning for the program: it may rely on a multiple of 8.
                (Some(largest), Some(most)) => (largest + 1..=most)
                    .take(MULTIPLES)
                    .all(|size| session.memory_at(&[(name.as_str(), size)], routines).is_err()),
                (None, _) => false,
            };
            every = Some(all);
            largest = largest.filter(|_| !all || most.is_some());
        }
        sizes.push(SizeData { name, least, here, most, largest, every });
    }
    Ok(sizes)
}

/// A routine that trains a program: the gradients of a loss, and what an optimiser makes of them.
fn training(program: &mut Program, loss: &str, optimiser: Optimiser) -> Result<Routine, String> {
    let found = program.made.iter().rev().find(|made| made.name == loss);
    let Some(made) = found else { return Err(format!("the program has no tensor called `{loss}`")) };
    let graph = &mut program.graph;
    let (mut train, params) = (Routine::new("train"), graph.params());
    let mut make = || {
        train.backward(graph, made.tensor)?;
        let rate = graph.number(0.001);
        match optimiser {
            Optimiser::Adam => Adam::default().update(graph, &mut train, &params, rate),
            Optimiser::Momentum => {
                Sgd { momentum: 0.9, ..Sgd::default() }.update(graph, &mut train, &params, rate)
            }
            Optimiser::Sgd => Sgd::default().update(graph, &mut train, &params, rate),
        }
    };
    make().map_err(|error| error.to_string())?;
    Ok(train)
}

/// `1.5 MiB`
pub(super) fn people_size(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} bytes"),
        _ if value >= 100.0 => format!("{value:.0} {}", units[unit]),
        _ => format!("{value:.1} {}", units[unit]),
    }
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
    memory: Option<MemoryData<'a>>,
}

#[derive(Serialize)]
struct MemoryData<'a> {
    groups: Vec<GroupData>,
    routines: Vec<RoutineData<'a>>,
    sizes: Vec<SizeData>,
    lasting: u64,
    peak: u64,
    least: Option<u64>,
    most: Option<u64>,
    allocated: Option<AllocatedData>,
    limit: Option<u64>,
    fits: Option<bool>,
    tensors: Vec<TensorData<'a>>,
}

#[derive(Serialize)]
struct GroupData {
    name: &'static str,
    bytes: u64,
    least: Option<u64>,
    most: Option<u64>,
    tensors: usize,
}

#[derive(Serialize)]
struct RoutineData<'a> {
    name: &'a str,
    unoptimised: u64,
    separate: u64,
    shared: u64,
}

#[derive(Serialize)]
struct AllocatedData {
    blocks: u64,
    arenas: u64,
    scratch: u64,
    threads: usize,
    total: u64,
}

#[derive(Serialize)]
struct TensorData<'a> {
    name: &'a str,
    bytes: u64,
    group: &'static str,
    routine: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let cases =
            [("8GiB", 8 << 30), ("500MB", 500_000_000), ("64k", 64_000), ("12", 12), ("1.5KiB", 1536)];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        assert!(size("many").is_err());
        assert!(size("8 parsecs").is_err());
    }
}
