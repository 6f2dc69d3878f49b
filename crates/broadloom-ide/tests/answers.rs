//! Questions may be asked in any order, and repeatedly: they change nothing.

use broadloom_ide::{
    Analysis, GraphOf, Listing, LoopsOf, MemoryOf, Optimiser, Text, check, explain, graph, hints, hover,
    lint, loops, memory, optimised, shapes, whole,
};
use serde::Serialize;

const PROGRAM: &str = "\
dim batch in 1..64 = 32
data x : batch | 784
data target : batch | 10
def dense(size)(x) = relu({w} @ x + {b : size})
let y = x |> dense(64) |> linear(10)
let loss = mean(square(y - target))
repeat 10:
  minimise loss by sgd(0.1)
";

fn json(data: impl Serialize) -> String {
    serde_json::to_string(&data).expect("plain data")
}

/// Every answer, serialised.
fn all(analysis: &mut Analysis) -> Vec<String> {
    let training = MemoryOf { train: Some("loss".into()), optimiser: Optimiser::Adam, ..MemoryOf::default() };
    vec![
        json(check(analysis, Listing::All)),
        json(explain(analysis, "dense.w")),
        json(explain(analysis, "batch")),
        json(loops(analysis, &LoopsOf { all: true, as_data: true, ..LoopsOf::default() })),
        json(optimised(analysis)),
        json(graph(analysis, &GraphOf::default()).expect("a picture").arranged()),
        json(memory(analysis, &training)),
        json(memory(analysis, &MemoryOf { limit: Some(1 << 20), ..MemoryOf::default() })),
        json(whole(analysis)),
        json(shapes(analysis, Listing::Own)),
        json(hints(analysis)),
        json(hover(analysis, PROGRAM.find("y =").expect("a name") as u32)),
        format!("{:?}", lint(analysis)),
    ]
}

#[test]
fn looking_changes_nothing() {
    let mut analysis = Analysis::open(&Text::new("a.loom", PROGRAM));
    assert!(analysis.is_ok(), "{:?}", analysis.diagnostics());
    let first = all(&mut analysis);
    for (at, (first, again)) in first.iter().zip(all(&mut analysis)).enumerate() {
        assert_eq!(*first, again, "question {at}");
    }
}

/// A program with a mistake has answers, too: the correct parts are available all the same.
#[test]
fn mistakes_leave_the_rest() {
    let text = PROGRAM.replace("batch | 10", "batch | 12");
    let mut analysis = Analysis::new(&Text::new("a.loom", text));
    let checked = check(&mut analysis, Listing::Own);
    assert_eq!(checked.diagnostics.len(), 1);
    assert_eq!(checked.tensors[0].shape, "batch | 784");
    assert!(explain(&mut analysis, "nobody").expect("no complaint").explanations.is_empty());
    assert!(loops(&mut analysis, &LoopsOf::default()).expect("no complaint").operations.is_empty());
    assert!(graph(&mut analysis, &GraphOf::default()).expect("no complaint").boxes.is_empty());
    assert!(memory(&mut analysis, &MemoryOf::default()).expect("no complaint").memory.is_none());
    assert!(!hints(&mut analysis).is_empty());
}

#[test]
fn sizes_that_are_set() {
    let set = |size| Text { sizes: vec![("batch".into(), size)], ..Text::new("a.loom", PROGRAM) };
    let checked = check(&mut Analysis::new(&set(16)), Listing::Own);
    assert_eq!(checked.tensors[0].shape, "16 | 784");
    assert_eq!(
        memory(&mut Analysis::open(&set(65)), &MemoryOf::default()).expect("no complaint").diagnostics.len(),
        1
    );
}
