//! Laws that hold for every text: spans lie between characters, rendering works, nothing panics,
//! and an accepted text prints to a text that parses to the same tree. And, the other way round,
//! every tree that can be written comes back from its printing.

use broadloom_spec::*;
use broadloom_testing::Dice;
use proptest::prelude::*;

use crate::shown::shown;

/// Checks the laws that hold for any text, read as a spec and as a declaration.
fn check_laws(text: &str) {
    match parse_spec(text) {
        Ok(spec) => {
            let spans = spec
                .shapes()
                .flat_map(spans_of)
                .chain(spec.shapes().flat_map(Shape::axes).flat_map(axis_spans));
            spans.for_each(|span| check_span(span, text));
            let (mut last, mut ordered) = (0, true);
            for axis in spec.shapes().flat_map(Shape::axes) {
                ordered &= last <= axis.span.start && axis.span.start < axis.span.end;
                last = axis.span.end;
            }
            assert!(ordered, "{text:?}");
            let printed = spec.to_string();
            let again =
                parse_spec(&printed).unwrap_or_else(|e| panic!("{text:?} prints as {}", shown(&e, &printed)));
            assert_eq!(again.to_string(), printed, "{text:?}");
            assert_eq!(again.without_spans(), spec.without_spans(), "{text:?} prints as {printed:?}");
        }
        Err(error) => check_error(&error, text),
    }
    match parse_shape(text) {
        Ok(decl) => {
            spans_of(&decl.shape)
                .chain(decl.shape.axes().map(|axis| axis.span))
                .for_each(|span| check_span(span, text));
            let printed = decl.to_string();
            let again = parse_shape(&printed)
                .unwrap_or_else(|e| panic!("{text:?} prints as {}", shown(&e, &printed)));
            assert_eq!(again.without_spans(), decl.without_spans(), "{text:?} prints as {printed:?}");
        }
        Err(error) => check_error(&error, text),
    }
}

fn check_error(error: &Error, text: &str) {
    check_span(error.span, text);
    error.related.iter().for_each(|related| check_span(related.span, text));
    assert!(shown(error, text).contains('^'), "{text:?}");
    assert!(
        !error.message.is_empty() && !error.label.is_empty() && !error.found.is_empty(),
        "{text:?}: {error:?}"
    );
    assert!(!error.message.contains('\n'), "{text:?}: {error:?}");
}

fn check_span(span: Span, text: &str) {
    assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} in {text:?}");
}

fn spans_of<A>(shape: &Shape<A>) -> impl Iterator<Item = Span> {
    let rows = shape.rows().flat_map(|(_, row)| [Some(row.span), row.hole().map(|hole| hole.span)]);
    std::iter::once(shape.span).chain(rows.flatten())
}

fn axis_spans(axis: &Axis) -> Vec<Span> {
    let inner = match &axis.kind {
        AxisKind::Affine(affine) => {
            let kernel = affine.kernel.map(|kernel| kernel.term.span);
            std::iter::once(affine.over.span).chain(kernel).collect()
        }
        AxisKind::Concat(components) => components.iter().map(|component| component.span).collect(),
        AxisKind::Composed(parts) => parts.iter().map(|part| part.span).collect(),
        _ => vec![],
    };
    inner.into_iter().chain([axis.span]).collect()
}

#[test]
fn laws_hold_for_random_bytes() {
    let mut random = Dice::new(1);
    for _ in 0..100_000 {
        let bytes: Vec<u8> = (0..random.below(40)).map(|_| random.below(256) as u8).collect();
        check_laws(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn laws_hold_for_random_signs() {
    let signs: Vec<char> = "abcij012_.,;|->=>+*^=<:() \n&é名".chars().collect();
    let mut random = Dice::new(2);
    for _ in 0..200_000 {
        let text: String = (0..random.below(16)).map(|_| signs[random.below(signs.len())]).collect();
        check_laws(&text);
    }
}

#[test]
fn laws_hold_for_random_tokens() {
    #[rustfmt::skip]
    let tokens = [
        "a", "b", "i", "j", "oh", "kh", "s", "2", "10", "0", "_", "...", "..r..", "..ic..", ", ", ",", ",", "; ", "|", "->", " => ",
        "=>", "=>", "+", "*", "^", "=", "<", ":", " ", "2*o=+1+d*k", "a^3", "ij; jk => ik", "\n", "é", "(", "-1", "..r", "99999999999999999999", ")", "(h w)", "(2 ...)",
    ];
    let mut random = Dice::new(3);
    for _ in 0..200_000 {
        let text: String = (0..random.below(14)).map(|_| random.pick(&tokens)).collect();
        check_laws(&text);
    }
}

#[test]
fn laws_hold_for_mutated_specs() {
    let specs = [
        "b|h->o; b|i->h => b|i->o",
        "... | stride*oh=+1+kh, 2*ow<+3*kw, ..ic..; kh, kw, ..ic.. -> ..oc.. => ... | oh, ow, ..oc..",
        "a; _, 3; c => a^b^3, _",
        "..g.. | v,\n 0, u => é..g..2",
        "b, (h 2) | ..r.. => (b ..r..), h",
        "32 | n=28, 28, c=3:rgb -> ..., 10",
    ];
    let mut random = Dice::new(4);
    for round in 0..200_000 {
        let mut bytes = specs[round % specs.len()].as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            let (at, to) = (random.below(bytes.len()), random.below(bytes.len()));
            match random.below(5) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes[at] = bytes[to],
                2 => bytes.insert(at, b"|->=>;,.+*^<_:0a ()"[random.below(19)]),
                3 if bytes.len() > 8 => drop(bytes.drain(at..(at + 3).min(bytes.len() - 4).max(at))),
                _ => bytes.swap(at, to),
            }
        }
        check_laws(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn any_error_can_be_rendered_under_any_text() {
    let mut random = Dice::new(5);
    let errors: Vec<Error> = ["..r..a..s.. => a", "a..a.. => \n\n a", "ij,jk->ik", ""]
        .map(|text| parse_spec(text).unwrap_err())
        .into();
    for round in 0..50_000 {
        let pieces = ["a", "é", "名", "\n", "\r\n", "\r", "\t", "..........", "\u{301}"];
        let text: String = (0..random.below(30)).map(|_| random.pick(&pieces)).collect();
        let mut error = errors[round % errors.len()].clone();
        error.span = Span { start: random.below(60) as u32, end: random.below(60) as u32 };
        if let Some(related) = &mut error.related {
            related.span = Span { start: random.below(60) as u32, end: u32::MAX };
        }
        assert!(shown(&error, &text).contains('^'));
    }
}

/// A name, different for each kind, so that no name has two meanings.
fn name(names: [&'static str; 3], words: [&'static str; 3], multi: bool) -> BoxedStrategy<String> {
    let letters = prop::sample::select(names.to_vec()).prop_map(str::to_owned);
    let words = prop::sample::select(words.to_vec()).prop_map(str::to_owned);
    if multi { prop_oneof![letters, words].boxed() } else { letters.boxed() }
}

fn label(multi: bool) -> BoxedStrategy<String> {
    name(["i", "j", "é"], ["oh", "k_2", "batch"], multi)
}

fn hole(multi: bool) -> BoxedStrategy<String> {
    let row = name(["r", "s", "ρ"], ["ic", "oc", "row9"], multi);
    prop_oneof![Just("...".to_owned()), row.prop_map(|row| format!("..{row}.."))].boxed()
}

/// Two different labels with a sum around them, in any order.
fn sum() -> impl Strategy<Value = String> {
    let coefficient = || {
        prop_oneof![
            Just(String::new()),
            (1u64..).prop_map(|n| format!("{n} *")),
            Just("st*".into()),
            Just("d*".into())
        ]
    };
    let labels = prop::sample::select(vec![["i", "j"], ["oh", "kh"], ["batch", "i"]]);
    let marker = prop::sample::select(vec!["", "=", "<", " <"]);
    let shuffled = Just([0, 1, 2]).prop_shuffle();
    (
        labels,
        coefficient(),
        coefficient(),
        marker,
        any::<Option<u64>>(),
        any::<bool>(),
        any::<bool>(),
        shuffled,
    )
        .prop_map(|([over, kernel], stride, dilation, marker, offset, windowed, second, order)| {
            let (over_marker, kernel_marker) = if second { ("", marker) } else { (marker, "") };
            let over_marker = if windowed { over_marker } else { "" };
            let pieces = [
                Some(format!("{stride}{over}{over_marker}")),
                offset.map(|offset| offset.to_string()),
                windowed.then(|| format!("{dilation}{kernel}{kernel_marker}")),
            ];
            order.iter().filter_map(|&index| pieces[index].clone()).collect::<Vec<_>>().join(" + ")
        })
}

fn concat() -> impl Strategy<Value = String> {
    let part = prop_oneof![label(true), (1u64..).prop_map(|size| size.to_string()), Just("_".to_owned())];
    prop::collection::vec(part, 2..5).prop_map(|parts| parts.join(" ^"))
}

fn axis(multi: bool) -> BoxedStrategy<String> {
    let simple = prop_oneof![3 => label(multi), 1 => any::<u64>().prop_map(|index| index.to_string()), 1 => Just("_".to_owned())];
    match multi {
        true => prop_oneof![3 => simple, 1 => sum(), 1 => concat(), 1 => composed(true)].boxed(),
        false => prop_oneof![4 => simple, 1 => composed(false)].boxed(),
    }
}

/// A composed axis, whose parts only blanks separate, or commas where names are words.
fn composed(multi: bool) -> BoxedStrategy<String> {
    let part =
        prop_oneof![3 => label(multi), 1 => (1u64..9).prop_map(|size| size.to_string()), 1 => hole(multi)];
    let separator = prop::sample::select(if multi { vec![" ", ", ", " ,"] } else { vec![" ", "  "] });
    let parts = prop::collection::vec(part, 0..4);
    (parts, separator).prop_map(|(parts, separator)| format!("({})", parts.join(separator))).boxed()
}

fn row(
    axis: BoxedStrategy<String>,
    hole: BoxedStrategy<String>,
    separator: &'static str,
) -> BoxedStrategy<String> {
    let axes = || prop::collection::vec(axis.clone(), 0..4);
    (axes(), prop::option::of(hole), axes())
        .prop_map(move |(lead, hole, trail)| {
            lead.into_iter().chain(hole).chain(trail).collect::<Vec<_>>().join(separator)
        })
        .boxed()
}

fn shape(row: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let part =
        |sign| prop::option::of(row.clone()).prop_map(move |row| row.map_or(String::new(), |row| row + sign));
    (part("| "), part(" ->"), row.clone()).prop_map(|(batch, input, output)| batch + &input + &output)
}

fn spec(multi: bool) -> impl Strategy<Value = String> {
    let row = row(axis(multi), hole(multi), if multi { " , " } else { " " });
    let shapes = move || prop::collection::vec(shape(row.clone()), 1..4).prop_map(|shapes| shapes.join(";"));
    (shapes(), shapes()).prop_map(|(operands, results)| format!("{operands} =>{results}"))
}

fn declaration() -> impl Strategy<Value = String> {
    let basis = prop::sample::select(vec!["", ":rgb", " : default", ":batch"]);
    let size = (1u64.., basis).prop_map(|(size, basis)| format!("{size}{basis}"));
    let axis = prop_oneof![
        Just("_".to_owned()),
        label(true),
        size.clone(),
        (label(true), size).prop_map(|(name, size)| format!("{name} = {size}")),
    ];
    shape(row(axis.boxed(), hole(true), ", "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn specs_of_letters_survive_printing(text in spec(false)) {
        let spec = parse_spec(&text);
        prop_assert!(spec.is_ok(), "{}", shown(&spec.unwrap_err(), &text));
        prop_assert_eq!(spec.unwrap().mode, Mode::Single);
        check_laws(&text);
    }

    #[test]
    fn specs_of_words_survive_printing(text in spec(true)) {
        // Without a comma or another sign the words would be letters.
        let text = if Mode::of(&text) == Mode::Single { format!("{text};i+j") } else { text };
        // A word whose letters could be axes side by side is refused; with another sign in it, it is a label.
        let text = match parse_spec(&text) {
            Err(error) if error.kind == ErrorKind::LettersRunTogether => {
                let word = error.span.slice(&text);
                text.replace(word, &format!("{word}_"))
            }
            _ => text,
        };
        let spec = parse_spec(&text);
        prop_assert!(spec.is_ok(), "{}", shown(&spec.unwrap_err(), &text));
        check_laws(&text);
    }

    #[test]
    fn declarations_survive_printing(text in declaration()) {
        let decl = parse_shape(&text);
        prop_assert!(decl.is_ok(), "{}", shown(&decl.unwrap_err(), &text));
        check_laws(&text);
    }
}
