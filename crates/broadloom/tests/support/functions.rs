//! The functions and operators of test programs, each a call of the library.

use broadloom::{Accumulate, Error, Graph, OperationId, Padding, SliceIndex, SpecOptions, Tensor};

use super::run::Stop;

/// An argument with its names looked up.
pub enum Given {
    Tensor(Tensor),
    /// A number: a tensor or a count, as the function reads it.
    Number(f64),
    Text(String),
    Range(u64),
    Option(String, String),
}

/// Pointwise operations by their name in programs, with their name in messages.
const POINTWISE: &[(&str, &str, usize)] = &[
    ("+", "+", 2),
    ("-", "-", 2),
    ("*", "*", 2),
    ("/", "/", 2),
    ("**", "**", 2),
    ("max", "max", 2),
    ("min", "min", 2),
    ("less", "<", 2),
    ("equals", "==", 2),
    ("where", "where", 3),
    ("neg", "neg", 1),
    ("relu", "relu", 1),
    ("exp", "exp", 1),
    ("log", "log", 1),
    ("sqrt", "sqrt", 1),
    ("sin", "sin", 1),
    ("cos", "cos", 1),
    ("tanh", "tanh", 1),
    ("sigmoid", "sigmoid", 1),
    ("recip", "recip", 1),
];

/// Operations by a spec.
const BY_SPEC: [&str; 5] = ["einsum", "sum", "maximum", "outer_sum", "concat"];

/// Applies a function. A number is read as a count where one is expected, and becomes a tensor
/// elsewhere.
pub fn apply(graph: &mut Graph, function: &str, given: &[Given]) -> Result<Vec<Tensor>, Stop> {
    let one = |result: Result<Tensor, Error>| result.map(|tensor| vec![tensor]).map_err(Stop::Refused);
    if let Some((_, name, arity)) = POINTWISE.iter().find(|(written, ..)| *written == function) {
        let operands = tensors(graph, function, given, *arity)?;
        return one(graph.pointwise(name, &operands));
    }
    if let Some(name) = BY_SPEC.into_iter().find(|name| *name == function) {
        return one(by_spec(graph, name, given)?);
    }
    match function {
        "@" => {
            let operands = tensors(graph, function, given, 2)?;
            one(graph.compose(operands[0], operands[1]))
        }
        "fma" => {
            let operands = tensors(graph, function, given, 3)?;
            one(graph.compose_accumulate(operands[0], operands[1], operands[2]))
        }
        "transpose" => {
            let operands = tensors(graph, function, given, 1)?;
            one(graph.transpose(operands[0]))
        }
        "slice" => one(slice(graph, given)?),
        "convert" => one(convert(graph, given)?),
        "split" => split(graph, given),
        _ => Err(Stop::language(format!("there is no function `{function}`"))),
    }
}

/// The arguments as tensors, of which there must be exactly this many.
fn tensors(graph: &mut Graph, function: &str, given: &[Given], arity: usize) -> Result<Vec<Tensor>, Stop> {
    let found: Vec<Tensor> = given.iter().filter_map(|argument| tensor(graph, argument)).collect();
    if given.len() == arity && found.len() == arity {
        return Ok(found);
    }
    Err(Stop::language(format!("`{function}` is for {arity} tensors")))
}

fn tensor(graph: &mut Graph, argument: &Given) -> Option<Tensor> {
    match argument {
        Given::Tensor(tensor) => Some(*tensor),
        Given::Number(number) => Some(graph.number(*number)),
        Given::Text(_) | Given::Range(_) | Given::Option(..) => None,
    }
}

fn by_spec(graph: &mut Graph, name: &'static str, given: &[Given]) -> Result<Result<Tensor, Error>, Stop> {
    let [Given::Text(spec), rest @ ..] = given else {
        return Err(Stop::language(format!("`{name}` begins with a spec in quotes")));
    };
    let operands: Vec<Tensor> = rest.iter().filter_map(|argument| tensor(graph, argument)).collect();
    let mut padding = None;
    let mut coefficients = Vec::new();
    for argument in rest {
        match argument {
            Given::Option(option, value) if option == "padding" => {
                padding = Some(match value.as_str() {
                    "valid" => Padding::Valid,
                    "padded" => Padding::Padded,
                    _ => return Err(Stop::language("padding is `valid` or `padded`")),
                });
            }
            Given::Option(option, value) => {
                let number = value.parse().map_err(|_| Stop::language(format!("`{value}` is not a size")))?;
                coefficients.push((option.as_str(), number));
            }
            Given::Tensor(_) | Given::Number(_) => {}
            Given::Text(_) | Given::Range(_) => return Err(Stop::language("one spec, then tensors")),
        }
    }
    let operation = match name {
        "einsum" => OperationId::Einsum,
        "sum" => OperationId::Sum,
        "concat" => OperationId::Concat,
        other => OperationId::Own(other),
    };
    let accumulate = if name == "maximum" { Accumulate::Max } else { Accumulate::Sum };
    let options = SpecOptions {
        padding,
        coefficients: &coefficients,
        operation: Some(operation),
        accumulate,
        ..SpecOptions::default()
    };
    Ok(graph.einsum_with(spec, &operands, &options))
}

fn slice(graph: &mut Graph, given: &[Given]) -> Result<Result<Tensor, Error>, Stop> {
    let (tensor, index) = match given {
        [Given::Tensor(tensor)] => (tensor, SliceIndex::Run { range: None }),
        [Given::Tensor(tensor), Given::Range(range)] => (tensor, SliceIndex::Run { range: Some(*range) }),
        [Given::Tensor(tensor), Given::Number(at)] => (tensor, SliceIndex::At(*at as u64)),
        _ => return Err(Stop::language("a slice is `slice(a)`, `slice(a, 3)` or `slice(a, range 5)`")),
    };
    Ok(graph.slice(*tensor, index))
}

fn convert(graph: &mut Graph, given: &[Given]) -> Result<Result<Tensor, Error>, Stop> {
    match given {
        [Given::Tensor(tensor), Given::Number(factor), Given::Number(divisor)] => {
            Ok(graph.convert(*tensor, *factor as u64, *divisor as u64))
        }
        _ => Err(Stop::language("a conversion is `convert(a, 4, 1)`")),
    }
}

fn split(graph: &mut Graph, given: &[Given]) -> Result<Vec<Tensor>, Stop> {
    let [Given::Text(spec), rest @ ..] = given else {
        return Err(Stop::language("`split` begins with a spec in quotes"));
    };
    let operands: Vec<Tensor> = rest.iter().filter_map(|argument| tensor(graph, argument)).collect();
    graph.split(spec, &operands).map_err(Stop::Refused)
}
