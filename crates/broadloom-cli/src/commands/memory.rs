//! `broadloom memory`: how much memory a program needs, by group and by tensor, and what the backend really allocates.

use broadloom::{Allocated, Memory, MemoryRole, Session, Settings, Stored};
use broadloom_lang::Program;
use serde::Serialize;

use crate::console::{Console, Look};
use crate::json;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, status, unusable};
use crate::table::{Column, Table, counted, grouped};

/// The arguments of `memory`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Say whether it fits into so much memory: `8GiB`, `500MB`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    fits: Option<u64>,
    /// List all tensors, not only the largest
    #[arg(long)]
    all: bool,
    /// Do not ask the backend; needs no C compiler
    #[arg(long)]
    planned: bool,
}

pub(crate) const HELP: &str = "\
Parameters, states, data and results that are shown last from run to run. Gradients and activations are there only while
a routine runs: optimisation does away with some of them, and the rest share memory. `each by itself` is what they would take
without sharing, `at the same time` what they take with it. The peak is what lasts and what is needed at the same time, for all
routines; beside it stands what the backend has allocated, and the space in which threads rearrange what they multiply.

The backend is not asked if more than 4 GiB are planned.

Exit status: 0 fine, 1 the program has errors or does not fit, 2 it cannot be read.

Example:
  $ broadloom memory mlp.loom --fits 8GiB";

/// How many tensors are listed.
const LISTED: usize = 20;
/// More than this is not allocated only to be counted.
const MOST: u64 = 4 << 30;

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
    let mut program = args.program.compile(&text, None);
    let mut output = Output::new(status(&program.diagnostics));
    let measured = match program.is_ok() {
        true => match Measured::new(&mut program, args.planned) {
            Ok(measured) => Some(measured),
            Err(message) => return unusable("memory", &message, args.program.json),
        },
        false => None,
    };
    let fits = args.fits.zip(measured.as_ref()).map(|(limit, measured)| measured.needed() <= limit);
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
        if let (Some(limit), Some(fits)) = (args.fits, fits) {
            let (needed, limit) = (people_size(measured.needed()), people_size(limit));
            let answer = if fits { "fits into" } else { "does not fit into" };
            output.stdout.push_str(&format!("\n{needed} {answer} {limit}\n"));
        }
    }
    output
}

/// What is planned, and what is allocated.
struct Measured {
    memory: Memory,
    allocated: Option<Allocated>,
    /// Why the backend was not asked.
    not_asked: Option<String>,
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
    fn new(program: &mut Program, planned: bool) -> Result<Measured, String> {
        let routines = program.routines();
        let graph = std::mem::take(&mut program.graph);
        let backend = if planned { broadloom::Backend::Reference } else { broadloom::Backend::Auto };
        let settings = Settings { backend, ..Settings::default() };
        let mut session = Session::with(graph, settings).map_err(|error| error.to_string())?;
        let memory = session.memory(&routines).map_err(|error| error.to_string())?;
        let mut measured = Measured { memory, allocated: None, not_asked: None };
        if planned || routines.is_empty() {
            return Ok(measured);
        }
        if measured.memory.peak() > MOST {
            measured.not_asked = Some(format!("more than {} are planned", people_size(MOST)));
        } else {
            measured.allocated = session.allocated(&routines).map_err(|error| error.to_string())?;
            measured.not_asked = session.notice().map(str::to_string);
        }
        Ok(measured)
    }

    /// What has to fit.
    fn needed(&self) -> u64 {
        self.allocated
            .as_ref()
            .map_or(self.memory.peak(), |allocated| allocated.total().max(self.memory.peak()))
    }

    fn people(&self, all: bool, look: Look) -> String {
        let mut out = self.groups().show(look);
        let mut listed: Vec<&Stored> = self.memory.stored.iter().collect();
        listed.sort_by_key(|stored| std::cmp::Reverse(stored.bytes));
        let count = if all { listed.len() } else { listed.len().min(LISTED) };
        let mut table = Table::new([
            Column::name("tensor"),
            Column::number("bytes"),
            Column::new("group"),
            Column::faint("how long"),
        ]);
        for stored in &listed[..count] {
            let routine = stored.routine.and_then(|at| self.memory.temporaries.get(at));
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
        out
    }

    fn groups(&self) -> Table<4> {
        let mut table = Table::new([
            Column::name("memory"),
            Column::number("bytes"),
            Column::number(""),
            Column::faint("of which last"),
        ]);
        for (role, word) in ROLES {
            let all = self.memory.stored.iter().filter(|stored| stored.role == role);
            let lasting: u64 =
                all.clone().filter(|stored| stored.routine.is_none()).map(|stored| stored.bytes).sum();
            let bytes = self.memory.of(role);
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
        let mut line = |name: String, bytes: u64| {
            table.row([name, grouped(bytes), people_size(bytes), String::new()]);
        };
        for each in &self.memory.temporaries {
            line(format!("temporaries of {}, before optimisation", each.routine), each.unoptimised);
            line(format!("temporaries of {}, each by itself", each.routine), each.separate);
            line(format!("temporaries of {}, at the same time", each.routine), each.shared);
        }
        line("peak, planned".into(), self.memory.peak());
        if let Some(allocated) = &self.allocated {
            line("allocated by the backend".into(), allocated.blocks + allocated.arenas);
            line(format!("work space of {}", counted(allocated.threads as u64, "thread")), allocated.scratch);
        }
        table
    }

    fn data(&self, limit: Option<u64>, fits: Option<bool>) -> MemoryData<'_> {
        let group = |(role, name): (MemoryRole, &'static str)| GroupData {
            name,
            bytes: self.memory.of(role),
            tensors: self.memory.stored.iter().filter(|stored| stored.role == role).count(),
        };
        let routine = |at: usize| self.memory.temporaries.get(at).map(|each| each.routine.as_str());
        let tensor = |stored: &'_ Stored| (stored.routine.and_then(routine), word(stored.role));
        let mut tensors: Vec<TensorData<'_>> = Vec::new();
        for stored in &self.memory.stored {
            let (routine, group) = tensor(stored);
            tensors.push(TensorData { name: &stored.name, bytes: stored.bytes, group, routine });
        }
        tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.bytes));
        let routines = self.memory.temporaries.iter().map(|each| RoutineData {
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
            lasting: self.memory.lasting(),
            peak: self.memory.peak(),
            allocated,
            limit,
            fits,
            tensors,
        }
    }
}

/// `1.5 MiB`
fn people_size(bytes: u64) -> String {
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
    lasting: u64,
    peak: u64,
    allocated: Option<AllocatedData>,
    limit: Option<u64>,
    fits: Option<bool>,
    tensors: Vec<TensorData<'a>>,
}

#[derive(Serialize)]
struct GroupData {
    name: &'static str,
    bytes: u64,
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
