//! Programs of any length, of several kinds, for the benchmark of growth. Each ends with a tensor `last`.

use std::fmt::Write;

/// A kind of program.
pub struct Family {
    /// The name in tables.
    pub name: &'static str,
    /// Writes a program with about this many statements, or parts of one statement.
    pub write: fn(usize) -> String,
    /// True if it contains mistakes.
    pub wrong: bool,
}

/// All kinds.
pub const FAMILIES: &[Family] = &[
    Family { name: "pointwise", write: pointwise, wrong: false },
    Family { name: "layers", write: layers, wrong: false },
    Family { name: "functions", write: functions, wrong: false },
    Family { name: "calls", write: calls, wrong: false },
    Family { name: "piped list", write: piped_list, wrong: false },
    Family { name: "long list", write: long_list, wrong: false },
    Family { name: "leaves", write: leaves, wrong: false },
    Family { name: "readers", write: readers, wrong: false },
    Family { name: "nesting", write: nesting, wrong: true },
    Family { name: "blocks", write: blocks, wrong: false },
    Family { name: "einsum", write: einsum, wrong: false },
    Family { name: "concat", write: concat, wrong: false },
    Family { name: "parts", write: parts, wrong: false },
    Family { name: "dims", write: dims, wrong: false },
    Family { name: "states", write: states, wrong: false },
    Family { name: "training", write: training, wrong: false },
    Family { name: "mistakes", write: mistakes, wrong: true },
];

/// A head, this many lines, and an end.
fn lines(head: &str, count: usize, line: impl Fn(usize) -> String, end: &str) -> String {
    let mut text = format!("{head}\n");
    for at in 0..count {
        let _ = writeln!(text, "{}", line(at));
    }
    let _ = writeln!(text, "{end}");
    text
}

/// This many parts with a text between them.
fn joined(count: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(between)
}

/// A chain of pointwise operations.
fn pointwise(n: usize) -> String {
    let line = |at| format!("let y{} = relu(y{at}) + x", at + 1);
    lines("data x : 4 | 8\nlet y0 = x", n, line, &format!("let last = y{n}"))
}

/// A chain of layers with parameters.
fn layers(n: usize) -> String {
    let line = |at| format!("let y{} = y{at} |> linear(8)", at + 1);
    lines("data x : 4 | 8\nlet y0 = x", n, line, &format!("let last = y{n}"))
}

/// Many functions, each applied once.
fn functions(n: usize) -> String {
    let line = |at| format!("def f{at}(x) = x * {at} + {{b{at} : 8}}\nlet y{} = f{at}(y{at})", at + 1);
    let half = n.div_ceil(2);
    lines("data x : 4 | 8\nlet y0 = x", half, line, &format!("let last = y{half}"))
}

/// Functions that call one another, a few deep.
fn calls(n: usize) -> String {
    let line = |at: usize| match at % 10 {
        0 => format!("def f{at}(x) = x + 1"),
        9 => format!("def f{at}(x) = f{}(x) * 2\nlet y{at} = f{at}(x)", at - 1),
        _ => format!("def f{at}(x) = f{}(x) * 2", at - 1),
    };
    lines("data x : 4 | 8", n, line, "let last = x + 1")
}

/// A list of functions through which a tensor is piped.
fn piped_list(n: usize) -> String {
    lines("data x : 4 | 8", 0, |_| String::new(), &format!("let last = x |> [relu for i in 0..{n}]"))
}

/// A long list of numbers.
fn long_list(n: usize) -> String {
    format!("data x : {n} = [{}]\nlet last = x + 1\n", joined(n, ", ", |at| at.to_string()))
}

/// Many leaves in one sum.
fn leaves(n: usize) -> String {
    let sum = joined(n, " + ", |at| format!("x{at}"));
    lines("", n, |at| format!("data x{at} : 4 | 8"), &format!("let last = {sum}"))
}

/// Many readers of one leaf, with a parameter each.
fn readers(n: usize) -> String {
    lines("data x : 4 | 8", n, |at| format!("let y{at} = x * {{p{at}}}"), "let last = x + 1")
}

/// Calls inside calls.
fn nesting(n: usize) -> String {
    format!("data x : 4 | 8\nlet last = {}x{}\n", "relu(".repeat(n), ")".repeat(n))
}

/// Many blocks of statements.
fn blocks(n: usize) -> String {
    let line = |at: usize| format!("repeat i{at} in 0..2:\n  s =+ x + i{at}\n  print s every 100");
    lines("data x : 4 = [1, 2, 3, 4]\nstate s : 4", n.div_ceil(3), line, "let last = x + 1")
}

/// A spec with many labels.
fn einsum(n: usize) -> String {
    let labels = joined(n, ", ", |at| format!("a{at}"));
    let sizes = joined(n, ", ", |at| if at % 400 == 0 { "2" } else { "1" }.to_string());
    format!("data x : {sizes}\nlet last = einsum(\"{labels} => {labels}\", x)\n")
}

/// A spec that concatenates many parts.
fn concat(n: usize) -> String {
    let names = joined(n, ", ", |at| format!("x{at}"));
    lines(
        "",
        n,
        |at| format!("data x{at} : 2 | 3"),
        &format!("let last = concat({names}, along = \"output\")"),
    )
}

/// A spec that concatenates many parts, each a parameter, with gradients.
fn parts(n: usize) -> String {
    let names = joined(n, ", ", |at| format!("y{at}"));
    let line = |at| format!("let y{at} = x * {{p{at} : 3}}");
    let end = format!(
        "let last = concat({names}, along = \"output\")\nlet loss = mean(\"... | ... => 0\", last ** 2)\nminimise loss by sgd(0.1)"
    );
    lines("data x : 2 | 3 = [[1, 2, 3], [4, 5, 6]]", n, line, &end)
}

/// Many named sizes.
fn dims(n: usize) -> String {
    let line = |at| format!("dim d{at} in 1..64 = 8\ndata x{at} : d{at}");
    lines("", n.div_ceil(2), line, "let last = x0 + 1")
}

/// Many states, each updated.
fn states(n: usize) -> String {
    let line = |at| format!("state s{at} : 8\ns{at} =+ x");
    lines("data x : 8 = [1, 2, 3, 4, 5, 6, 7, 8]", n.div_ceil(2), line, "let last = x + 1")
}

/// A deep model that is trained.
fn training(n: usize) -> String {
    let line = |at| format!("let y{} = tanh(y{at}) + {{b{at} : 8}}", at + 1);
    let end =
        format!("let last = mean(\"... | ... => 0\", y{n} ** 2)\nrepeat 2:\n  minimise last by sgd(0.1)");
    lines("data x : 1 | 8 = [[1, 2, 3, 4, 5, 6, 7, 8]]\nlet y0 = x", n, line, &end)
}

/// Mistakes, one in each line.
fn mistakes(n: usize) -> String {
    lines("data x : 4 | 8\ndata z : 4 | 7", n, |at| format!("let y{at} = x + z + q{at}"), "let last = x + 1")
}
