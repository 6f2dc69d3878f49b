//! `broadloom emit`: writes a program for other tools: MLIR, StableHLO, C, JSON, Lean; or the interface of a module.

mod interface;
mod lean;

use std::path::{Path, PathBuf};

use broadloom::Precision;
use broadloom::files::write_text;
use broadloom_diagnostics::{Diagnostic, Sources};
use broadloom_ide::emit::CFile;
use broadloom_ide::{Analysis, Refusal, Text, emit, meshed, whole};
use broadloom_lang::Program;

use crate::console::Console;
use crate::json;
use crate::mesh::MeshArgs;
use crate::output::{Output, Status};
use crate::precision::precision;
use crate::program::{ProgramArgs, overwrites, reason, shown_path, status, unusable};

/// The arguments of `emit`.
#[derive(clap::Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("format").required(true).args(["mlir", "stablehlo", "c", "lean", "interface", "json"]))]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// An MLIR module: the program as a function, each loop nest a `linalg.generic`
    #[arg(long)]
    mlir: bool,
    /// With `--mlir`: also a function for each routine, with its gradients and updates
    #[arg(long, requires = "mlir")]
    routines: bool,
    /// A StableHLO module for XLA: the program, or one of its routines, as the function `@main`
    #[arg(long)]
    stablehlo: bool,
    /// With `--stablehlo`: the routine to export, with its gradients and updates, instead of the forward pass
    #[arg(long, value_name = "NAME", requires = "stablehlo")]
    routine: Option<String>,
    /// With `--stablehlo`: how exactly products of 32-bit floats are computed, `highest`, `high`, `default` or `bf16` (see below)
    #[arg(long, value_name = "highest|high|default|bf16", requires = "stablehlo", value_parser = precision)]
    precision: Option<Precision>,
    #[command(flatten)]
    mesh: MeshArgs,
    /// Each routine as a C file and a header; needs `-o`
    #[arg(long, requires = "output")]
    c: bool,
    /// A Lean 4 proof of the inferred shapes: a whole project with `-o`, otherwise its last file
    #[arg(long)]
    lean: bool,
    /// With `--lean`: a function, also of the library, instead of the program; `dense`, or with its configuration `attention(8)`
    #[arg(long, value_name = "FUNCTION", requires = "lean")]
    function: Option<String>,
    /// The signatures of a module's functions, as text to keep beside it
    #[arg(long)]
    interface: bool,
    /// With `--interface`: compare the program with an interface that was written before
    #[arg(long, value_name = "FILE", requires = "interface", conflicts_with_all = ["output", "mlir", "stablehlo", "c", "lean"])]
    check: Option<PathBuf>,
    /// Output folder (C and Lean) or file (default: standard output)
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

pub(crate) const HELP: &str = "\
Formats:
  --mlir    a module that `mlir-opt` reads. `@forward` takes data, parameters and states, and returns the tensors that have names and
            those that nothing reads; tensors that depend on gradients are in the functions of `--routines`. Each loop nest is a
            `linalg.generic` with its body, as it is before optimisation. Random numbers take a key as an argument; slices
            whose position is known only at run time take the position
  --stablehlo
            a module for XLA, through JAX or directly. `@main` is the forward pass, as above, or with `--routine NAME` a
            whole routine, including gradients, updates and random numbers. The first line lists the routines. With `--mesh`
            and `--shard`, or a mesh of the program, arguments, results and intermediate tensors have Shardy annotations of their division over devices.
            `--precision` says how exactly XLA multiplies 32-bit floats, as `run --help` explains it
  --c       `NAME.c` and `NAME.h` for each routine, without other dependencies; the header explains how to call it
  --lean    the constraints of the program, the inferred shapes, and the theorem that the shapes satisfy the constraints for all
            sizes of the names in their ranges; `lake build` in the folder checks it, and so does `verification/check` of
            Broadloom's repository. With `--function NAME`, the theorem is about the scheme of a function: for all values of its
            variables that meet its conditions
  --interface
            the signatures of the functions that the file defines; `--check FILE` reports what has changed since they were
            written to FILE, and exits with 1 if something has. If it is kept beside the file, with the ending `.loomi`,
            programs that import the file do not check its functions again until it changes
  --json    everything: tensors with their shapes and the reasons for them, operations with their loop nests, routines

MLIR, StableHLO and C are for one value of each named size. If the program has sizes with a range (`dim batch in 1..64 = 32`),
that is the declared value, or the one set with `--set`; the headers of C and the first lines of the other formats state it.
The first lines of a Lean file state the sizes for which it holds: all, except where `--set` or the program gives one, or where
the checker in Lean is too weak.

Exit status: 0 success, 1 the program has errors, 2 a file cannot be read or written.

Example:
  $ broadloom emit mlp.loom --c -o out
  $ cc -O3 -march=native -c out/step1.c
  $ broadloom emit mlp.loom --mlir | mlir-opt --linalg-fuse-elementwise-ops";

/// Emits a program.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("emit", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    if args.mesh.is_given() && !args.stablehlo {
        return unusable(
            "emit",
            "only `--stablehlo` is for the devices of a mesh".to_string(),
            args.program.json,
        );
    }
    // `requires` does not help if another format is chosen.
    let of_modules = [("--precision", args.precision.is_some()), ("--routine", args.routine.is_some())];
    if let Some((option, _)) = of_modules.iter().find(|(_, given)| *given && !args.stablehlo) {
        return unusable("emit", format!("`{option}` is for `--stablehlo` alone"), args.program.json);
    }
    let mut analysis = Analysis::new(&text);
    let mut output = Output::new(status(analysis.diagnostics()));
    if !args.program.json {
        output.stderr = args.program.render(analysis.sources(), analysis.diagnostics(), console.stderr());
        if output.status != Status::Fine {
            return output;
        }
    }
    // An interface says that the functions of a module are in order.
    if args.interface && output.status != Status::Fine {
        return output;
    }
    if let Some(file) = &args.check {
        return match interface::check(&text, file) {
            Ok(None) => output,
            Ok(Some(changes)) => Output { stderr: output.stderr + &changes, status: Status::Wrong, ..output },
            Err(message) => unusable("emit", message, args.program.json),
        };
    }
    let program = [args.program.file.as_path()];
    if let Some(message) = args.output.as_deref().and_then(|output| overwrites(output, program)) {
        return unusable("emit", message, args.program.json);
    }
    let made = match (args.mlir, args.c, &args.output) {
        _ if args.interface => Ok(interface::emit(&text)),
        (true, _, _) => emit::mlir(&mut analysis.program, args.routines),
        _ if args.stablehlo => args.mesh.on(&analysis.program).map_err(Refusal::from).and_then(|on| {
            let how = (args.precision.unwrap_or_default(), on.as_ref());
            emit::stablehlo(&mut analysis.program, args.routine.as_deref(), how)
        }),
        (_, true, Some(folder)) => c(&mut analysis.program, folder),
        _ if let Some(function) = &args.function => {
            lean::emit_function(&text, function, args.output.as_deref())
        }
        _ if args.lean => {
            lean::emit_program(&mut analysis.program, &args.program.file, args.output.as_deref())
        }
        _ => whole(&mut analysis)
            .map(|all| json::object("emit", analysis.sources(), analysis.diagnostics(), all)),
    };
    let made = match made {
        Ok(made) => made,
        // A division that cannot be had is shown with its lines.
        Err(Refusal::Library(_))
            if args.stablehlo
                && let Some(found) = undivided(args, &text) =>
        {
            output.stderr = args.program.render(&found.0, &found.1, console.stderr());
            return Output { status: Status::Wrong, ..output };
        }
        Err(message) => return unusable("emit", message, args.program.json),
    };
    match &args.output {
        Some(file) if !args.c && !args.lean => {
            if let Err(error) = write_text(file, &made) {
                let message = format!("cannot write {}: {error}", shown_path(file));
                return unusable("emit", message, args.program.json);
            }
        }
        _ => output.stdout = made,
    }
    output
}

/// The mistakes of a program that cannot be divided over its mesh.
fn undivided(args: &Args, text: &Text) -> Option<(Sources, Vec<Diagnostic>)> {
    let mut analysis = Analysis::open(text);
    let on = args.mesh.on(&analysis.program).ok()?;
    let found = meshed(&mut analysis, on.as_ref());
    let is_wrong = found.diagnostics.iter().any(Diagnostic::is_error);
    is_wrong.then(|| (analysis.sources().clone(), found.diagnostics))
}

/// Writes all routines, and returns the names of the files.
fn c(program: &mut Program, folder: &Path) -> Result<String, Refusal> {
    let cannot =
        |error: &std::io::Error| format!("cannot write to {}: {}", shown_path(folder), reason(error));
    std::fs::create_dir_all(folder).map_err(|error| cannot(&error))?;
    let mut out = String::new();
    for CFile { name, header, source } in emit::c(program)? {
        for (ending, text) in [("c", source), ("h", header)] {
            let file = folder.join(format!("{name}.{ending}"));
            write_text(&file, &text)
                .map_err(|error| format!("cannot write {}: {error}", shown_path(&file)))?;
            out.push_str(&format!("{}\n", shown_path(&file)));
        }
    }
    Ok(out)
}
