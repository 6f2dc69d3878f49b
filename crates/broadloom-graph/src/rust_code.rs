//! Code in advice as Rust: calls of a [`Graph`](crate::Graph) that is called `g`.

use broadloom_diagnostics::{Advice, Arithmetic, Code, Help, Wording};

/// Advice on what to write, with its code in Rust.
pub(crate) fn help(wording: Wording) -> Help {
    help_of(Advice::Write, wording)
}

/// Advice of a kind, with its code in Rust.
pub(crate) fn help_of(kind: Advice, wording: Wording) -> Help {
    Help::worded(kind, wording, in_rust)
}

/// The rows of a tensor that a mean or a sum of all elements is taken over.
const EVERYTHING: &str = "..b.. | ..i.. -> ..o.. => ";

/// Code in Rust. A graph makes one tensor with each call, so that those within are made before.
fn in_rust(code: &Code) -> String {
    let mut before = Vec::new();
    let last = call(code, &mut before);
    before.into_iter().chain([last]).collect::<Vec<_>>().join(" ")
}

/// The call for some code, with what has to be made before it.
fn call(code: &Code, before: &mut Vec<String>) -> String {
    match code {
        Code::Tensor(name) => Code::name_text(name),
        Code::Contraction => "compose".to_string(),
        Code::Product(factors) => {
            let mut factors = factors.iter();
            let mut product = factors.next().map_or("…".to_string(), |first| operand(first, before));
            let mut is_made = false;
            for factor in factors {
                if is_made {
                    product = made(product, before);
                }
                product = format!("g.compose({product}, {})", operand(factor, before));
                is_made = true;
            }
            product
        }
        Code::Transpose(map) => format!("g.transpose({})", operand(map, before)),
        Code::Arithmetic(sign, operands) => {
            let [a, b] = [0, 1].map(|at: usize| operand(&operands[at], before));
            let method = match sign {
                Arithmetic::Add => "add",
                Arithmetic::Sub => "sub",
                Arithmetic::Mul => "mul",
                Arithmetic::Div => "div",
            };
            format!("g.{method}({a}, {b})")
        }
        Code::Call(name, operands) => format!("g.{name}({})", list(operands, before)),
        Code::Einsum { spec, operands } => format!("g.einsum({spec:?}, &[{}])", list(operands, before)),
        Code::Where { spec, operands } => format!(
            "g.einsum_with({spec:?}, &[{}], &SpecOptions {{ combine: Combine::Where, ..SpecOptions::default() }})",
            list(operands, before)
        ),
        Code::Mean { spec, of, over } => {
            format!("g.mean({spec:?}, &[{}], &{over:?})", operand(of, before))
        }
        Code::MeanOfAll(of) => {
            format!("g.mean({EVERYTHING:?}, &[{}], &[\"b\", \"i\", \"o\"])", operand(of, before))
        }
        Code::SumOfAll(of) => format!("g.einsum({EVERYTHING:?}, &[{}])", operand(of, before)),
        Code::Select(operands) => format!("g.select({})", list(operands, before)),
        Code::Integers(of) => format!("g.cast({}, Dtype::I64)", operand(of, before)),
        Code::Reshape(of) => format!("g.reshape({})", operand(of, before)),
        Code::Dim => "g.dim(\"n\", 1..=64, 32)".to_string(),
        Code::Size(name, number) => format!("g.set_sizes(&[({name:?}, {number})])"),
        _ => "…".to_string(),
    }
}

fn operand(code: &Code, before: &mut Vec<String>) -> String {
    match code {
        Code::Tensor(name) => Code::name_text(name),
        // Nothing can be wrong with a number.
        Code::Number(value) => named(&format!("g.number({value}.0)"), before),
        _ => {
            let call = call(code, before);
            made(call, before)
        }
    }
}

/// The name of a tensor that is made first.
fn made(call: String, before: &mut Vec<String>) -> String {
    named(&format!("{call}?"), before)
}

fn named(value: &str, before: &mut Vec<String>) -> String {
    let name = format!("t{}", before.len() + 1);
    before.push(format!("let {name} = {value};"));
    name
}

fn list(operands: &[Code], before: &mut Vec<String>) -> String {
    operands.iter().map(|each| operand(each, before)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_calls_are_made_one_after_another() {
        let product = Code::Product(["b", "a", "x"].map(Code::tensor).to_vec());
        assert_eq!(in_rust(&product), "let t1 = g.compose(b, a)?; g.compose(t1, x)");
        let turned = Code::Product(vec![Code::Transpose(Box::new(Code::tensor("w"))), Code::tensor("x + 1")]);
        assert_eq!(in_rust(&turned), "let t1 = g.transpose(w)?; g.compose(t1, …)");
        let masked = Code::Select(vec![Code::tensor("mask"), Code::tensor("x"), Code::Number(0)]);
        assert_eq!(in_rust(&masked), "let t1 = g.number(0.0); g.select(mask, x, t1)");
    }
}
