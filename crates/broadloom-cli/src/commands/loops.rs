//! `broadloom loops`: the loop nests of a program, as they are derived from its shapes, or as they run.

use broadloom::{Node, Session, Settings, Tensor};
use broadloom_diagnostics::{Span, escaped};
use broadloom_ide::Line;
use broadloom_lang::{Program, nearest};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::console::{Console, Look, Paint};
use crate::json;
use crate::output::Output;
use crate::program::{ProgramArgs, status, unusable};

/// The arguments of `loops`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// A tensor: its operation, and those that it is made of and that have no name
    name: Option<String>,
    /// Also show what functions of the library do inside
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// Leave the gradients out
    #[arg(long)]
    forward: bool,
    /// Show the routines as they run, after optimisation
    #[arg(long, conflicts_with_all = ["name", "all", "forward"])]
    optimised: bool,
}

pub(crate) const HELP: &str = "\
For each operation: what it relates, the axes that share a loop, the product space of its loops, how each tensor is indexed,
and the loops. A loop that the result's index does not mention is a reduction. Backward, the same index maps are used by
slot: the gradient of each operand that leads to a parameter. Assignments come last, in the order they are carried out.

Exit status: 0 fine, 1 the program has errors, 2 it cannot be read or has no such tensor.

Example:
  $ printf 'data x : 32 | 784\\nlet y = {w : ... -> 10} @ x\\n' | broadloom loops - y
  <stdin>:2: let y = {w : ... -> 10} @ x

  y = w @ x
    rule input of w ⊑ output of x
    ...
    forward
      for i in 0..32
        for j in 0..10
          for k in 0..784
            y[i, j] += w[j, k] * x[i, k]
    backward
      for j in 0..10
        for k in 0..784
          for i in 0..32
            w.grad[j, k] += y.grad[i, j] * x[i, k]";

/// Shows loop nests.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match args.program.read("loops", console) {
        Ok(text) => text,
        Err(output) => return output,
    };
    let mut program = broadloom_ide::Analysis::new(&text).program;
    let mut output = Output::new(status(&program.diagnostics));
    let (mut nests, mut routines, mut hidden) = (Vec::new(), Vec::new(), 0);
    if program.is_ok() {
        let found = if args.optimised {
            optimised(&mut program).map(|found| routines = found)
        } else {
            chosen(&program, args).and_then(|(tensors, left_out)| {
                hidden = left_out;
                derived(&mut program, &tensors, args).map(|found| nests = found)?;
                let (assigned, left_out) = assignments(&mut program, args)?;
                hidden += left_out;
                nests.extend(assigned);
                Ok(())
            })
        };
        if let Err(message) = found {
            return unusable("loops", &message, args.program.json);
        }
    }
    if args.program.json {
        let operations = nests.iter().map(|nest| NestData::new(&program, nest)).collect();
        let data = Data { file: &text.name, operations, routines: &routines };
        output.stdout = json::object("loops", &program.sources, &program.diagnostics, data);
        return output;
    }
    output.stderr = args.program.render(&program.sources, &program.diagnostics, console.stderr());
    let look = console.stdout();
    output.stdout = people(&program, &nests, look);
    for Optimised { name, text, .. } in &routines {
        let gap = if output.stdout.is_empty() { "" } else { "\n" };
        output
            .stdout
            .push_str(&format!("{gap}{}\n{text}", look.paint(Paint::Strong, &format!("routine {name}"))));
    }
    if hidden > 0 {
        let operations = if hidden == 1 { "operation" } else { "operations" };
        output.stderr.push_str(&format!(
            "{hidden} more {operations} inside functions of the library: --all shows them\n"
        ));
    }
    output
}

/// The tensor with a name, or what is wrong with the name.
pub(crate) fn named(program: &Program, name: &str) -> Result<Tensor, String> {
    program.find(name).ok_or_else(|| {
        let near = nearest(name, program.made.iter().map(|made| made.name.as_str()));
        let advice = near.map_or(String::new(), |near| format!("; is `{near}` meant?"));
        format!("there is no tensor called `{name}`{advice}")
    })
}

/// The tensors whose operations are shown, one for each operation, in order; and how many of them are left out.
fn chosen(program: &Program, args: &Args) -> Result<(Vec<Tensor>, usize), String> {
    let graph = &program.graph;
    let operands = |tensor: Tensor| match graph.node(tensor) {
        Some(Node::Operation { operands, .. }) => Some(operands),
        _ => None,
    };
    let mut tensors: Vec<Tensor> = Vec::new();
    let mut hidden = 0;
    if let Some(name) = &args.name {
        let asked = named(program, name)?;
        let mut waiting: Vec<Tensor> = operands(asked).map(|_| asked).into_iter().collect();
        let assigned = program.routines().iter().any(|routine| routine.assigns(graph, asked));
        if waiting.is_empty() && !assigned {
            return Err(format!("`{name}` is not computed, so it has no loops"));
        }
        while let Some(tensor) = waiting.pop() {
            if tensors.contains(&tensor) {
                continue;
            }
            tensors.push(tensor);
            let inside = operands(tensor).unwrap_or_default().iter().copied();
            waiting.extend(
                inside.filter(|inside| graph.name_of(*inside).is_none() && operands(*inside).is_some()),
            );
        }
        tensors.sort();
    } else {
        for tensor in graph.tensors().filter(|tensor| operands(*tensor).is_some()) {
            let origin = graph.step_of(tensor).and_then(|step| program.origins.get(step));
            if args.all || origin.is_some_and(|origin| origin.span == origin.inner) {
                tensors.push(tensor);
            } else {
                hidden += 1;
            }
        }
    }
    // An operation with several results is shown once.
    tensors.dedup_by_key(|tensor| graph.step_of(*tensor));
    Ok((tensors, hidden))
}

/// An operation with its nests.
struct Nest {
    tensor: Tensor,
    span: Option<Span>,
    /// The operation, as a program would write it.
    text: String,
    /// What it relates, classes, product space and index maps: a line each.
    facts: Vec<String>,
    forward: String,
    backward: Vec<String>,
    json: Option<String>,
}

fn derived(program: &mut Program, tensors: &[Tensor], args: &Args) -> Result<Vec<Nest>, String> {
    let mut backward = match args.forward {
        false => program.graph.show_backward(tensors).map_err(|error| error.to_string())?.into_iter(),
        true => Vec::new().into_iter(),
    };
    let mut nests = Vec::new();
    for tensor in tensors {
        let backward = backward.next().unwrap_or_default();
        let origin = program.graph.step_of(*tensor).and_then(|step| program.origins.get(step));
        let span = origin.map(|origin| origin.span);
        let shown = program.graph.show_nest(*tensor).unwrap_or_else(|error| {
            // Shapes do not always make a nest: `convert`, `a => a^a`.
            format!("{}\n{}", program.graph.label_of(*tensor), error.message())
        });
        let json = if args.program.json { program.graph.nest_json(*tensor).ok() } else { None };
        let mut lines = shown.lines();
        let text = lines.next().unwrap_or_default().to_string();
        let is_fact = |line: &&str| {
            ["rule ", "class ", "product space: ", "writes ", "reads "]
                .iter()
                .any(|head| line.starts_with(head))
        };
        let (facts, forward): (Vec<&str>, Vec<&str>) = lines.partition(is_fact);
        nests.push(Nest {
            tensor: *tensor,
            span,
            text,
            facts: facts.into_iter().map(str::to_string).collect(),
            forward: forward.join("\n") + "\n",
            backward,
            json,
        });
    }
    Ok(nests)
}

/// The assignments that the program carries out, and how many of them are left out.
fn assignments(program: &mut Program, args: &Args) -> Result<(Vec<Nest>, usize), String> {
    let asked = args.name.as_ref().map(|name| named(program, name)).transpose()?;
    let (mut nests, mut hidden) = (Vec::new(), 0);
    for routine in program.routines() {
        let targets = routine.assigned(&program.graph);
        let shown = program.graph.show_assignments(&routine).map_err(|error| error.to_string())?;
        for ((step, text), target) in shown.into_iter().zip(targets) {
            let origin = program.origins.get(step);
            let chosen = match asked {
                Some(asked) => target == asked,
                None => args.all || origin.is_some_and(|origin| origin.span == origin.inner),
            };
            if !chosen {
                hidden += usize::from(asked.is_none());
                continue;
            }
            nests.push(Nest {
                tensor: target,
                span: origin.map(|origin| origin.span),
                text: format!("{} is assigned", program.graph.label_of(target)),
                facts: Vec::new(),
                forward: text,
                backward: Vec::new(),
                json: None,
            });
        }
    }
    Ok((nests, hidden))
}

fn people(program: &Program, nests: &[Nest], look: Look) -> String {
    let mut out = String::new();
    let mut last = None;
    for nest in nests {
        let place = nest.span.map(|span| {
            let source = program.sources.get(span.source);
            (source.name(), source.line_of(span.start), source.line(source.line_of(span.start)).trim())
        });
        if !out.is_empty() {
            out.push('\n');
        }
        if let Some((name, line, text)) = place.filter(|place| last.replace(*place) != Some(*place)) {
            out.push_str(&look.paint(Paint::Faint, &escaped(&format!("{name}:{line}: {text}"))));
            out.push_str("\n\n");
        }
        out.push_str(&look.paint(Paint::Strong, &nest.text));
        out.push('\n');
        for fact in &nest.facts {
            out.push_str(&format!("  {fact}\n"));
        }
        let mut part = |head: &str, text: &str| {
            out.push_str(&format!("  {}\n", look.paint(Paint::Faint, head)));
            text.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
        };
        part(if nest.facts.is_empty() { "assignment" } else { "forward" }, &nest.forward);
        if !nest.backward.is_empty() {
            part("backward", &nest.backward.concat());
        }
    }
    out
}

/// A routine as it runs.
#[derive(Serialize)]
pub(crate) struct Optimised {
    pub name: String,
    /// Its buffers and nests as they are derived.
    pub derived: String,
    /// The same after optimisation.
    pub text: String,
}

/// The routines of a program, before and after optimisation. The program loses its graph.
pub(crate) fn optimised(program: &mut Program) -> Result<Vec<Optimised>, String> {
    let routines = program.routines();
    let graph = std::mem::take(&mut program.graph);
    // Nothing is run, so nothing has to be compiled.
    let settings = Settings { backend: broadloom::Backend::Reference, ..Settings::default() };
    let mut session = Session::with(graph, settings).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for routine in &routines {
        let (derived, text) = session.show(routine).map_err(|error| error.to_string())?;
        all.push(Optimised { name: routine.name().to_string(), derived, text });
    }
    std::mem::swap(&mut program.graph, session.graph_mut());
    Ok(all)
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
    operations: Vec<NestData<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    routines: &'a [Optimised],
}

#[derive(Serialize)]
struct NestData<'a> {
    tensor: String,
    text: &'a str,
    #[serde(flatten)]
    place: Option<Line>,
    nest: Option<Box<RawValue>>,
    forward: &'a str,
    backward: &'a [String],
}

impl<'a> NestData<'a> {
    fn new(program: &'a Program, nest: &'a Nest) -> NestData<'a> {
        NestData {
            tensor: program.graph.label_of(nest.tensor),
            text: &nest.text,
            place: nest.span.map(|span| Line::new(&program.sources, span)),
            nest: nest.json.clone().and_then(|nest| RawValue::from_string(nest).ok()),
            forward: &nest.forward,
            backward: &nest.backward,
        }
    }
}
