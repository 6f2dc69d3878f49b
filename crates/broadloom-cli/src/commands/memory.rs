//! `broadloom memory`: the memory that a program needs, by group and by tensor, and the backend's
//! actual allocation.

use broadloom_diagnostics::{Column, Table};
use broadloom_ide::words::{bytes, counted, grouped};
use broadloom_ide::{Analysis, MemoryOf, MemoryUse, MeshTable, SizeMemory, TemporaryMemory, memory, meshed};
use broadloom_lang::OnMesh;

use crate::console::{Console, Look};
use crate::json;
use crate::mesh::{self, MeshArgs};
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, status, unusable};

/// The arguments of `memory`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Check whether it fits in this much memory (`8GiB`, `500MB`), and find the largest named sizes that do
    #[arg(long, value_name = "SIZE", value_parser = size)]
    fits: Option<u64>,
    /// Include training: the tensor to minimise, a single number
    #[arg(long, value_name = "LOSS")]
    train: Option<String>,
    /// With `--train`: the optimiser, which keeps one state per parameter (momentum), two (adam) or none (sgd)
    #[arg(long, value_name = "NAME", requires = "train", default_value = "adam")]
    optimiser: Optimiser,
    /// List all tensors, not only the largest
    #[arg(long)]
    all: bool,
    /// Do not query the backend, so that no C compiler is needed
    #[arg(long)]
    planned: bool,
    #[command(flatten)]
    mesh: MeshArgs,
}

pub(crate) const HELP: &str = "\
Parameters, states (of optimisers, or the program's own), data and results that are shown are kept from run to run. Gradients and
activations exist only while a routine runs: optimisation removes some of them, and the rest share memory. `each by itself` is
the memory that they would take without sharing, `at the same time` the memory that they take with it. The peak is the memory that
is kept, and the most that is needed at the same time, over all routines; beside it are the bytes that the backend has allocated,
and the space in which threads rearrange the operands of products.

If the program has sizes with a range (`dim batch in 1..64 = 32`), there are three columns: for the smallest sizes, for the declared
ones (or those set with `--set`), and for the largest. `--fits` then checks whether it always fits, and finds the largest size
with which it does.

The backend is not queried if more than 4 GiB are planned.

With `--mesh` and `--shard`, or a mesh of the program, the memory is that of one device of a mesh (`--mesh none`: of one machine); `check --mesh` shows how each tensor is divided. XLA itself
may allocate more or less.

Exit status: 0 success, 1 the program has errors or does not fit, 2 it cannot be read.

Example:
  $ broadloom memory mlp.loom --fits 8GiB
  $ broadloom memory mlp.loom --train loss --optimiser adam";

/// The optimisers, by the states that they keep.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Optimiser {
    Sgd,
    Momentum,
    Adam,
}

impl From<Optimiser> for broadloom_ide::Optimiser {
    fn from(optimiser: Optimiser) -> broadloom_ide::Optimiser {
        match optimiser {
            Optimiser::Sgd => broadloom_ide::Optimiser::Sgd,
            Optimiser::Momentum => broadloom_ide::Optimiser::Momentum,
            Optimiser::Adam => broadloom_ide::Optimiser::Adam,
        }
    }
}

/// The number of tensors that are listed.
const LISTED: usize = 20;

/// `8GiB`, `500MB`, `64k`, a number of bytes.
pub fn size(text: &str) -> Result<u64, String> {
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

/// Reports the memory that a program needs.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("memory", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let mut analysis = Analysis::open(&text);
    let on = match args.mesh.on(&analysis.program) {
        Ok(on) => on,
        Err(message) => return unusable("memory", message, args.program.json),
    };
    if on.as_ref().is_some_and(|on| !on.mesh.axes.is_empty()) {
        return on_device(args, &mut analysis, on.as_ref(), console);
    }
    let of = MemoryOf {
        train: args.train.clone(),
        optimiser: args.optimiser.into(),
        ask_backend: !args.planned,
        limit: args.fits,
    };
    let measured = match memory(&mut analysis, &of) {
        Ok(measured) => measured,
        Err(message) => return unusable("memory", message, args.program.json),
    };
    let mut output = Output::new(status(&measured.diagnostics));
    if measured.memory.as_ref().and_then(|used| used.fits) == Some(false) {
        output.status = Status::Wrong;
    }
    if args.program.json {
        output.stdout = json::object("memory", analysis.sources(), &measured.diagnostics, &measured);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), &measured.diagnostics, console.stderr());
    if let Some(used) = measured.memory {
        output.stdout = text_of(&used, args.all, console.stdout());
        if let Some(limit) = args.fits {
            output.stdout.push_str(&format!("\n{}", answer(&used, limit)));
        }
    }
    output
}

/// Reports the memory that one device of a mesh needs.
fn on_device(args: &Args, analysis: &mut Analysis, on: Option<&OnMesh>, console: &mut Console<'_>) -> Output {
    if args.train.is_some() {
        let message = match args.mesh.is_given() {
            true => "`--train` and `--mesh` do not go together: write `minimise` into the program",
            false => {
                "`--train` is for one machine, and the program has a mesh: write `minimise` into the program, or leave its mesh out with `--mesh none`"
            }
        }
        .to_string();
        return unusable("memory", message, args.program.json);
    }
    let found = meshed(analysis, on);
    let mut output = Output::new(status(&found.diagnostics));
    let too_large = |table: &MeshTable| args.fits.is_some_and(|limit| table.peak > limit);
    if found.mesh.as_ref().is_some_and(too_large) {
        output.status = Status::Wrong;
    }
    if args.program.json {
        output.stdout = json::object("memory", analysis.sources(), &found.diagnostics, &found);
        return output;
    }
    output.stderr = args.program.render(analysis.sources(), &found.diagnostics, console.stderr());
    if let Some(table) = &found.mesh {
        output.stdout = device_text(table, args.fits, console.stdout());
    }
    output
}

/// The memory of one device of a mesh, as a table for people, and the answer to `--fits`.
pub fn device_text(table: &MeshTable, limit: Option<u64>, look: Look) -> String {
    let answer = limit.map(|limit| format!("\n{}\n", fits(table.peak, limit)));
    mesh::memory(table, look) + &answer.unwrap_or_default()
}

/// `1.0 MiB fits into 8.0 GiB`. Numbers that look alike in short are written in bytes.
fn fits(needed: u64, limit: u64) -> String {
    let fits = if needed <= limit { "fits into" } else { "does not fit into" };
    match (bytes(needed), bytes(limit)) {
        (short, same) if short == same && needed != limit => {
            format!("{} bytes {fits} {} bytes", grouped(needed), grouped(limit))
        }
        (needed, limit) => format!("{needed} {fits} {limit}"),
    }
}

/// The answer to `--fits`: if the program fits, and the sizes for which it does.
pub fn answer(used: &MemoryUse, limit: u64) -> String {
    let fits = fits(used.needed, limit);
    if used.sizes.is_empty() {
        return format!("{fits}\n");
    }
    let here: Vec<String> = used.sizes.iter().map(|size| format!("{} = {}", size.name, size.here)).collect();
    let mut out = format!("at {}: {fits}\n", here.join(", "));
    if used.fits == Some(true) {
        return out + "so it does at every size in range\n";
    }
    for SizeMemory { name, most, largest, every, .. } in &used.sizes {
        let others = if used.sizes.len() > 1 { ", the others being as they are" } else { "" };
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

/// The memory of a program, as tables for people.
pub fn text_of(used: &MemoryUse, all: bool, look: Look) -> String {
    let mut out = if used.sizes.is_empty() { look.table(&groups(used)) } else { ranges(used, look) };
    let count = if all { used.tensors.len() } else { used.tensors.len().min(LISTED) };
    let mut table = Table::new([
        Column::name("tensor"),
        Column::number("bytes"),
        Column::new("group"),
        Column::faint("how long"),
    ]);
    for stored in &used.tensors[..count] {
        let long = stored.routine.as_ref().map_or("lasts".to_string(), |routine| format!("within {routine}"));
        table.row([stored.name.clone(), grouped(stored.bytes), stored.group.into(), long]);
    }
    if !table.is_empty() {
        out.push('\n');
        out.push_str(&look.table(&table));
    }
    if count < used.tensors.len() {
        let rest = (used.tensors.len() - count) as u64;
        out.push_str(&format!("and {} that are smaller: --all lists them\n", counted(rest, "tensor")));
    }
    if let Some(reason) = &used.not_asked {
        out.push_str(&format!("\nthe backend was not asked: {reason}\n"));
    }
    let between = if used.notices.is_empty() { "" } else { "\n" };
    out.push_str(between);
    used.notices.iter().for_each(|notice| out.push_str(&format!("note: {notice}\n")));
    out
}

fn groups(used: &MemoryUse) -> Table<4> {
    let mut table = Table::new([
        Column::name("memory"),
        Column::number("bytes"),
        Column::number(""),
        Column::faint("of which last"),
    ]);
    for group in used.groups.iter().filter(|group| group.tensors > 0) {
        let lasts = used.tensors.iter().filter(|each| each.group == group.name && each.routine.is_none());
        let last = match lasts.map(|each| each.bytes).sum() {
            lasting if lasting == group.bytes => "all".into(),
            0 => "none".into(),
            lasting => grouped(lasting),
        };
        table.row([group.name.into(), grouped(group.bytes), bytes(group.bytes), last]);
    }
    for (name, [_, here, _]) in totals(used) {
        let here = here.unwrap_or_default();
        table.row([name, grouped(here), bytes(here), String::new()]);
    }
    for (name, here) in really(used) {
        table.row([name, grouped(here), bytes(here), String::new()]);
    }
    table
}

/// The same at the least, the current and the greatest sizes.
fn ranges(used: &MemoryUse, look: Look) -> String {
    let mut out = String::new();
    for SizeMemory { name, least, here, most, .. } in &used.sizes {
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
    let groups = used.groups.iter().filter(|group| group.tensors > 0);
    let groups = groups.map(|group| (group.name.to_string(), [group.least, Some(group.bytes), group.most]));
    for (name, [least, here, most]) in groups.chain(totals(used)) {
        table.row([
            name,
            least.map_or("not known".into(), grouped),
            here.map_or(String::new(), grouped),
            most.map_or("no limit".into(), grouped),
            most.map_or(String::new(), bytes),
        ]);
    }
    for (name, here) in really(used) {
        table.row([name, String::new(), grouped(here), String::new(), String::new()]);
    }
    out.push('\n');
    out + &look.table(&table)
}

/// Bytes at the least, the current and the greatest sizes, where they are known.
type Bytes = [Option<u64>; 3];

/// The temporaries of all routines, and the peak.
fn totals(used: &MemoryUse) -> Vec<(String, Bytes)> {
    let mut rows = Vec::new();
    for each in &used.routines {
        let all = [each.least, Some(each.here), each.most];
        let mut line = |what: &str, of: fn(TemporaryMemory) -> u64| {
            rows.push((format!("temporaries of {}, {what}", each.name), all.map(|memory| memory.map(of))));
        };
        line("before optimisation", |memory| memory.unoptimised);
        line("each by itself", |memory| memory.separate);
        line("at the same time", |memory| memory.shared);
    }
    rows.push(("peak, planned".into(), [used.least, Some(used.peak), used.most]));
    rows
}

/// The memory that the backend has allocated.
fn really(used: &MemoryUse) -> Vec<(String, u64)> {
    let Some(allocated) = &used.allocated else { return Vec::new() };
    let work = format!("work space of {}", counted(allocated.threads as u64, "thread"));
    vec![("allocated by the backend".into(), allocated.blocks + allocated.arenas), (work, allocated.scratch)]
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
