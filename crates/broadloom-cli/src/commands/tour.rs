//! `broadloom tour`: runs the other commands on one small program.

use broadloom_diagnostics::Paint;

use crate::console::Console;
use crate::output::{Output, Status};

/// The arguments of `tour`: none.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {}

pub(crate) const HELP: &str = "\
Trains a network on the exclusive or, and shows the output of other commands about it: its shapes, the reason for one of them,
the loops of one operation, and the results of training. No files are read, and none are written but a cache of compiled code.

Exit status: 0 success.";

/// The program, which is one of the examples.
const PROGRAM: &str = include_str!("../../../../examples/xor.loom");
/// Its name in messages.
const NAME: &str = "xor.loom";

/// The stops: the arguments of a command, with `-`
/// for the program, and a sentence about its output.
const STOPS: &[(&[&str], &str)] = &[
    (&["check", "-"], "Every shape is inferred, also those of the weights"),
    (&["explain", "-", "linear.weight.input.0"], "Every size can say where it comes from"),
    (&["loops", "-", "y", "--forward"], "Loops follow from the same rules as shapes"),
    (&["run", "-"], "Gradients and updates become machine code"),
];

/// Runs the tour.
pub fn run(_: &Args, console: &mut Console<'_>) -> Output {
    let look = console.stdout();
    console.live.stdout(&format!("{}\n\n{PROGRAM}", look.paint(Paint::Strong, &format!("# {NAME}"))));
    for (arguments, what) in STOPS {
        let shown: Vec<&str> = arguments.iter().map(|each| if *each == "-" { NAME } else { each }).collect();
        let heading = format!("# {what}.\n$ broadloom {}", shown.join(" "));
        console.live.stdout(&format!("\n{}\n\n", look.paint(Paint::Strong, &heading)));
        let mut program = PROGRAM.as_bytes();
        let mut inner = Console::new(&mut program, &mut *console.live);
        (inner.stdout, inner.stderr, inner.no_color) = (console.stdout, console.stderr, console.no_color);
        inner.stdin_name = NAME;
        let output = crate::run(std::iter::once("broadloom").chain(arguments.iter().copied()), &mut inner);
        console.live.stderr(&output.stderr);
        console.live.stdout(&output.stdout);
        if output.status != Status::Fine {
            return Output::new(output.status);
        }
    }
    Output::new(Status::Fine)
}
