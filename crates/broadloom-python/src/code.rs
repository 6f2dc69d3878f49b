//! Code in advice of the library, in Python: expressions of a graph that is called `graph`.

use broadloom_diagnostics::Code;

use crate::settings;

/// Code as it is written in Python.
pub fn in_python(code: &Code) -> String {
    match code {
        Code::Tensor(name) => Code::name_text(name),
        Code::Contraction => "@".to_string(),
        Code::Product(factors) => factors.iter().map(in_python).collect::<Vec<_>>().join(" @ "),
        Code::Transpose(map) => format!("{}.T", in_python(map)),
        Code::Arithmetic(arithmetic, operands) => {
            let [a, b] = [0, 1].map(|at: usize| in_python(&operands[at]));
            format!("{a} {} {b}", arithmetic.sign())
        }
        Code::Call(name, operands) => format!("bl.{name}({})", list(operands)),
        Code::Einsum { spec, operands } => format!("graph.einsum(\"{spec}\", {})", list(operands)),
        Code::Where { operands, .. } => format!("bl.where({})", list(operands)),
        Code::Mean { spec, of, over } => {
            let over: Vec<String> = over.iter().map(|label| format!(", \"{label}\"")).collect();
            format!("{}.mean(\"{spec}\"{})", in_python(of), over.concat())
        }
        Code::MeanOfAll(of) => format!("{}.mean()", within(of)),
        Code::SumOfAll(of) => format!("{}.sum()", within(of)),
        Code::Select(operands) => format!("bl.where({})", list(operands)),
        Code::Number(value) => value.to_string(),
        Code::Integers(of) => format!("bl.to_i64({})", in_python(of)),
        Code::Reshape(of) => format!("{}.reshape()", within(of)),
        Code::Dim => "graph.dim(\"n\", 1, 64)".to_string(),
        Code::Size(name, number) => format!("graph.dim(\"{name}\", {number}, {number})"),
        Code::Setting(setting) => settings::in_python(setting),
        _ => "…".to_string(),
    }
}

/// Code whose method is called.
fn within(code: &Code) -> String {
    let text = in_python(code);
    if matches!(code, Code::Arithmetic(..) | Code::Product(_)) { format!("({text})") } else { text }
}

fn list(operands: &[Code]) -> String {
    operands.iter().map(in_python).collect::<Vec<_>>().join(", ")
}
