//! The parts of the runtime that a program uses.
//!
//! The runtime is text in C. Of its small functions, those are taken that the code mentions, and those that these
//! mention in turn; the kernel of contractions is taken as a whole, for the types that are computed with. Because it is
//! long, it can also be a file of its own that is compiled once and linked to many programs. What it costs to take
//! everything is in `ARCHITECTURE.md`.

use std::sync::LazyLock;

use broadloom_loops::Dtype;
use rustc_hash::FxHashSet;

use crate::types::{Real, stored};

/// Helpers of the code around nests.
const SMALL: &str = include_str!("small.c");
/// Functions of numbers.
const MATH: &str = include_str!("runtime/math.c");
/// The function that sorts, for one type of numbers.
const SORT: &str = include_str!("runtime/sort.c");
/// Functions of matrices, for which a page has no room.
const MATRIX: &str = if cfg!(target_arch = "wasm32") { "" } else { include_str!("runtime/matrix.c") };
/// Functions of matrices that rely on these: those of wide ones, and least squares.
const WIDE: &str = if cfg!(target_arch = "wasm32") { "" } else { include_str!("runtime/matrix_wide.c") };
/// The functions that sort, for all types.
static SORTS: LazyLock<String> = LazyLock::new(|| {
    let of = |(dtype, key, load): &(Dtype, &str, &str)| {
        let text = SORT.replace("NAME", &format!("sort_{dtype}")).replace("TYPE", stored(*dtype));
        text.replace("KEY", key).replace("LOAD", load)
    };
    let integers = [Dtype::Bool, Dtype::U8, Dtype::I8, Dtype::I16, Dtype::I32, Dtype::I64];
    let floats = [
        (Dtype::Bf16, "float", "bf16_to_f32"),
        (Dtype::F16, "float", "f16_to_f32"),
        (Dtype::F32, "float", ""),
        (Dtype::F64, "double", ""),
    ];
    let integers = integers.iter().map(|dtype| (*dtype, "int64_t", ""));
    integers.chain(floats).map(|each| of(&each)).collect::<Vec<_>>().join("\n")
});
/// The kernel of contractions, for 32-bit or 64-bit floats.
const CONTRACT: &str = include_str!("runtime/contract.c");
/// Types that the kernel and its callers share.
const CONTRACTION: &str = include_str!("runtime/contraction.h");
/// Declarations of the kernel's functions, for programs that link it.
const CONTRACT_DECLARED: &str = include_str!("contract_declared.c");
/// Helpers for calls of contractions of any type.
const CONTRACT_GLUE: &str = include_str!("contract_glue.c");
/// Helpers for calls of contractions of one type.
const CONTRACT_REAL: &str = include_str!("contract_real.c");

const HEAD: &str = "
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VISIBLE __attribute__((visibility(\"default\")))

/* Nests stay functions: many may be the same, and one long function would take long to compile. */
#define NEST static __attribute__((noinline))

/* What is shared among threads must not depend on how: it is compiled once, not again for some number of parts, and
 * several iterations of a shared loop are not computed together, for their rounding might differ. */
#if defined(__clang__)
#define SHARED static __attribute__((noinline))
#else
#define SHARED static __attribute__((noipa))
#endif
#define ONE_BY_ONE __asm__ volatile(\"\")
";

/// The place of the kernel of contractions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kernels {
    /// In the text itself.
    Inside,
    /// In files of their own: the text only declares them.
    Outside,
}

/// The text that some code relies on, with the kernel of contractions for some types.
pub(crate) fn text(code: &[&str], contractions: &[Real], kernels: Kernels) -> String {
    let mut called = String::new();
    for (number, real) in contractions.iter().enumerate() {
        called.push('\n');
        match kernels {
            // Functions that are visible to other files would clash with those of another program.
            Kernels::Inside => called.push_str(
                &contract(*real)
                    .replace("\nvoid OF(", "\nstatic void OF(")
                    .replace("\nsize_t OF(", "\nstatic size_t OF("),
            ),
            Kernels::Outside => {
                if number == 0 {
                    called.push_str(CONTRACTION);
                    called.push('\n');
                }
                called.push_str(&CONTRACT_DECLARED.replace("REAL", real.prefix()));
            }
        }
        let glue = if number == 0 { CONTRACT_GLUE } else { "" };
        called.push_str(&format!("\n{glue}\n{}", CONTRACT_REAL.replace("REAL", real.prefix())));
    }
    needed(code.iter().copied().chain([called.as_str()])) + &called
}

/// The kernel of contractions for a type, as a file of its own.
pub(crate) fn kernel(real: Real) -> String {
    let kernel = contract(real);
    needed([kernel.as_str()].into_iter()) + "\n" + &kernel
}

/// The text of the kernel for a type.
fn contract(real: Real) -> String {
    let kernel = CONTRACT.replace("#include \"contraction.h\"\n", CONTRACTION);
    // Products that a contraction adds up are rounded once, which is faster and no less exact.
    // Other code is not compiled this way.
    let kernel = format!(
        "#pragma GCC push_options\n#pragma GCC optimize(\"fp-contract=fast\")\n{kernel}#pragma GCC pop_options\n"
    );
    match real {
        Real::F32 => kernel,
        Real::F64 => format!("#define CONTRACT_F64\n{kernel}#undef CONTRACT_F64\n"),
    }
}

/// The small functions that some code needs.
fn needed<'a>(code: impl Iterator<Item = &'a str>) -> String {
    let mut needed: FxHashSet<&str> = code.flat_map(words).collect();
    let definitions: Vec<Definition> =
        [SMALL, SORTS.as_str(), MATRIX, WIDE, MATH].into_iter().flat_map(definitions).collect();
    let mut taken = vec![false; definitions.len()];
    loop {
        let next = (0..definitions.len()).find(|place| {
            !taken[*place] && definitions[*place].defines.iter().any(|name| needed.contains(name))
        });
        let Some(place) = next else { break };
        taken[place] = true;
        needed.extend(words(definitions[place].text));
    }
    // The functions of numbers come first: conversions need them.
    let split = definitions.iter().take_while(|definition| !MATH.contains(definition.text)).count();
    let mut text = String::from(HEAD);
    for place in (split..definitions.len()).chain(0..split).filter(|place| taken[*place]) {
        text.push('\n');
        text.push_str(definitions[place].text);
    }
    text
}

/// A definition with the comment above it.
struct Definition {
    text: &'static str,
    defines: Vec<&'static str>,
}

/// The definitions of a file: the parts between empty lines outside of braces and conditionals.
fn definitions(file: &'static str) -> Vec<Definition> {
    let mut definitions = Vec::new();
    let (mut start, mut at, mut braces, mut conditions) = (0, 0, 0i64, 0i64);
    for line in file.split_inclusive('\n') {
        let guard = line.contains("_ONCE");
        let begin = at;
        at += line.len();
        if line.starts_with("#if") && !guard {
            conditions += 1;
        } else if line.starts_with("#endif") && !guard {
            conditions -= 1;
        }
        for c in line.bytes() {
            braces += i64::from(c == b'{') - i64::from(c == b'}');
        }
        let single = line.starts_with("static ") && line.trim_end().ends_with('}');
        if braces != 0 || conditions != 0 {
            continue;
        }
        if guard || line.starts_with("#include") {
            start = at;
        } else if line.trim().is_empty() {
            definitions.extend(definition(&file[start..begin]));
            start = at;
        } else if single {
            definitions.extend(definition(&file[start..at]));
            start = at;
        }
    }
    definitions.extend(definition(&file[start..]));
    definitions
}

fn definition(text: &'static str) -> Option<Definition> {
    let mut defines = Vec::new();
    for line in text.lines() {
        if line.starts_with("static ") {
            defines.extend(line.split(['(', '[']).next().and_then(|head| words(head).last()));
        } else if line.starts_with("typedef ") || line.starts_with("enum ") {
            defines.extend(words(line).filter(|word| !["typedef", "struct", "enum"].contains(word)).last());
            defines
                .extend(words(line).filter(|word| word.bytes().all(|c| c.is_ascii_uppercase() || c == b'_')));
        }
    }
    (!defines.is_empty()).then_some(Definition { text, defines })
}

/// The identifiers in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !part(c)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom_loops::function::{Binary, C1, C2, Unary};

    #[test]
    fn only_what_is_used_is_there() {
        let text = text(&["y[i] = f32_tanh(x[i]);"], &[], Kernels::Inside);
        assert!(
            text.contains("float f32_tanh(")
                && text.contains("float f32_exp_within(")
                && text.contains("float f32_fma(")
        );
        assert!(
            !text.contains("f64_exp") && !text.contains("threefry") && !text.contains("share_work"),
            "{text}"
        );
    }

    #[test]
    fn a_kernel_is_declared_or_defined() {
        let outside = text(&[], &[Real::F32, Real::F64], Kernels::Outside);
        assert!(
            outside.contains("void contract_f64(const contraction") && !outside.contains("OF("),
            "{outside}"
        );
        let inside = text(&[], &[Real::F32], Kernels::Inside);
        assert!(inside.contains("\nstatic void OF(contract)(") && !inside.contains("contraction.h"));
        assert!(kernel(Real::F32).contains("\nvoid OF(contract)("));
    }

    #[test]
    fn every_function_is_found() {
        let all: Vec<&str> = definitions(SMALL)
            .into_iter()
            .chain(definitions(MATH))
            .flat_map(|definition| definition.defines)
            .collect();
        let unary = Unary::ALL.iter().filter_map(|function| match function.c() {
            C1::Call(name) => Some(name),
            _ => None,
        });
        let binary = Binary::ALL.iter().filter_map(|function| match function.c() {
            C2::Call(name) => Some(name),
            _ => None,
        });
        for name in unary.chain(binary) {
            for prefix in ["f32", "f64"] {
                let name = format!("{prefix}_{name}");
                assert!(all.contains(&name.as_str()), "{name}");
            }
        }
        for name in ["f32_uniform", "bf16_to_f32", "f32_to_f16", "MOST_REPORTS"] {
            assert!(all.contains(&name), "{name}");
        }
    }
}
