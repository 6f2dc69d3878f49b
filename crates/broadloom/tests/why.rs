//! Explanations of the sizes of axes: the chains of some programs, and properties of every chain.

use crate::support;

use broadloom::{
    Axis, ClosingRule, Completion, Error, Graph, How, Kind, MessageLine, Routine, SliceIndex, StepId, Tensor,
    Why, WhySize,
};
use support::case::cases;
use support::run::Run;

/// The lines of an explanation, each with its step.
fn lines(why: &Why) -> Vec<String> {
    let line = |part: &MessageLine| match part.step {
        Some(step) => format!("{}: {part}", step.index()),
        None => part.to_string(),
    };
    why.parts.iter().map(line).collect()
}

/// A layer of which only the bias is declared.
fn layer() -> Result<(Graph, [Tensor; 5]), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "32 | 784")?; // 0
    let (w, b) = (g.param("w"), g.param_shaped("b", "64")?); // 1, 2
    let product = g.compose(w, x)?; // 3
    let sum = g.add(product, b)?; // 4
    let hidden = g.relu(sum)?; // 5
    g.name(hidden, "hidden");
    Ok((g, [x, w, b, product, hidden]))
}

#[test]
fn declared_and_forced() -> Result<(), Error> {
    let (mut g, [x, w, _, _, hidden]) = layer()?;
    let why = g.why(x, Kind::Batch, 0)?;
    assert_eq!((why.size.to_string().as_str(), why.forced), ("32", true));
    assert_eq!(lines(&why), ["0: the batch axis of `x`, declared `32 | 784`"]);
    assert_eq!(why.parts[0].short.as_deref(), Some("32"));

    let why = g.why(hidden, Kind::Output, 0)?;
    assert_eq!((why.size.to_string().as_str(), why.forced), ("64", true));
    let chain = [
        "2: the output axis of `b`, declared `64`",
        "4: `(w @ x) + b`: the output of `b` goes into its output",
        "5: `hidden`: the output of `(w @ x) + b` becomes its output",
    ];
    assert_eq!(lines(&why), chain);
    assert_eq!(why.parts[1].short.as_deref(), Some("the output of `b` goes into its output"));

    let why = g.why(w, Kind::Input, 0)?;
    assert!(why.forced);
    assert_eq!(lines(&why)[1], "3: `w @ x`: contracts the input of `w` with the output of `x`");
    Ok(())
}

#[test]
fn taken_by_a_parameter() -> Result<(), Error> {
    let (mut g, [_, w, _, product, _]) = layer()?;
    let chain = [
        "2: the output axis of `b`, declared `64`",
        "4: `(w @ x) + b`: the output of `b` goes into its output; the output of `w @ x` goes into its output",
        "3: `w @ x`: the output of `w` becomes its output",
        "1: closing: `w` takes the size of what it is used with",
    ];
    let why = g.why(w, Kind::Output, 0)?;
    assert_eq!((why.size.to_string().as_str(), why.forced), ("64", false));
    assert_eq!(lines(&why), chain);
    assert_eq!(why.parts[3].rule, Some(ClosingRule::Leaf));
    // Tensors computed from it have their size by the same choice.
    let why = g.why(product, Kind::Output, 0)?;
    assert!(!why.forced);
    assert_eq!(lines(&why), chain);
    // So does its gradient.
    let gradient = g.gradient(w)?;
    let why = g.why(gradient, Kind::Output, 0)?;
    assert_eq!(lines(&why).last().map(String::as_str), Some("6: `w.grad` has the shape of `w`"));
    let why = g.why_axes(w, Kind::Output)?;
    assert_eq!((why.size.to_string().as_str(), why.forced), ("1", false));
    assert_eq!(lines(&why)[0], "2: the output of `b` has 1 axis, declared `64`");
    assert_eq!(lines(&why)[3], "1: closing: `w` takes the axes of what it is used with");
    Ok(())
}

#[test]
fn the_nearest_reason_counts() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "8 | 5")?;
    let mut y = x;
    for layer in 0..50 {
        let w = g.param_shaped(&format!("w{layer}"), "n -> n")?;
        let product = g.compose(w, y)?;
        y = g.add(y, product)?;
    }
    let near = g.data("near", "5")?;
    let last = g.add(y, near)?;
    let why = g.why(last, Kind::Output, 0)?;
    assert_eq!(why.parts.len(), 2);
    assert_eq!(why.parts[0].step, g.step_of(near));
    assert_eq!(why.parts[1].step, g.step_of(last));
    // The batch comes from the beginning, sum by sum.
    let why = g.why(last, Kind::Batch, 0)?;
    assert_eq!(why.parts.len(), 52);
    assert_eq!(why.parts[0].step.map(StepId::index), Some(0));
    Ok(())
}

#[test]
fn windows_and_parts() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "... | 28, 3")?; // 0
    let kernel = g.param("kernel"); // 1
    let y = g.einsum("... | 2*o<+k, i; k, i -> c => ... | o, c", &[x, kernel])?; // 2
    g.name(y, "y");
    let k = g.captured(y, "k")?;
    g.set(k, 4)?; // 3
    let why = g.why(y, Kind::Output, 0)?;
    assert_eq!((why.size.to_string().as_str(), why.forced), ("13", true));
    let chain = [
        "3: `k` of `y` set to 4",
        "0: output axis 1 of `x`, declared `... | 28, 3`",
        "2: `y`: the output of `x` is `2*o<+k, i`; axis `2*o<+k` is 28 with o = 13, k = 4",
    ];
    assert_eq!(lines(&why), chain);
    assert_eq!(why.parts[0].short.as_deref(), Some("4"));
    let (a, b) = (g.data("a", "6")?, g.data("b", "5")?);
    let both = g.einsum("i; j => i^j", &[a, b])?;
    let why = g.why(both, Kind::Output, 0)?;
    let steps: Vec<_> = why.parts.iter().map(|part| part.step).collect();
    assert_eq!(steps, [a, both, b, both].map(|tensor| g.step_of(tensor)), "{why:?}");
    Ok(())
}

#[test]
fn rows_that_are_passed_on() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "32, 8 | 3")?; // 0
    let each = g.slice(x, SliceIndex::Run { range: None })?; // 1
    g.name(each, "each");
    let sum = g.einsum("... | i => ... | 0", &[each])?; // 2
    g.name(sum, "sum");
    let y = g.exp(sum)?; // 3
    g.name(y, "y");
    let why = g.why(each, Kind::Output, 0)?;
    let chain = [
        "0: the output axis of `x`, declared `32, 8 | 3`",
        "1: `each`: the output of `x` becomes its output",
    ];
    assert_eq!(lines(&why), chain);
    let why = g.why(y, Kind::Batch, 0)?;
    let chain = [
        "0: batch axis 2 of `x`, declared `32, 8 | 3`",
        "1: `each`: takes the first batch axis of `x`",
        "2: `sum`: the batch of `each` becomes its batch",
        "3: `y`: the batch of `sum` becomes its batch",
    ];
    assert_eq!(lines(&why), chain);
    Ok(())
}

#[test]
fn what_nothing_says() -> Result<(), Error> {
    let mut g = Graph::new();
    let (a, b, c) = (g.data("a", "2, 3")?, g.data("b", "4, 3")?, g.constant(1.0));
    g.add(a, c)?;
    g.add(b, c)?;
    let why = g.why(c, Kind::Output, 0)?;
    assert_eq!((why.size.to_string().as_str(), why.forced), ("_", false));
    let shorts: Vec<_> = why.parts.iter().filter_map(|part| part.short.as_deref()).collect();
    assert!(shorts.contains(&"2") && shorts.contains(&"4"), "{why:?}");
    let last = why.parts.last().map(|part| part.text.as_str());
    assert_eq!(last, Some("sizes that differ leave only one element, which broadcasts"));
    let total = g.einsum("i j => 0", &[a])?;
    let why = g.why(total, Kind::Output, 0)?;
    assert_eq!((why.size.to_string().as_str(), why.forced), ("_", false));
    assert_eq!(why.parts[0].rule, Some(ClosingRule::Interior));
    let why = g.why_axes(c, Kind::Batch)?;
    assert_eq!(why.size, WhySize::Rank(0));
    assert_eq!(why.parts[0].text, "`a + 1`: has no batch axes");
    let error = g.why(a, Kind::Output, 2).expect_err("there are two");
    assert_eq!(error.message(), "`a` has no output axis 2: its output has 2 axes");
    Ok(())
}

#[test]
fn assigned_to() -> Result<(), Error> {
    let mut g = Graph::new();
    let (x, s) = (g.data("x", "2, 3")?, g.state("s"));
    let mut routine = Routine::new("sum");
    routine.assign(&mut g, "s =+ x", &[("s", s), ("x", x)])?;
    let why = g.why(s, Kind::Output, 1)?;
    assert_eq!(lines(&why)[0], "0: output axis 2 of `x`, declared `2, 3`");
    assert_eq!(why.parts[1].step.map(StepId::index), Some(2));
    Ok(())
}

#[test]
fn how_shapes_are_known() -> Result<(), Error> {
    let (mut g, [x, w, b, product, _]) = layer()?;
    let chosen = How::Chosen;
    assert_eq!(g.how_known(x)?, How::Declared);
    assert_eq!(g.how_known(b)?, How::Declared);
    assert_eq!(g.how_known(w)?, chosen(Completion::Use));
    assert_eq!(g.how_known(product)?, chosen(Completion::Operands));
    let gradient = g.gradient(w)?;
    assert_eq!(g.how_known(gradient)?, chosen(Completion::Gradient));
    let array = g.data_with_axes("array", "... | 3", &[2, 3])?;
    assert_eq!(g.how_known(array)?, How::Declared);
    let number = g.number(2.0);
    assert_eq!(g.how_known(number)?, How::Declared);
    let counted = g.data_with_count("counted", "...", 6)?;
    assert_eq!(g.how_known(counted)?, chosen(Completion::FewestAxes));
    let rows = g.einsum("i | j => i j", &[x])?;
    assert_eq!(g.how_known(rows)?, How::Forced);
    let lonely = g.constant(1.0);
    assert_eq!(g.how_known(lonely)?, chosen(Completion::NoAxes));
    let twice = g.add(rows, rows)?;
    assert_eq!(g.how_known(twice)?, How::Forced);
    let all = g.how_all()?;
    let one_by_one: Vec<How> = g.tensors().map(|tensor| g.how_known(tensor)).collect::<Result<_, _>>()?;
    assert_eq!(all, one_by_one);
    Ok(())
}

/// Returns true if a chain begins with the size that it explains.
fn begins_with_its_size(why: &Why) -> bool {
    let size = match &why.size {
        WhySize::Axis(axis) if **axis == Axis::Unit => "1:unit".to_string(),
        size => size.to_string(),
    };
    why.parts.first().is_some_and(|part| part.short.as_ref() == Some(&size))
}

#[test]
fn every_axis_of_every_program() -> Result<(), String> {
    let (mut axes, mut direct) = (0, 0);
    for case in cases("shapes") {
        let Ok(mut run) = Run::of(&case.read()?) else { return Err(case.name()) };
        let g = &mut run.graph;
        let text = |error: Error| format!("{}: {error}", case.name());
        let shapes = g.final_shapes().map_err(text)?;
        let how = g.how_all().map_err(text)?;
        for tensor in g.tensors() {
            let mut all_forced = true;
            for kind in Kind::ALL {
                let row = shapes.get(tensor).row(kind).to_vec();
                let about = |what: &str| format!("{}: {what} of `{}`", case.name(), g.label_of(tensor));
                let (number, place) = (about("the number of axes"), about("an axis"));
                let why = g.why_axes(tensor, kind).map_err(text)?;
                assert_eq!(why.size, WhySize::Rank(row.len() as u32), "{number}");
                assert!(!why.parts.is_empty(), "{number}");
                all_forced &= why.forced;
                for (at, axis) in row.iter().enumerate() {
                    let why = g.why(tensor, kind, at).map_err(text)?;
                    assert_eq!(why.size, WhySize::Axis(Box::new(axis.clone())), "{place}");
                    assert!(!why.parts.is_empty(), "{place}");
                    let steps = why.parts.iter().filter_map(|part| part.step);
                    assert!(steps.max().is_none_or(|step| step.index() < g.steps()), "{place}");
                    // A choice is mentioned if and only if there was one.
                    let chosen = why.parts.iter().any(|part| part.rule.is_some());
                    assert_eq!(chosen, !why.forced, "{place}: {why:?}");
                    all_forced &= why.forced;
                    axes += 1;
                    direct += usize::from(begins_with_its_size(&why));
                }
            }
            assert_eq!(!matches!(how[tensor.index()], How::Chosen(_)), all_forced, "{}", case.name());
        }
    }
    // The others are computed, or undetermined.
    assert!(axes > 1500 && direct * 10 > axes * 8, "{direct} of {axes}");
    Ok(())
}
