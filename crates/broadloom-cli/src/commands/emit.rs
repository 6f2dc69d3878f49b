//! `broadloom emit`: writes a program for other tools: MLIR, StableHLO, C, JSON, Lean; or the interface of a module.

mod interface;
mod lean;
mod mlir;
mod stablehlo;

use std::path::{Path, PathBuf};

use broadloom::files::write_text;
use broadloom::{Session, Settings};
use broadloom_ide::{Analysis, whole};
use broadloom_lang::{Dim, Program};

use crate::console::Console;
use crate::json;
use crate::mesh::MeshArgs;
use crate::output::{Output, Status};
use crate::program::{ProgramArgs, overwrites, reason, shown_path, status, unusable};

/// The arguments of `emit`.
#[derive(clap::Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("format").required(true).args(["mlir", "stablehlo", "c", "lean", "interface", "json"]))]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// A module of MLIR: the program as a function, each loop nest a `linalg.generic`
    #[arg(long)]
    mlir: bool,
    /// With `--mlir`: also every routine, with gradients and updates, as a function of its own
    #[arg(long, requires = "mlir")]
    routines: bool,
    /// A module of StableHLO for XLA: the program, or one routine of it, as the function `@main`
    #[arg(long)]
    stablehlo: bool,
    /// With `--stablehlo`: the routine to write, with its gradients and updates, instead of the forward pass
    #[arg(long, value_name = "NAME", requires = "stablehlo")]
    routine: Option<String>,
    #[command(flatten)]
    mesh: MeshArgs,
    /// Every routine as a file of C and a header; needs `-o`
    #[arg(long, requires = "output")]
    c: bool,
    /// A proof of the inferred shapes for Lean 4: with `-o` a whole project, otherwise its last file
    #[arg(long)]
    lean: bool,
    /// The shapes that the functions of a module take and give, as a text to be kept beside it
    #[arg(long)]
    interface: bool,
    /// With `--interface`: hold the program against an interface that was written before
    #[arg(long, value_name = "FILE", requires = "interface", conflicts_with_all = ["output", "mlir", "stablehlo", "c", "lean"])]
    check: Option<PathBuf>,
    /// Where to write: a folder for C and Lean, otherwise a file; standard output if nothing is said
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

pub(crate) const HELP: &str = "\
What is emitted:
  --mlir    a module that `mlir-opt` reads. `@forward` takes data, parameters and states, and returns the tensors that have names and
            those that nothing reads; what depends on gradients is in the functions of `--routines`. Each loop nest is a
            `linalg.generic` with its body, as it is before optimisation. Random numbers take a key, slices whose
            position is known at run time take the position
  --stablehlo
            a module that XLA takes, through JAX or by itself. `@main` is the forward pass, as above, or with `--routine NAME` a
            whole routine: gradients, updates and random numbers included. The first line lists the routines. With `--mesh`
            and `--shard`, arguments, results and intermediate tensors say in Shardy how they are divided over devices
  --c       for each routine `NAME.c` and `NAME.h`, which need nothing else; the header says how to call it
  --lean    the constraints of the program, what was inferred, and the theorem that the one satisfies the other, for all
            sizes of its names in their ranges; `lake build` in the folder checks it, and so does `verification/check` of
            Broadloom's repository
  --interface
            the signatures of the functions that the file defines; `--check FILE` says what has changed since they were
            written to FILE, and ends with 1 if something has. Beside the file, with the ending `.loomi`, programs that
            import it do not check its functions again, as long as it has not changed
  --json    everything: tensors with their shapes, how they are known and why, operations with their loop nests, routines

MLIR, StableHLO and C are for one size of each name. If the program has sizes with a range (`dim batch in 1..64 = 32`), these are the
declared ones, or those set with `--set`; the headers of C and the first lines of the others say which. The first lines of Lean say
for which sizes it is: for all, except where `--set` or the program gives one, or where Lean's checker is too weak.

Exit status: 0 fine, 1 the program has errors, 2 something cannot be read or written.

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
    if args.mesh.on().is_some() && !args.stablehlo {
        return unusable(
            "emit",
            "only `--stablehlo` is for the devices of a mesh".to_string(),
            args.program.json,
        );
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
        (true, _, _) => mlir::emit(&mut analysis.program, args.routines),
        _ if args.stablehlo => {
            stablehlo::emit(&mut analysis.program, args.routine.as_deref(), args.mesh.on().as_ref())
        }
        (_, true, Some(folder)) => c(&mut analysis.program, folder),
        _ if args.lean => lean::emit(&mut analysis.program, &args.program.file, args.output.as_deref()),
        _ => whole(&mut analysis)
            .map(|all| json::object("emit", analysis.sources(), analysis.diagnostics(), all)),
    };
    let made = match made {
        Ok(made) => made,
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

/// Writes all routines, and returns the names of the files.
fn c(program: &mut Program, folder: &Path) -> Result<String, String> {
    let cannot =
        |error: &std::io::Error| format!("cannot write to {}: {}", shown_path(folder), reason(error));
    std::fs::create_dir_all(folder).map_err(|error| cannot(&error))?;
    let routines = program.routines();
    if routines.is_empty() {
        return Err("the program computes nothing".into());
    }
    let settings = Settings { backend: broadloom::Backend::Reference, ..Settings::default() };
    let graph = std::mem::take(&mut program.graph);
    let mut session = Session::with(graph, settings).map_err(|error| error.to_string())?;
    let sizes: Vec<String> = ranged(program).map(|dim| format!("{} = {}", dim.name, dim.size)).collect();
    let mut out = String::new();
    for routine in &routines {
        let name = routine.name();
        session.write_c(routine, folder, name).map_err(|error| error.to_string())?;
        if !sizes.is_empty() {
            let header = folder.join(format!("{name}.h"));
            let text = std::fs::read_to_string(&header).map_err(|error| cannot(&error))?;
            let text = format!("// The program at {}, and no other size.\n{text}", sizes.join(", "));
            write_text(&header, &text)
                .map_err(|error| format!("cannot write {}: {error}", shown_path(&header)))?;
        }
        for ending in ["c", "h"] {
            out.push_str(&format!("{}\n", shown_path(&folder.join(format!("{name}.{ending}")))));
        }
    }
    Ok(out)
}

/// The sizes with a range, each of which has one value in the emitted program.
fn ranged(program: &Program) -> impl Iterator<Item = &Dim> {
    program.dims.iter().filter(|dim| dim.range.is_some())
}
