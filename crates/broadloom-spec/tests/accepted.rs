//! Texts that are accepted, with their canonical printing; and, for a spec with most constructs,
//! the tree.
//!
//! `UPDATE_EXPECT=1 cargo test -p broadloom-spec` rewrites the expectations.

use broadloom_spec::*;
use expect_test::expect_file;

use crate::shown::shown;

#[rustfmt::skip]
const SPECS: &[(&str, &[&str])] = &[
    ("letters", &[
        "ij;jk=>ik", "i j; i j k => k", "b|i->o => o|b->i", "ab|cd->ef => cf|ae->db", "b|i->o => b|i",
        "ab|cd->ef => c|a->d", "i; j => i->j", "i|j->k; l|m->n => il|jm->kn", "b|i->o; b|i->o => b|i->o",
        "b|h->o; b|i->h => b|i->o", "a|i->h; b|h->o => ab|i->o", "b|i->h; b|h->o => i->o",
        "a|i->h; b|h->o => i->o", "ijk => kji", "ijk => ki", "i => ii", "ii => i", "ij => iji", "ij=>ji",
        "i=>i", "i;k=>ik", "il;jl=>ijl", "ijl;kl=>ijkl", "bs|->e; |se->h => b|->h", "ij;jk;kl=>il",
        "a; b; c; d => abcd", "é;名=>é名",
    ]),
    ("indices and wildcards", &[
        "i=>i0", "i=>i2", "i2=>i", "j=>j1", "k=>k2", "i=>i0j", "ij=>i1j", "ij=>i1j2", "i->j => i0j",
        "i=>2|i", "i => i10 2", "i => i 0 0", "i007 => i", "...|i->1; ...|...->i => ...|i",
        "...|1->... => ...|...", "...|...->... => ...|...->0", "...|i->1; ...|j...->i => ...|ij",
        "i->1; ij...->0 => ...->ji", "i_j => ij", "__ => _", "i, _, _ => i", "_, 3 => ...",
    ]),
    ("holes", &[
        "...|...->... => 0", "...|... => 0", "...|... => ...|0", "... => 0", "...|...->... => ...->...",
        "2...|...->... => ...|...->...", "...|... => ...|...2", "...|i->o => ...|o->i",
        "b|...->o => o|...->b", "...b|...i->...o => ...i|...o->...b", "...b|...i->...o => i|o->b",
        "...|...->...o => o", "i->...o => ...io", "...|i->...; ...|...->i => ...|i",
        "i->...;j->... => ...ij", "...|i->j => ...|ij", "... b | ... -> ... => b", "a..r..;..r..b=>ab",
        "a,b,..r.. => ..r..,b,a", "a, b, ..r.. => ..r.., b, a", "a, ..., b => a, ..., b", "a ... b, => a",
        "... => ..., k", "..r.. | ..r.. => ..r..", ".. r .. => ..r..", "..., => ...",
        "batch, ... | => batch",
    ]),
    ("specs of real programs", &[
        "...|..i.. -> ... => 0", "...|..i.. -> ..o.. => 0", " ... | t -> ... =>  ... | 0 -> ...",
        "...|v => ...|0", " ... s | h d; ... t | h d => ... s | t -> h",
        " ... s | t -> h; ... t | h e => ... s | h e", " ... | ..d..  => ... | 0 ",
        " ... | ... => ... |  0 ",
        "... | stride*oh+kh, stride*ow+kw, ..ic..; kh, kw, ..ic.. -> ..oc.. => ... | oh, ow, ..oc..",
        "... | stride*oh+kh, stride*ow+kw, ..ic..; kh, kw -> ..ic.. => ... | oh, ow, ..ic..",
        "... | h, w, ..ic..; ..ic.. -> ..oc.. => ... | h, w, ..oc..",
        "... | stride*oh< + wh, stride*ow< + ww, ..c..; wh, ww => ... | oh, ow, ..c..",
        "... | h, w, ..c.. => ... | 0, 0, ..c..", "..o.. | h, w, ..c.. => 0 | 0, 0, ..c..",
        "... | h, w, ..c.. => 0 | 0, 0, ..c..", "..o.. | ..c.. => 0 | ..c..", "i, f; j, f => i, j, f",
        "..g.. | i, f; ..g.. | j, f => ..g.. | i, j, f", "..g.. | v, u; ..g.. | u, f => ..g.. | v, f",
        "oh=+wh, ow=+ww; wh, ww => oh, ow", "stride*a+dilation*b,;b=>a,", "i, s*a+d*bc; b => i, a, c",
        "abc, => abc", "abc => abc,", "a, b, => b",
    ]),
    ("sums", &[
        "2*o+3*k; k => o", "o+k; k => o", "o<+k; k => o", "a, 2*b+c; c => a, b", "i, o+k, j; k => i, o, j",
        "a+bc; bc => a", "b, t | ch; 2*c => b, ch | t, c", "i, j -> 2*i+j => i", "batch|input->3*output+1*kernel, => batch|output",
        "2*output => output", "3*i => i", "input -> 2*output => input -> output",
        "regular, 3*strided => regular, strided", "o=+k; k => o", "2*o=+k; k => o", "o<+3*k; k => o",
        "2*o=+3*k; k => o", "2*o<+k; k => o", "i, j => i+3*j", "o+3 => o", "1*o+3 => o", "2*o+1 => o",
        "1+2*o => o", "2*o+1+k; k => o", "2*o=+1+3*k; k => o", "2*o=+3*k+1; k => o", "1 + 2*o< + k; k => o",
        "k+2*o=; k => o", "k+2*o==>k", "k+1+2*o<; k => o", "k+2*o; k => o", "1*o => o", "o+0 => o",
        "o+0+1*k; k => o", "s*o+1 => o", "2*o < + k | s*i -> d*j => k",
    ]),
    ("concatenations", &[
        "a; b => a^b", "i; j => i^j", "a; b; c => a^b^c", "a^b => a", "a^b => b", "a^b => a^b", "b^c => a",
        "a; b => a^c", "a; b => a^b^c", "3^a => a", "a => a^3", "3^a^5 => a", "1^i=>i", "_^a^_ => a",
        "a^a => a", "x, a ^ b, y | ..r.. => x, a, y", "a^b => a; b", "a|b^c->d => a|b->d; a|c->d",
    ]),
    ("composed axes", &[
        "b (h w) => b h w", "b(hw)=>bhw", "h w => (h w)", "b, (heads size) => b, heads, size", "b, (heads, size) => b, heads, size",
        "(heads size), => heads, size", "b (h 2) (w 2) c => b h w c", "b () d => b d", "b d => b () d", "i => (i 12 3)", "(h) => h",
        "b | ... => b | (...)", "..r.. => (..r..)", "b|(h d)->o => b|h->(d o)", "(h h) => h", "(a 2 ..r.. b), ..r.. => a",
        "a^b, (c d,) => a", "( h  w )=>h",
    ]),
    ("shapes of the parser tests", &[
        "a, b, c =>", "a, b, =>", "a, 2*b+c =>", "2*o+3*k, x =>", "2*a+b =>", "a*b =>", "a|b->c =>", "...|ij =>",
        "j... =>", "...|j...->i =>", "...|i->1 =>", "a => a^b",
    ]),
    ("empty rows", &[
        "=>", "i =>", "=> i", "i; => i", ";; => ", "| => |", "b|-> => b|", "-> => |->", "a, | => ->",
        "|i->o => i;",
    ]),
];

#[rustfmt::skip]
const SHAPES: &[(&str, &[&str])] = &[
    ("declarations", &[
        "32 | 784", "32 | 784 -> 10", "3:rgb", "28, 28, 3:rgb", "28 28 3 : rgb", "3:default", "batch | 784",
        "n=28 m = 28, c=3:rgb", "..., n", "32 | ... -> ..r.., 10,", "_, _ -> 5", "2->", "4|", "|->", "",
        "1", "q=1:q -> 1:p",
    ]),
];

/// Every text of the groups, and below it its canonical form.
fn printed(groups: &[(&str, &[&str])], print: fn(&str) -> String) -> String {
    let mut out = String::new();
    for (title, texts) in groups {
        out.push_str(&format!("# {title}\n\n"));
        texts.iter().for_each(|text| out.push_str(&format!("{text}\n    {}\n", print(text))));
        out.push('\n');
    }
    out
}

#[test]
fn specs_are_accepted() {
    expect_file!["accepted/specs.txt"].assert_eq(&printed(SPECS, |text| {
        let spec = parse_spec(text).unwrap_or_else(|error| panic!("{}", shown(&error, text)));
        let printed = spec.to_string();
        let again = parse_spec(&printed).unwrap_or_else(|error| panic!("{}", shown(&error, &printed)));
        let mode = if spec.mode == Mode::Single { "letters" } else { "words" };
        assert_eq!(again.without_spans(), spec.without_spans(), "{text} prints as {printed}");
        format!("{mode}: {printed}")
    }));
}

#[test]
fn declarations_are_accepted() {
    expect_file!["accepted/declarations.txt"].assert_eq(&printed(SHAPES, |text| {
        let decl = parse_shape(text).unwrap_or_else(|error| panic!("{}", shown(&error, text)));
        let printed = decl.to_string();
        let again = parse_shape(&printed).unwrap_or_else(|error| panic!("{}", shown(&error, &printed)));
        assert_eq!(again.without_spans(), decl.without_spans(), "{text} prints as {printed}");
        printed
    }));
}

#[test]
fn the_tree_says_what_is_written() {
    let text = "... | 2*oh=+1+d*kh, ..c..; kh => 3^oh, ..c..";
    let spec = parse_spec(text).unwrap();
    let [image, kernel] = &spec.operands[..] else { panic!("{spec}") };
    assert_eq!(image.batch.as_ref().unwrap().hole().unwrap().variable, RowVariable::Ellipsis);
    assert_eq!(image.input, None);
    assert_eq!(image.output.hole().unwrap().variable, RowVariable::Named(RowId(0)));
    assert_eq!(image.output.trail, []);
    let axis = &image.output.lead()[0];
    assert_eq!(axis.span.slice(text), "2*oh=+1+d*kh");
    let AxisKind::Affine(Affine { over, offset: 1, kernel: Some(window) }) = &axis.kind else {
        panic!("{axis:?}")
    };
    assert_eq!(over.coefficient, Coefficient::Literal(2.try_into().unwrap()));
    assert_eq!(window.term.coefficient, Coefficient::Named(CoefficientId(0)));
    assert_eq!(window.padding, Padding::Padded);
    assert_eq!((over.span.slice(text), window.term.span.slice(text)), ("2*oh", "d*kh"));
    assert_eq!(kernel.output.trail[0].kind, AxisKind::Label(window.term.label));
    assert_eq!(kernel.span.slice(text), "kh");
    let AxisKind::Concat(parts) = &spec.result().unwrap().output.lead()[0].kind else { panic!("{spec}") };
    let kinds: Vec<_> = parts.iter().map(|part| part.kind).collect();
    assert_eq!(kinds, [ComponentKind::Size(3.try_into().unwrap()), ComponentKind::Label(over.label)]);
    assert_eq!(parts[0].span.slice(text), "3");
    let names: Vec<&str> = spec.names.axes.iter().map(|(_, name)| &*name.text).collect();
    assert_eq!(names, ["oh", "kh"]);
    assert_eq!(image.span.slice(text), "... | 2*oh=+1+d*kh, ..c..");
    assert_eq!(image.output.span.slice(text), "2*oh=+1+d*kh, ..c..");
}

#[test]
fn omitted_and_empty_rows_differ() {
    let rows = |text: &str| {
        let shape = parse_spec(text).unwrap().operands.remove(0);
        Kind::ALL.map(|kind| shape.row(kind).map(|row| row.axes().count()))
    };
    assert_eq!(rows("o =>"), [None, None, Some(1)]);
    assert_eq!(rows("b|o =>"), [Some(1), None, Some(1)]);
    assert_eq!(rows("i->o =>"), [None, Some(1), Some(1)]);
    assert_eq!(rows("|ii-> =>"), [Some(0), Some(2), Some(0)]);
}

#[test]
fn axes_lead_only_before_a_hole() {
    let row = |text: &str| {
        let row = parse_spec(text).unwrap().operands.remove(0).output;
        (row.lead().len(), row.hole().is_some(), row.trail.len())
    };
    assert_eq!(row("abc =>"), (0, false, 3));
    assert_eq!(row("ab...c =>"), (2, true, 1));
    assert_eq!(row("...c =>"), (0, true, 1));
    assert_eq!(row("a, ... =>"), (1, true, 0));
}

#[test]
fn every_node_prints() {
    let spec = parse_spec("2*oh=+1+d*kh, ..c.. => 3^oh").unwrap();
    let row = &spec.operands[0].output;
    let AxisKind::Affine(affine) = &row.lead()[0].kind else { panic!("{spec}") };
    let kernel = affine.kernel.as_ref().unwrap();
    let AxisKind::Concat(parts) = &spec.results[0].output.trail[0].kind else { panic!("{spec}") };
    let printed = [
        spec.show(&spec.operands[0]).to_string(),
        spec.show(row).to_string(),
        spec.show(&row.hole().unwrap()).to_string(),
        spec.show(&row.lead()[0]).to_string(),
        spec.show(affine).to_string(),
        spec.show(&affine.over).to_string(),
        spec.show(kernel).to_string(),
        spec.show(&kernel.term.coefficient).to_string(),
        spec.show(&parts[0]).to_string(),
    ];
    let expected = [
        "2*oh=+1+d*kh, ..c..",
        "2*oh=+1+d*kh, ..c..",
        "..c..",
        "2*oh=+1+d*kh",
        "2*oh=+1+d*kh",
        "2*oh",
        "=+d*kh",
        "d",
        "3",
    ];
    assert_eq!(printed, expected);
    let decl = parse_shape("c=3:rgb").unwrap();
    let axis = decl.shape.output.trail[0];
    assert_eq!(decl.show(&axis.size.unwrap()).to_string(), "3:rgb");
}
