//! The tools of MLIR: finding them, checking a module, and running a function of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use broadloom::{Array, Dtype, Element, Values};

/// From tensors to machine code, in steps that `mlir-opt` has had since version 17.
const PASSES: [&str; 17] = [
    "--verify-each",
    "--convert-elementwise-to-linalg",
    "--one-shot-bufferize=bufferize-function-boundaries allow-return-allocs-from-loops function-boundary-type-conversion=identity-layout-map",
    "--canonicalize",
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--arith-expand=include-bf16=true",
    "--convert-arith-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-cf-to-llvm",
    "--convert-func-to-llvm",
    "--convert-index-to-llvm",
    "--reconcile-unrealized-casts",
];

/// The MLIR tools that are used here.
#[derive(Clone, Debug)]
pub struct Tools {
    opt: PathBuf,
    runner: PathBuf,
    libraries: Vec<PathBuf>,
}

impl Tools {
    /// Finds the tools of this machine, by the names that Debian gives them and by their own.
    pub fn find() -> Option<Tools> {
        let endings = ["-19", "-20", "-21", "-18", "-17", ""];
        let of = |ending: &&str| {
            let opt = on_path(&format!("mlir-opt{ending}"))?;
            let runner = on_path(&format!("mlir-cpu-runner{ending}"))
                .or_else(|| on_path(&format!("mlir-runner{ending}")))?;
            let folder = opt.canonicalize().ok()?.parent()?.join("../lib");
            let libraries = ["libmlir_runner_utils", "libmlir_c_runner_utils", "libmlir_float16_utils"];
            let libraries = libraries.iter().filter_map(|name| library(&folder, name)).collect();
            Some(Tools { opt, runner, libraries })
        };
        endings.iter().find_map(of)
    }

    /// Checks that a module can be read and verified.
    pub fn verify(&self, module: &str) -> Result<(), String> {
        said(Command::new(&self.opt).arg("--verify-each"), module).map(|_| ())
    }

    /// Runs functions of a module, and returns the results of each.
    pub fn run(&self, module: &str, calls: &[Call]) -> Result<Vec<Vec<Vec<f64>>>, String> {
        let driven = driven(module, calls);
        let lowered = said(Command::new(&self.opt).args(PASSES), &driven)?;
        let mut runner = Command::new(&self.runner);
        runner.args(["-e", "main", "--entry-point-result=void"]);
        for library in &self.libraries {
            runner.arg(format!("--shared-libs={}", library.display()));
        }
        let printed = said(&mut runner, &lowered)?;
        let mut texts = printed.split("data =").skip(1);
        let mut read = Vec::new();
        for call in calls {
            let numbers = call.results.iter().zip(&mut texts).map(|((dtype, _), text)| numbers(*dtype, text));
            let numbers: Vec<Vec<f64>> = numbers.collect();
            if numbers.len() != call.results.len() {
                return Err(format!("unexpected output: {printed}"));
            }
            read.push(numbers);
        }
        Ok(read)
    }
}

/// A call of a function: its arguments, and the types of its results.
pub struct Call {
    pub function: String,
    pub arguments: Vec<Argument>,
    pub results: Vec<Type>,
}

/// The type of a tensor.
pub type Type = (Dtype, Vec<u64>);

/// An argument of a function.
pub enum Argument {
    Tensor(Array),
    Integer(i64),
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Finds a library whose file name may end with a version.
fn library(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_it = |file: &PathBuf| {
        file.file_name().is_some_and(|found| found.to_string_lossy().starts_with(&format!("{name}.so")))
    };
    entries.into_iter().find(is_it)
}

/// Runs a command with a text as input. Returns its output, or the first lines of its errors.
fn said(command: &mut Command, text: &str) -> Result<String, String> {
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("{command:?}: {error}"))?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let text = text.to_string();
    let writing = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    // A tool may stop before it has read everything.
    let _ = writing.join();
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint: Vec<String> =
        String::from_utf8_lossy(&output.stderr).lines().take(8).map(str::to_string).collect();
    Err(complaint.join("\n"))
}

/// The module with a `main` that calls functions of it and prints the bits of their results.
fn driven(module: &str, calls: &[Call]) -> String {
    let main: String = calls.iter().enumerate().map(|(at, call)| calling(&format!("c{at}"), call)).collect();
    let printers = ["I32", "I64"].map(|bits| {
        let of = bits.to_lowercase();
        format!(
            "  func.func private @printMemref{bits}(tensor<*x{of}>) attributes {{llvm.emit_c_interface}}\n"
        )
    });
    let module = module.trim_end().trim_end_matches('}');
    format!("{module}\n{}  func.func @main() {{\n{main}    return\n  }}\n}}\n", printers.concat())
}

/// One call; the names of its values begin with a prefix of its own.
fn calling(id: &str, call: &Call) -> String {
    let (mut text, mut types) = (String::new(), Vec::new());
    for (at, argument) in call.arguments.iter().enumerate() {
        let (value, of) = match argument {
            Argument::Tensor(array) => {
                (format!("dense<{}>", dense(array)), tensor(array.dtype(), array.sizes()))
            }
            Argument::Integer(value) => (value.to_string(), "i64".to_string()),
        };
        text.push_str(&format!("    %{id}_a{at} = arith.constant {value} : {of}\n"));
        types.push(of);
    }
    let names: Vec<String> = (0..call.arguments.len()).map(|at| format!("%{id}_a{at}")).collect();
    let made: Vec<String> = call.results.iter().map(|(dtype, sizes)| tensor(*dtype, sizes)).collect();
    let results = if made.is_empty() { String::new() } else { format!("%{id}_r:{} = ", made.len()) };
    let (function, names) = (&call.function, names.join(", "));
    let of = format!("({}) -> ({})", types.join(", "), made.join(", "));
    text.push_str(&format!("    {results}call @{function}({names}) : {of}\n"));
    for (at, (dtype, sizes)) in call.results.iter().enumerate() {
        text.push_str(&printing(&format!("{id}_{at}"), &format!("%{id}_r#{at}"), *dtype, sizes));
    }
    text
}

/// Prints one result: its bits, as integers, which are exact.
fn printing(at: &str, value: &str, dtype: Dtype, sizes: &[u64]) -> String {
    let (of, mut value, mut text) = (tensor(dtype, sizes), value.to_string(), String::new());
    let is_long = matches!(dtype, Dtype::I64 | Dtype::F64);
    let (bits, printer) = if is_long { ("i64", "I64") } else { ("i32", "I32") };
    let as_bits =
        format!("{}{bits}>", of.rsplit_once('x').map_or("tensor<".into(), |(sizes, _)| format!("{sizes}x")));
    let mut from = of.clone();
    if matches!(dtype, Dtype::Bf16 | Dtype::F16) {
        from = as_bits.replace("i32", "f32");
        text.push_str(&format!("    %w_{at} = arith.extf {value} : {of} to {from}\n"));
        value = format!("%w_{at}");
    }
    if let Some(extend) = match dtype {
        Dtype::Bool | Dtype::U8 => Some("arith.extui"),
        Dtype::I8 | Dtype::I16 => Some("arith.extsi"),
        _ => None,
    } {
        text.push_str(&format!("    %w_{at} = {extend} {value} : {of} to {as_bits}\n"));
        value = format!("%w_{at}");
    }
    if dtype.is_float() {
        text.push_str(&format!("    %b_{at} = arith.bitcast {value} : {from} to {as_bits}\n"));
        value = format!("%b_{at}");
    }
    text.push_str(&format!("    %u_{at} = tensor.cast {value} : {as_bits} to tensor<*x{bits}>\n"));
    text.push_str(&format!("    call @printMemref{printer}(%u_{at}) : (tensor<*x{bits}>) -> ()\n"));
    text
}

/// The type of an element in MLIR, where integers have no sign of their own.
pub fn element(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bool => "i1",
        Dtype::U8 | Dtype::I8 => "i8",
        other => other.name(),
    }
}

fn tensor(dtype: Dtype, sizes: &[u64]) -> String {
    let sizes: String = sizes.iter().map(|size| format!("{size}x")).collect();
    format!("tensor<{sizes}{}>", element(dtype))
}

/// The bytes of an array, as MLIR reads them.
fn dense(array: &Array) -> String {
    if array.is_empty() {
        return String::new();
    }
    fn hex<E: Copy, const N: usize>(values: &[E], bytes: impl Fn(E) -> [u8; N]) -> String {
        values.iter().flat_map(|value| bytes(*value)).map(|byte| format!("{byte:02X}")).collect()
    }
    let hex = match array.values() {
        Values::Bool(values) => return nested(array.sizes(), values),
        Values::U8(values) => hex(values, u8::to_le_bytes),
        Values::I8(values) => hex(values, i8::to_le_bytes),
        Values::I16(values) => hex(values, i16::to_le_bytes),
        Values::I32(values) => hex(values, i32::to_le_bytes),
        Values::I64(values) => hex(values, i64::to_le_bytes),
        Values::Bf16(values) => hex(values, broadloom::bf16::to_le_bytes),
        Values::F16(values) => hex(values, broadloom::f16::to_le_bytes),
        Values::F32(values) => hex(values, f32::to_le_bytes),
        Values::F64(values) => hex(values, f64::to_le_bytes),
    };
    format!("\"0x{hex}\"")
}

/// Truths in brackets: as bytes, MLIR would read eight of them from each.
fn nested(sizes: &[u64], values: &[bool]) -> String {
    let Some((size, inner)) = sizes.split_first() else { return values[0].to_string() };
    let parts = values.chunks(values.len() / *size as usize).map(|part| nested(inner, part));
    format!("[{}]", parts.collect::<Vec<_>>().join(", "))
}

/// The numbers in the printed text.
fn numbers(dtype: Dtype, text: &str) -> Vec<f64> {
    let text = text.split("Unranked").next().unwrap_or_default();
    let integers = text.split(|letter: char| !letter.is_ascii_digit() && letter != '-');
    let integers = integers.filter_map(|integer| integer.parse::<i64>().ok());
    let number = |bits: i64| match dtype {
        Dtype::F64 => f64::from_bits(bits as u64),
        Dtype::Bool | Dtype::U8 | Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => bits.to_f64(),
        Dtype::F32 | Dtype::Bf16 | Dtype::F16 => f64::from(f32::from_bits(bits as u32)),
    };
    integers.map(number).collect()
}
