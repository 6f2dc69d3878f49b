//! Code in advice of the library, in the syntax of this language.

use broadloom_diagnostics::Code;

/// Code as it is written in `.loom`.
///
/// ```
/// use broadloom_diagnostics::Code;
///
/// let code = Code::einsum("i => i 0", [Code::tensor("x")]);
/// assert_eq!(broadloom_lang::in_loom(&code), "einsum(\"i => i 0\", x)");
/// ```
pub fn in_loom(code: &Code) -> String {
    match code {
        Code::Tensor(name) => name.clone(),
        Code::Contraction => "@".to_string(),
        Code::Product(factors) => factors.iter().map(in_loom).collect::<Vec<_>>().join(" @ "),
        Code::Transpose(map) => format!("transpose({})", in_loom(map)),
        Code::Pointwise(sign, operands) => {
            format!("{} {sign} {}", in_loom(&operands[0]), in_loom(&operands[1]))
        }
        Code::Call(name, operands) => format!("{name}({})", list(operands)),
        Code::Einsum { spec, operands } => format!("einsum(\"{spec}\", {})", list(operands)),
        Code::Where { spec, operands } => {
            format!("einsum(\"{spec}\", {}, combine = \"where\")", list(operands))
        }
        Code::Mean { spec, of, .. } => format!("mean(\"{spec}\", {})", in_loom(of)),
        Code::MeanOfAll(of) => format!("mean({})", in_loom(of)),
        Code::SumOfAll(of) => format!("sum({})", in_loom(of)),
        Code::Select(operands) => format!("where({})", list(operands)),
        Code::Number(value) => value.to_string(),
        Code::Integers(of) => format!("i64({})", in_loom(of)),
        Code::Reshape(of) => format!("reshape({})", in_loom(of)),
        Code::Dim => "dim".to_string(),
        Code::Size(name, number) => format!("dim {name} = {number}"),
        _ => "…".to_string(),
    }
}

fn list(operands: &[Code]) -> String {
    operands.iter().map(in_loom).collect::<Vec<_>>().join(", ")
}
