//! Code in advice of the library, in the syntax of this language.

use broadloom_diagnostics::{Code, Setting};

/// Code as it is written in `.loom`.
///
/// ```
/// use broadloom_diagnostics::{Code, Setting};
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
        Code::Arithmetic(arithmetic, operands) => {
            let [a, b] = [0, 1].map(|at: usize| in_loom(&operands[at]));
            format!("{a} {} {b}", arithmetic.sign())
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
        Code::Setting(setting) => as_flag(setting),
        _ => "…".to_string(),
    }
}

fn list(operands: &[Code]) -> String {
    operands.iter().map(in_loom).collect::<Vec<_>>().join(", ")
}

/// A setting as the command takes it.
///
/// ```
/// use broadloom_diagnostics::Setting;
///
/// assert_eq!(broadloom_lang::as_flag(&Setting::Seed(0)), "--seed 0");
/// ```
pub fn as_flag(setting: &Setting) -> String {
    match setting {
        Setting::Size(name, size) => format!("--set {name}={size}"),
        Setting::Data(name) => format!("--data {name}={name}.npy"),
        Setting::Checked(name) => format!("--inputs {name}=FILE"),
        Setting::Values(_) | Setting::Load => "--load FILE".to_string(),
        Setting::Save(stem) => format!("--save {stem}.safetensors"),
        Setting::Seed(seed) => format!("--seed {seed}"),
        Setting::Backend(name) => format!("--backend {name}"),
        Setting::Mesh(axes) => {
            let axes: Vec<String> = axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
            format!("--mesh {}", axes.join(","))
        }
        // A shell would read the brackets and the stars.
        Setting::Shard(axes, over) if axes.contains(['*', '[', ' ']) => format!("--shard '{axes}={over}'"),
        Setting::Shard(axes, over) => format!("--shard {axes}={over}"),
    }
}
