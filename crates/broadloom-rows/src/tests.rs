//! Laws that hold for every text: the tree matches the text, printing and parsing undo each other,
//! spans lie between characters, and nothing panics.

use broadloom_diagnostics::{Sources, Style, decode, render_all};
use broadloom_testing::Dice;

use super::*;
use proptest::prelude::*;

#[test]
fn the_tree_says_what_is_written() {
    let text = "param w\r\n\r\n[w, ..r.., 3:rgb, _] <= [4]  # why\r\nbroken\r\nw = 3:default";
    let Parsed { system, diagnostics, .. } = parse(text);
    assert_eq!(diagnostics.len(), 1);
    let constraints: Vec<_> = system.constraints().collect();
    let (3, Constraint::RowLe { result, operand }) = constraints[0] else {
        panic!("{:?}", constraints[0]);
    };
    let kinds = |dims: &[Dim]| dims.iter().map(|dim| dim.kind).collect::<Vec<_>>();
    let rgb = BasisId(1);
    assert_eq!(kinds(system.leading(result)), [DimKind::Var(NameId(0))]);
    assert_eq!(result.hole.kind, HoleKind::Var(NameId(1)));
    assert_eq!(kinds(system.trailing(result)), [DimKind::Atom { size: 3, basis: rgb }, DimKind::Unit]);
    assert_eq!(operand.hole.kind, HoleKind::Marker);
    assert_eq!(system.trailing(result)[0].span.slice(text), "3:rgb");
    assert_eq!(operand.span.slice(text), "[4]");
    assert_eq!(constraints[1].0, 5);
    assert_eq!(system.names.text(NameId(1)), "r");
    assert_eq!(system.names.get(NameId(0)).tag, Some(Tag::Param));
    assert_eq!(system.names.get(NameId(1)).kind, NameKind::Row);
    assert_eq!((system.names.find("broken"), system.names.len()), (None, 2));
    assert_eq!((system.bases.text(rgb), system.bases.len()), ("rgb", 2));
}

/// Checks the laws for a text: spans lie between characters, rendering works, and a parsed system
/// prints to a text that parses to the same system.
fn check_laws(text: &str) {
    let Parsed { mut system, diagnostics, suppressed } = parse(text);
    let on_characters = |span: Span| text.get(span.start as usize..span.end as usize).is_some();
    let labels = diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels).map(|label| label.span);
    let statements = system.statements.iter().map(|statement| statement.span);
    let rows = system.constraints().flat_map(|(_, constraint)| match constraint {
        Constraint::RowEq { left: a, right: b } | Constraint::RowLe { result: a, operand: b } => vec![a, b],
        _ => vec![],
    });
    let dims = rows.flat_map(|row| system.leading(row).iter().chain(system.trailing(row)));
    let spans = labels.chain(statements).chain(dims.map(|dim| dim.span));
    assert!(spans.into_iter().all(on_characters), "{text:?}");
    if !diagnostics.is_empty() {
        let style =
            Style { color: text.len().is_multiple_of(2), width: 20 + text.len() % 50, ..Style::default() };
        render_all(&Sources::one("x.rows", text), &diagnostics, suppressed, style);
    }
    let printed = system.to_string();
    let mut again = parse(&printed);
    assert!(again.is_ok(), "{text:?} prints as {printed:?}: {:?}", again.diagnostics);
    again.system.erase_spans();
    system.erase_spans();
    assert_eq!(again.system, system, "{text:?} prints as {printed:?}");
}

#[test]
fn laws_hold_for_random_bytes() {
    let mut random = Dice::new(1);
    for _ in 0..100_000 {
        let bytes: Vec<u8> = (0..random.below(60)).map(|_| random.below(256) as u8).collect();
        if let Err(error) = decode(bytes.clone()) {
            assert!(error.offset < bytes.len() && !error.render("x.rows").is_empty());
        }
        check_laws(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn laws_hold_for_random_tokens() {
    #[rustfmt::skip]
    let tokens = [
        "a", "b", "leaf", "param", "ä'", "..r..", "..s..", "..a..", "..", ".", "...", "_", "[", "]", "[", "]", ",", ",",
        ", ", ":", "=", "<=", "~", "<>", "⊑", "≈", "◇", "3", "1", "0", "99999999999999999999", "\n", "\n", "\r\n", "\r",
        "#", "==", ">=", "<", "?", "∅", "é", "\u{301}", "名", "\t", " ", "[..r..] ~ [3]\n", "a = 3\n", "leaf a, ..r..\n",
        "[a, <>, 4:x] <= [..s.., _]\n", "\u{feff}", "\u{202e}", "-", ">", "'",
    ];
    let mut random = Dice::new(2);
    for _ in 0..200_000 {
        let text: String = (0..random.below(24)).map(|_| random.pick(&tokens)).collect();
        check_laws(&text);
    }
}

#[test]
fn laws_hold_for_mutated_programs() {
    let programs = [
        "leaf a, ..r..\nparam w\na = 3\n3 <= a\n[..r.., 4] ~ [3, 5, 4]\n[..r..] <= [3, <>, 4]\n",
        "# é\r\n[a:, b] ~ [3:rgb,]\r\nleaf = 3:default\r\n[◇, _, ä'] ⊑ [x_1, ..ρ..]",
    ];
    let mut random = Dice::new(3);
    for round in 0..100_000 {
        let mut bytes = programs[round % 2].as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            let (at, to) = (random.below(bytes.len()), random.below(bytes.len()));
            match random.below(5) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes[at] = bytes[to],
                2 => bytes.insert(at, b"[].,<>=~:#_'\n\r0a "[random.below(17)]),
                3 if bytes.len() > 8 => drop(bytes.drain(at..(at + 3).min(bytes.len() - 4).max(at))),
                _ => bytes.swap(at, to),
            }
        }
        check_laws(&String::from_utf8_lossy(&bytes));
    }
}

fn dim() -> impl Strategy<Value = String> {
    let basis = prop::sample::select(vec!["", ":rgb", ":default", " : leaf"]);
    prop_oneof![
        Just("_".to_owned()),
        (1u64.., basis).prop_map(|(size, basis)| format!("{size}{basis}")),
        prop::sample::select(vec!["a", "b", "leaf", "param", "ä'", "x_1"]).prop_map(str::to_owned),
    ]
}

fn row() -> impl Strategy<Value = String> {
    let hole = prop::sample::select(vec!["", "<>", "◇", "..r..", "..s..", "..ρ.."]);
    let flank = || prop::collection::vec(dim(), 0..4);
    (flank(), hole, flank(), any::<bool>()).prop_map(|(leading, hole, trailing, comma)| {
        let hole = Some(hole.to_owned()).filter(|hole| !hole.is_empty());
        let items: Vec<String> = leading.into_iter().chain(hole).chain(trailing).collect();
        let comma = if comma && !items.is_empty() { " ," } else { "" };
        format!("[{}{comma}]", items.join(", "))
    })
}

fn statement() -> impl Strategy<Value = String> {
    let row_operator = prop::sample::select(vec!["~", "<=", " ≈ ", "\t⊑ "]);
    let dim_operator = prop::sample::select(vec!["=", " = ", "<=", " ⊑"]);
    let tags = vec!["leaf a, ..r..", "leaf leaf", "param b,..s..,", "param x_1", "", "# é"];
    prop_oneof![
        (dim(), dim_operator, dim()).prop_map(|(left, operator, right)| left + operator + &right),
        (row(), row_operator, row()).prop_map(|(left, operator, right)| left + operator + &right),
        prop::sample::select(tags).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn valid_programs_survive_printing(statements in prop::collection::vec(statement(), 0..12), crlf: bool) {
        let text = statements.join(if crlf { " # c\r\n" } else { "\n" });
        let parsed = parse(&text);
        prop_assert!(parsed.is_ok(), "{}: {:?}", text, parsed.diagnostics);
        let written = statements.iter().filter(|line| !line.is_empty() && !line.starts_with('#'));
        prop_assert_eq!(parsed.system.statements.len(), written.count());
        check_laws(&text);
    }
}
