//! A certificate as a Lean file, in the format of `verification/lean/Certificate.lean`.

use std::fmt::{self, Display, Formatter, Write};

use broadloom_core::{Form, Need, Padding};

use super::{Certificate, Constraint, Dim, DimTerm, Family, Piece, Row, RowTerm, Window};

/// Words that could leave something unproved, or change the meaning of a text; `verification/check`
/// refuses them wherever they stand.
const REFUSED: [&str; 35] = [
    "sorry",
    "admit",
    "axiom",
    "opaque",
    "unsafe",
    "extern",
    "implemented_by",
    "csimp",
    "native_decide",
    "reduceBool",
    "ofReduceBool",
    "trustCompiler",
    "skipKernelTC",
    "notation",
    "infix",
    "infixl",
    "infixr",
    "prefix",
    "postfix",
    "syntax",
    "macro",
    "macro_rules",
    "elab",
    "elab_rules",
    "run_cmd",
    "run_meta",
    "run_elab",
    "initialize",
    "builtin_initialize",
    "set_option",
    "attribute",
    "instance",
    "unif_hint",
    "meta",
    "import",
];

/// Names that mean something else in Lean, or are files of the theory.
const TAKEN: [&str; 33] = [
    "Assignment",
    "Bool",
    "Broadloom",
    "Certificate",
    "Condition",
    "Constraint",
    "Dim",
    "DimTerm",
    "Expr",
    "Family",
    "Form",
    "Forms",
    "GroundAlgebra",
    "Init",
    "Lake",
    "Lean",
    "List",
    "Nat",
    "Need",
    "Option",
    "Piece",
    "Poly",
    "Prop",
    "Ranges",
    "Row",
    "RowTerm",
    "Shape",
    "SizeRange",
    "Sort",
    "Std",
    "System",
    "TensorDimensions",
    "Type",
];

/// The width at which lists are broken into lines.
const WIDTH: usize = 110;

/// The name of the file and namespace of a certificate: a capital letter, then letters, digits and underscores.
///
/// ```
/// use broadloom::certificate::module_name;
/// assert_eq!(module_name("two-layer net"), "TwoLayerNet");
/// assert_eq!(module_name("3d_conv"), "Program3d_conv");
/// assert_eq!(module_name("list"), "List_");
/// ```
pub fn module_name(text: &str) -> String {
    let mut name = String::new();
    let mut capital = true;
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() || (letter == '_' && !name.is_empty()) {
            name.push(if capital { letter.to_ascii_uppercase() } else { letter });
        }
        capital = !(letter.is_ascii_alphanumeric() || letter == '_');
    }
    if !name.starts_with(|letter: char| letter.is_ascii_uppercase()) {
        name.insert_str(0, "Program");
    }
    if TAKEN.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

impl Certificate {
    /// The certificate as a Lean file that `verification/check` takes. The file has to have the
    /// name of its namespace: the [`module_name`] of `name`.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// g.data("x", "3")?;
    /// let lean = g.certificate()?.to_lean("small");
    /// assert!(lean.contains("namespace Small\n"));
    /// assert!(lean.contains("⟨\"output of x\", ⟨[], none, [.dim (.sized 3)]⟩, [.sized 3]⟩"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn to_lean(&self, name: &str) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut out, &module_name(name));
        out
    }

    fn write(&self, out: &mut String, name: &str) -> fmt::Result {
        let theory = if self.family.is_some() { "Ranges" } else { "Certificate" };
        write!(
            out,
            "module\n\npublic import {theory}\n\n@[expose] public noncomputable section\n\nopen Broadloom\n\n\
             namespace {name}\n\n"
        )?;
        for (at, basis) in self.bases.iter().enumerate() {
            writeln!(out, "-- Basis {}: {}", at + 1, harmless(basis))?;
        }
        if !self.bases.is_empty() {
            out.push('\n');
        }
        if let Some(family) = &self.family {
            write_family(out, family)?;
        }
        out.push_str("def system : System where\n  constraints := [");
        let mut before = "";
        for step in &self.steps {
            let mut text = Some(&step.text);
            for constraint in &step.constraints {
                out.push_str(before);
                if let Some(text) = text.take() {
                    write!(out, "\n    -- {}", harmless(text))?;
                }
                write!(out, "\n    {constraint}")?;
                before = ",";
            }
        }
        out.push_str("]\n");
        if !self.discardable.is_empty() {
            out.push_str("  discardable := ");
            filled(out, &self.discardable)?;
            out.push('\n');
        }
        out.push_str("\ndef solution : Assignment where\n  dims := ");
        filled(out, &self.dims)?;
        out.push_str("\n  rows := ");
        filled(out, &self.rows)?;
        out.push_str("\n\ndef shapes : List Shape := [");
        for (at, shape) in self.shapes.iter().enumerate() {
            let name = harmless(&shape.name).replace('\\', "\\\\").replace('"', "\\\"");
            let before = if at == 0 { "" } else { "," };
            write!(out, "{before}\n  ⟨\"{name}\", {}, {}⟩", shape.row, List(&shape.axes))?;
        }
        let theorems = if self.family.is_some() { FOR_ALL_SIZES } else { FOR_ONE_SIZE };
        write!(out, "]\n\n{theorems}end {name}\n")
    }
}

/// The theorems of a certificate without names.
const FOR_ONE_SIZE: &str = "theorem certificate : system.Holds solution := check_sound (by decide +kernel)\n\n\
     theorem inferred : solution.Gives shapes := gives_sound (by decide +kernel)\n\n";

/// The theorems of a certificate for all sizes of its names.
const FOR_ALL_SIZES: &str = "theorem certificate : family.Holds system solution := checkAll_sound (by decide +kernel)\n\n\
     theorem inferred : family.Gives solution shapes := givesAll_sound (by decide +kernel)\n\n\
     theorem possible : family.Admits (sizesOf sample) := admits_sound (by decide +kernel)\n\n";

/// The named sizes.
fn write_family(out: &mut String, family: &Family) -> fmt::Result {
    let mut list = |head: &str, items: Vec<(String, String)>, end: &str| {
        write!(out, "{head} := [")?;
        for (at, (said, item)) in items.iter().enumerate() {
            let before = if at == 0 { "" } else { "," };
            write!(out, "{before}\n    -- {}\n    {item}", harmless(said))?;
        }
        writeln!(out, "]{end}")
    };
    let names = family.names.iter().enumerate().map(|(at, name)| {
        let (least, most) = name.range;
        let most = most.map_or_else(|| "none".to_string(), |most| format!("some {most}"));
        (format!("Name {at}: `{}`", name.name), format!("⟨{least}, {most}⟩"))
    });
    list("def family : Family where\n  ranges", names.collect(), "")?;
    let conditions = family.conditions.iter().map(|condition| {
        let (form, need) = (Polynomial(&condition.form), Asked(condition.need));
        (condition.text.clone(), format!("⟨{form}, {need}⟩"))
    });
    list("  conditions", conditions.collect(), "")?;
    let forms = family.forms.iter().enumerate();
    let forms =
        forms.map(|(at, form)| (format!("Size {at}: `{}`", family.show(form)), Polynomial(form).to_string()));
    list("  forms", forms.collect(), "\n")?;
    writeln!(out, "def sample : List Nat := {}\n", List(&family.sample))
}

/// An expression: its summands, and what their sum is divided by.
struct Polynomial<'a>(&'a Form);

impl Display for Polynomial<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("⟨[")?;
        for (at, (names, factor)) in self.0.terms().enumerate() {
            let names: Vec<u32> = names.iter().map(|name| name.0).collect();
            write!(f, "{}({factor}, {})", if at == 0 { "" } else { ", " }, List(&names))?;
        }
        write!(f, "], {}⟩", self.0.denominator())
    }
}

/// A condition on an expression.
struct Asked(Need);

impl Display for Asked {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Need::Whole => f.write_str(".whole"),
            Need::Zero => f.write_str(".zero"),
            Need::AtLeast(least) => write!(f, ".atLeast {least}"),
            Need::AtMost(most) => write!(f, ".atMost {most}"),
        }
    }
}

/// A line of comment, without the words and signs that certificates must not have.
///
/// ```
/// assert_eq!(broadloom::certificate::comment("the size `prefix`"), "-- the size `prefix_`\n");
/// ```
pub fn comment(text: &str) -> String {
    format!("-- {}\n", harmless(text))
}

/// A text without the words and signs that certificates must not have, on one line.
fn harmless(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let mut last = ' ';
    for letter in text.chars().chain([' ']) {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            if word.is_empty() && last == '#' {
                out.push(' ');
            }
            word.push(letter);
        } else {
            out.push_str(&word);
            if REFUSED.contains(&word.as_str()) {
                out.push('_');
            }
            word.clear();
            if (last == '@' && letter == '[') || (last == '#' && letter.is_alphabetic()) {
                out.push(' ');
            }
            out.push(if is_plain(letter) { letter } else { '_' });
        }
        last = letter;
    }
    out.truncate(out.trim_end().len());
    out
}

/// Returns true unless it is a control character, or one that changes the order or the lines of a
/// text.
fn is_plain(letter: char) -> bool {
    let reorders =
        matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !letter.is_control() && !reorders && letter != '\u{feff}'
}

/// A list on as many lines as it needs.
fn filled(out: &mut String, items: &[impl Display]) -> fmt::Result {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    let whole = texts.join(", ");
    if whole.chars().count() + 16 <= WIDTH {
        return write!(out, "[{whole}]");
    }
    out.push('[');
    let mut used = WIDTH;
    for (at, text) in texts.iter().enumerate() {
        let length = text.chars().count() + 2;
        if at > 0 {
            out.push(',');
        }
        if used + length > WIDTH {
            out.push_str("\n    ");
            used = 4;
        } else {
            out.push(' ');
        }
        used += length;
        out.push_str(text);
    }
    out.push(']');
    Ok(())
}

/// `[a, b]`
struct List<'a, T>(&'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

/// An argument that may be absent: `none`, `(some x)`.
struct Maybe<T>(Option<T>);

impl<T: Display> Display for Maybe<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("none"),
            Some(value) => write!(f, "(some {value})"),
        }
    }
}

/// A term as an argument.
struct Inner(DimTerm);

impl Display for Inner {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({})", self.0)
    }
}

impl Display for Dim {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Unit => f.write_str(".unit"),
            Dim::Atom { size, basis: 0 } => write!(f, ".sized {size}"),
            Dim::Atom { size, basis } => write!(f, ".atom {size} {basis}"),
            Dim::Form { form, basis: 0 } => write!(f, ".sized (form {form})"),
            Dim::Form { form, basis } => write!(f, ".atom (form {form}) {basis}"),
        }
    }
}

impl Display for DimTerm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DimTerm::Var(number) => write!(f, ".var {number}"),
            DimTerm::Dim(Dim::Unit) => f.write_str(".dim .unit"),
            DimTerm::Dim(dim) => write!(f, ".dim ({dim})"),
        }
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "⟨{}, {}⟩", List(&self.lead), List(&self.trail))
    }
}

impl Display for RowTerm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (lead, trail) = (List(&self.lead), List(&self.trail));
        match self.hole {
            None => write!(f, "⟨{lead}, none, {trail}⟩"),
            Some(number) => write!(f, "⟨{lead}, some {number}, {trail}⟩"),
        }
    }
}

impl Display for Piece {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Dim(term) => write!(f, ".dim ({term})"),
            Piece::Row(number) => write!(f, ".row {number}"),
        }
    }
}

impl Display for Window {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ends = match self.ends {
            Padding::Padded => ".padded",
            Padding::Valid => ".valid",
            Padding::Dropped => ".dropped",
        };
        write!(f, "⟨{}, {}, {ends}⟩", self.kernel, self.dilation)
    }
}

impl Display for Constraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Constraint::DimEq(a, b) => write!(f, ".dimEq ({a}) ({b})"),
            Constraint::DimLe(res, opnd) => write!(f, ".dimLe ({res}) ({opnd})"),
            Constraint::RowEq(a, b) => write!(f, ".rowEq {a} {b}"),
            Constraint::RowLe(res, opnd) => write!(f, ".rowLe {res} {opnd}"),
            Constraint::MadeOf(res, opnds) => write!(f, ".madeOf {res} {}", List(opnds)),
            Constraint::Affine { axis, over, stride, offset, window } => {
                write!(f, ".affine ({axis}) ({over}) {stride} {offset} {}", Maybe(*window))
            }
            Constraint::Concat { axis, components, literal } => {
                write!(f, ".concat ({axis}) {} {literal}", List(components))
            }
            Constraint::AtLeast(axis, least) => write!(f, ".atLeast ({axis}) {least}"),
            Constraint::AtMost(axis, most) => write!(f, ".atMost ({axis}) {most}"),
            Constraint::Count { pieces, coeff, over, denom, divided_by } => {
                let (pieces, over, by) = (List(pieces), Maybe(over.map(Inner)), List(divided_by));
                write!(f, ".count {pieces} {coeff} {over} {denom} {by}")
            }
            Constraint::Exact(pieces, axes) => write!(f, ".exact {} {}", List(pieces), List(axes)),
        }
    }
}
