//! The answers that a page shows beside the text. Texts are as the command prints them.

use broadloom::Precision;
use broadloom_ide::emit::{self, CFile};
use broadloom_ide::{
    Analysis, Explanation, FunctionSignature, GraphOf, LoopsOf, MemoryOf, MemoryUse, NoPicture, explain,
    explainable, graph as picture_of, loops as loops_of, memory as memory_of, optimised as optimised_of,
    signatures as signatures_of,
};
use broadloom_lang::Asked;
use serde::Serialize;

use crate::editing::{WIDTH, program};
use crate::question::Format;
use crate::units::Units;

/// The sizes of a named size at which memory is measured, for a plot.
const POINTS: u64 = 24;

/// A text for people.
#[derive(Serialize)]
pub(crate) struct Shown {
    text: String,
}

/// A program for other tools, or the reason why it cannot be written for them.
#[derive(Serialize)]
pub(crate) struct Emitted {
    text: String,
    refused: Option<String>,
}

/// A picture, or the reason why there is none.
#[derive(Serialize)]
pub(crate) struct Drawn {
    svg: String,
}

/// The memory of a program.
#[derive(Serialize)]
pub(crate) struct Weighed {
    memory: MemoryUse,
    curves: Vec<Curve>,
}

/// The peak of memory along a named size.
#[derive(Serialize)]
struct Curve {
    name: String,
    here: u64,
    /// Sizes and bytes.
    points: Vec<(u64, u64)>,
}

/// The reason why a tensor, a row, an axis or a named size is as it is.
pub(crate) fn explanation(text: &str, name: &str) -> Result<Shown, String> {
    explained(&mut Analysis::new(&program(text)), name)
}

/// The same for the name at an offset; nothing if there is none that can be explained.
pub(crate) fn explanation_at(text: &str, at: u32) -> Result<Shown, String> {
    let at = Units::new(text).byte(at);
    let mut analysis = Analysis::new(&program(text));
    match explainable(&analysis, at) {
        Some(name) => explained(&mut analysis, &name),
        None => Ok(Shown { text: String::new() }),
    }
}

fn explained(analysis: &mut Analysis, name: &str) -> Result<Shown, String> {
    let answers = explain(analysis, name)?.explanations;
    let as_text =
        |each: &Explanation| format!("{} {}\n{}", each.of, each.is, each.render(analysis, WIDTH, false));
    Ok(Shown { text: answers.iter().map(as_text).collect::<Vec<_>>().join("\n") })
}

/// The loop nests of the program's own operations, or its routines as they run.
pub(crate) fn loops(text: &str, optimised: bool) -> Result<Shown, String> {
    let mut analysis = Analysis::new(&program(text));
    if optimised {
        let found = optimised_of(&analysis)?;
        let each = found.routines.iter().map(|routine| format!("# {}\n{}", routine.name, routine.text));
        return Ok(Shown { text: each.collect::<Vec<_>>().join("\n") });
    }
    let found = loops_of(&mut analysis, &LoopsOf::default())?;
    let mut text = String::new();
    for operation in &found.operations {
        let line = operation.place.as_ref().map_or(String::new(), |line| format!("   # line {}", line.line));
        text.push_str(&format!("{} = {}{line}\n{}\n", operation.tensor, operation.text, operation.forward));
    }
    Ok(Shown { text })
}

/// The picture of the program.
pub(crate) fn graph(text: &str) -> Result<Drawn, String> {
    let mut analysis = Analysis::new(&program(text));
    match picture_of(&mut analysis, &GraphOf::default()) {
        Ok(picture) => Ok(Drawn { svg: picture.svg("program") }),
        Err(NoPicture::Unknown(message)) => Err(message),
        Err(NoPicture::TooLarge { boxes, most }) => {
            Err(format!("the picture would have {boxes} boxes, and at most {most} can be drawn"))
        }
    }
}

/// The memory of the program, and how it grows with each named size.
pub(crate) fn memory(text: &str) -> Result<Weighed, String> {
    let measured = memory_of(&mut Analysis::open(&program(text)), &MemoryOf::default())?;
    let memory = measured.memory.ok_or("the program has errors")?;
    let curves = memory.sizes.iter().map(|size| {
        let most = size.most.unwrap_or(4 * size.here.max(1)).max(size.least);
        let points = sizes_between(size.least, most).filter_map(|at| Some((at, peak(text, &size.name, at)?)));
        Curve { name: size.name.clone(), here: size.here, points: points.collect() }
    });
    let curves = curves.collect();
    Ok(Weighed { memory, curves })
}

/// Sizes from one to another, both included.
fn sizes_between(least: u64, most: u64) -> impl Iterator<Item = u64> {
    let steps = (most - least).min(POINTS - 1);
    let at = move |step: u64| least + ((most - least) as u128 * step as u128 / steps.max(1) as u128) as u64;
    (0..=steps).map(at)
}

/// The peak of memory if a named size has a value; nothing where the program allows no such size.
fn peak(text: &str, name: &str, size: u64) -> Option<u64> {
    let mut text = program(text);
    text.sizes.push((name.to_string(), size));
    let measured = memory_of(&mut Analysis::open(&text), &MemoryOf::default()).ok()?;
    measured.memory.map(|memory| memory.peak)
}

/// The program for other tools, as `broadloom emit` writes it.
pub(crate) fn emitted(text: &str, format: Format) -> Emitted {
    let mut analysis = Analysis::new(&program(text));
    if !analysis.is_ok() {
        return Emitted { text: String::new(), refused: Some("the program has mistakes".to_string()) };
    }
    let program = &mut analysis.program;
    let made = match format {
        Format::C => emit::c(program).map(|files| files.iter().map(of_routine).collect()),
        Format::Stablehlo => emit::stablehlo(program, None, (Precision::default(), None)),
        Format::Lean => emit::lean(program, "program"),
    };
    match made {
        Ok(text) => Emitted { text, refused: None },
        Err(refusal) => Emitted { text: String::new(), refused: Some(String::from(refusal)) },
    }
}

/// The header and the source of a routine.
fn of_routine(file: &CFile) -> String {
    let CFile { name, header, source } = file;
    format!("// {name}.h\n{header}\n// {name}.c\n{source}\n")
}

/// The signatures of the functions of the program.
pub(crate) fn signatures(text: &str) -> Shown {
    let found = signatures_of(&program(text), &Asked::Own);
    let all: Vec<String> = found.answer.signatures.iter().map(FunctionSignature::with_uses).collect();
    Shown { text: all.join("\n") }
}
