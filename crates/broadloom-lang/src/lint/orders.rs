//! Layers of the library that are configured as in another library, and mean something else here.
//!
//! Layers here do not take the width of their input, so that numbers that are copied from elsewhere fall on other
//! arguments: `layer_norm(64)` sets `epsilon` to 64. Nothing about the shapes is wrong then.

use broadloom_diagnostics::{Diagnostic, Edit, Span};
use rustc_hash::FxHashSet;

use crate::codes;
use crate::program::Program;
use crate::syntax::ast::{Arg, ExprKind, File, Name, Statement, StatementKind};

/// Calls of layers with numbers that are probably meant for other arguments.
pub(super) fn orders(program: &Program, file: &File) -> Vec<Diagnostic> {
    let own: FxHashSet<Name> = file.statements.iter().filter_map(defined).collect();
    let calls = file.exprs.iter().filter_map(|expr| {
        let ExprKind::Call { callee, args } = &expr.kind else { return None };
        let ExprKind::Name(name) = file.expr(*callee).kind else { return None };
        let misread = misread(program.names.text(name), &numbers(file, args))?;
        (!own.contains(&name)).then(|| misread.diagnostic(expr.span))
    });
    calls.collect()
}

/// The numbers before the first argument that is not a number, or has a name.
fn numbers(file: &File, args: &[Arg]) -> Vec<f64> {
    let number = |arg: &Arg| match file.expr(arg.value).kind {
        ExprKind::Number(number) if arg.name.is_none() => Some(number),
        _ => None,
    };
    args.iter().map_while(number).collect()
}

/// The function that a statement defines.
fn defined(statement: &Statement) -> Option<Name> {
    match &statement.kind {
        StatementKind::Def(def) => Some(def.name.name),
        _ => None,
    }
}

/// A call that does not mean what it seems to: its meaning, advice, and a replacement if there is only one.
struct Misread {
    says: String,
    help: String,
    instead: Option<String>,
}

impl Misread {
    fn diagnostic(self, span: Span) -> Diagnostic {
        let Misread { says, help, instead } = self;
        let message = "these numbers may be meant for other arguments";
        let diagnostic = Diagnostic::warning(codes::ORDER, message, span, says).with_help(help);
        match instead {
            Some(instead) => {
                diagnostic.fixed_by(format!("write `{instead}`"), vec![Edit::new(span, instead)])
            }
            None => diagnostic,
        }
    }
}

/// Reads the numbers that a layer of the library is given.
fn misread(name: &str, numbers: &[f64]) -> Option<Misread> {
    match (name, numbers) {
        ("layer_norm" | "rms_norm" | "batch_norm", [first, ..]) if *first >= 1.0 => {
            let argument = if name == "batch_norm" { "momentum" } else { "epsilon" };
            Some(Misread {
                says: format!("this sets `{argument}` to {first}"),
                help: format!("it takes no size, which is inferred: write `{name}()`"),
                instead: (numbers.len() == 1).then(|| format!("{name}()")),
            })
        }
        ("dropout", [rate, ..]) if *rate >= 1.0 => Some(Misread {
            says: "every element becomes 0".to_string(),
            help: format!("the rate is a probability: write `dropout({})`", rate / 100.0),
            instead: (numbers.len() == 1).then(|| format!("dropout({})", rate / 100.0)),
        }),
        ("conv2d" | "separable_conv2d", [channels, height, width, ..]) if height != width => Some(Misread {
            says: format!("{channels} channels by a kernel of {height} × {width}"),
            help: format!(
                "the channels of the image are inferred: `{name}({height}, {width})` makes {height} by a kernel of \
                 {width} × {width}; if this kernel is meant, write `{name}({channels}, height = {height}, width = {width})`"
            ),
            instead: None,
        }),
        ("attention", [heads, size, ..]) if heads > size => Some(Misread {
            says: format!("{heads} heads of {size} elements each"),
            help: format!(
                "the width is inferred: `attention({size})` has {size} heads; if these are meant, write \
                 `attention({heads}, size = {size})`"
            ),
            instead: None,
        }),
        ("encoder_block" | "decoder_block", [heads, hidden, ..]) if heads > hidden => Some(Misread {
            says: format!("{heads} heads, and {hidden} elements inside of the feed-forward layer"),
            help: format!(
                "the width is inferred: `{name}(heads, hidden)` takes the number of heads first, such as `{name}({hidden}, \
                 {})`",
                4.0 * heads
            ),
            instead: None,
        }),
        _ => None,
    }
}
