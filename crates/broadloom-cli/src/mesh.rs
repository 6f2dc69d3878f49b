//! The arguments that divide a program over devices, and the tables about it.

use broadloom::{Mesh, Shard};
use broadloom_diagnostics::{Column, Table};
use broadloom_ide::words::{bytes, counted, grouped};
use broadloom_ide::{MeshTable, ShardedTensor};
use broadloom_lang::{MeshRequest, OnMesh, Program, Rule, WithoutDevices};

use crate::console::Look;

/// The arguments that divide a program over devices.
#[derive(clap::Args, Clone, Debug)]
pub struct MeshArgs {
    /// A mesh of devices with named axes: `data=4,model=2` has eight devices. It replaces that of the program; `none` is one device
    #[arg(long, value_name = "AXIS=N,…", value_parser = mesh)]
    mesh: Option<Mesh>,
    /// Divide axes over a mesh axis, by a named size (`batch=data`), a label (`blocks.*.attend.heads=model`) or a place (`w[output, 0]=model`), besides what the program divides; may be repeated
    #[arg(long, value_name = "NAME=AXIS", value_parser = shard)]
    shard: Vec<Shard>,
    /// Also divide parameters and optimiser states over a mesh axis, and gather each where it is used (FSDP, ZeRO)
    #[arg(long, value_name = "AXIS")]
    fsdp: Option<String>,
}

impl MeshArgs {
    /// The devices that are asked for, and what is divided over them: those of a program, with what the arguments replace and add.
    pub fn on(&self, program: &Program) -> Result<Option<OnMesh>, String> {
        self.request().on(program).map_err(|WithoutDevices { rule, asked_for_one }| {
            let rule = written(&rule);
            match asked_for_one {
                true => format!("with `--mesh none` there is one device, and `{rule}` divides nothing"),
                false => {
                    format!(
                        "`{rule}` needs devices: write `--mesh data=4`, or `mesh(data = 4)` in the program"
                    )
                }
            }
        })
    }

    fn request(&self) -> MeshRequest {
        let MeshArgs { mesh, shard, fsdp } = self.clone();
        MeshRequest { mesh, shards: shard, stored_over: fsdp }
    }

    /// True if a mesh of several devices is asked for.
    pub fn is_given(&self) -> bool {
        self.mesh.as_ref().is_some_and(|mesh| !mesh.axes.is_empty()) || self.request().first_rule().is_some()
    }

    /// True if there is any argument about a mesh.
    pub fn is_changed(&self) -> bool {
        self.mesh.is_some() || self.request().first_rule().is_some()
    }
}

/// A rule as an argument.
fn written(rule: &Rule) -> String {
    match rule {
        Rule::Shard(shard) => format!("--shard {shard}"),
        Rule::StoredOver(axis) => format!("--fsdp {axis}"),
    }
}

/// `data=4,model=2`, or `none`, which is a mesh without axes.
fn mesh(text: &str) -> Result<Mesh, String> {
    let help = "write names and numbers of devices, such as `data=4,model=2`";
    let mut axes: Vec<(String, u64)> = Vec::new();
    if text.trim() == "none" {
        return Ok(Mesh { axes });
    }
    for part in text.split(',') {
        let (name, size) = part.split_once('=').ok_or(help)?;
        let (name, size) = (name.trim(), size.trim());
        let size: u64 = size.parse().map_err(|_| format!("`{size}` is not a number of devices: {help}"))?;
        if !Mesh::is_name(name) {
            return Err(format!("`{}` is not a name: {help}", name.escape_debug()));
        }
        if size == 0 {
            return Err("an axis of a mesh has at least one device".into());
        }
        if axes.iter().any(|(known, _)| known == name) {
            return Err(format!("two axes of the mesh are called `{name}`"));
        }
        axes.push((name.into(), size));
    }
    let mesh = Mesh { axes };
    match mesh.is_small_enough() {
        true => Ok(mesh),
        false => Err(format!("a mesh has at most {} devices", grouped(Mesh::MOST_DEVICES))),
    }
}

/// `batch=data`
fn shard(text: &str) -> Result<Shard, &'static str> {
    Shard::read(text).ok_or("write what is divided, `=`, and an axis of the mesh, such as `batch=data`")
}

/// The columns that names of tensors and operations take at most.
const WIDEST: usize = 60;

/// The division of a program, as tables for people: of all tensors, or of the most important ones, with a hint where the others are.
pub fn text_of(table: &MeshTable, others: Option<&str>, look: Look) -> String {
    let mut out = tensors(table, others, look);
    if !table.whole.is_empty() {
        let (names, count) = (listed_names(&table.whole), counted(table.whole.len() as u64, "tensor"));
        out.push_str(&format!(
            "whole on every device, because no axis can be shared evenly: {count}, {names}\n"
        ));
    }
    for routine in &table.routines {
        out.push_str(&format!("\n`{}`, in one run: ", routine.name));
        if routine.collectives.is_empty() {
            out.push_str("devices send each other nothing\n");
            continue;
        }
        let mut sums = Table::new([
            Column::name("devices do"),
            Column::new("along"),
            Column::number("times"),
            Column::number("bytes"),
            Column::number(""),
        ]);
        for total in &routine.totals {
            let (count, sum) = (grouped(total.count), grouped(total.bytes));
            sums.row([total.kind.into(), total.over.join(", "), count, sum, bytes(total.bytes)]);
        }
        out.push_str(&format!("what devices send each other\n{}\n", look.table(&sums)));
        let mut each = Table::new([
            Column::name("of"),
            Column::new("needs"),
            Column::new("along"),
            Column::number("bytes"),
            Column::new("line"),
            Column::faint("for"),
        ])
        .with_widest(WIDEST);
        for sent in &routine.collectives {
            let operation = sent.operation.lines().next().unwrap_or_default().to_string();
            let (over, line) = (sent.over.join(", "), format!("{}:{}", sent.place.file, sent.place.line));
            // In a scan it happens once in each turn.
            let bytes = match sent.times {
                1 => grouped(sent.bytes),
                times => format!("{} × {}", grouped(times), grouped(sent.bytes)),
            };
            each.row([sent.tensor.clone(), sent.kind.into(), over, bytes, line, operation]);
        }
        out.push_str(&look.table(&each));
    }
    out
}

/// The first names of a list.
fn listed_names(names: &[String]) -> String {
    const MOST: usize = 4;
    let shown = names.iter().take(MOST).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > MOST { format!("{shown}, …") } else { shown }
}

/// Returns true for tensors that the program itself names, and for all parameters and data.
pub fn is_listed(tensor: &ShardedTensor) -> bool {
    tensor.own || ["parameters", "data"].contains(&tensor.group)
}

fn tensors(table: &MeshTable, others: Option<&str>, look: Look) -> String {
    let mut rows = Table::new([
        Column::name("tensor"),
        Column::new("shape"),
        Column::number("bytes"),
        Column::number("on each device"),
        Column::faint("group"),
    ]);
    let mut left_out = 0;
    for tensor in &table.tensors {
        if others.is_none() || is_listed(tensor) {
            let (whole, part) = (grouped(tensor.bytes), grouped(tensor.bytes_per_device));
            rows.row([tensor.name.clone(), tensor.shape.clone(), whole, part, tensor.group.into()]);
        } else {
            left_out += 1;
        }
    }
    let axes: Vec<String> = table.axes.iter().map(|axis| format!("{}={}", axis.name, axis.size)).collect();
    let mut out = format!("{}: {}\n\n", counted(table.devices, "device"), axes.join(", "));
    out.push_str(&look.table(&rows));
    if let Some(hint) = others.filter(|_| left_out > 0) {
        out.push_str(&format!(
            "and {} that functions, gradients and optimisers make: {hint}\n",
            counted(left_out, "tensor")
        ));
    }
    out
}

/// The memory of one device, as a table for people.
pub fn memory(table: &MeshTable, look: Look) -> String {
    let mut rows = Table::new([
        Column::name("memory of one device"),
        Column::number("bytes"),
        Column::number(""),
        Column::number("undivided"),
    ]);
    for group in ["parameters", "states", "data", "gradients", "activations"] {
        let of = || table.tensors.iter().filter(|tensor| tensor.lasts && tensor.group == group);
        let (part, whole): (u64, u64) =
            of().fold((0, 0), |sum, each| (sum.0 + each.bytes_per_device, sum.1 + each.bytes));
        if whole > 0 {
            rows.row([group.into(), grouped(part), bytes(part), grouped(whole)]);
        }
    }
    for routine in &table.routines {
        let part = routine.temporaries;
        rows.row([
            format!("at the same time in {}", routine.name),
            grouped(part),
            bytes(part),
            String::new(),
        ]);
    }
    rows.row(["peak".into(), grouped(table.peak), bytes(table.peak), String::new()]);
    look.table(&rows)
}

#[cfg(test)]
mod tests {
    use super::{mesh, shard};

    #[test]
    fn meshes_are_read_or_refused() {
        assert_eq!(mesh("none").expect("no mesh").devices(), 1);
        let read = mesh("data=4, model=2").expect("a mesh");
        assert_eq!(read.axes, [("data".to_string(), 4), ("model".to_string(), 2)]);
        for wrong in ["", "data", "data=", "data=0", "=4", "data=4,data=2", "a b=2", "a=1048576,b=2"] {
            assert!(mesh(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shards_are_read_or_refused() {
        let read = shard("w[output, 0]=model").expect("a shard");
        assert_eq!((&read.axes[..], &read.over[..]), ("w[output, 0]", "model"));
        for wrong in ["", "batch", "=data", "batch="] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }
}
