//! [`infer`]: from text to shapes, without what needs loops; and the counters of that work.

use broadloom_lang::{Options, Program, compile, infer};

const BLOCK: &str = r#"data x : 2, 16 | 64
def norm(epsilon = 0.001)(x : ..b.. | ..s.., c) : ..b.. | ..s.., c =
  let centred = x - mean("... | ..d..", x)
  {gain : ...} * (centred / sqrt(mean("... | ..d..", centred * centred) + epsilon))
def block(hidden)(x) =
  let up = relu({up : ... -> hidden} @ norm()(x) + {bias : hidden})
  x + {down : ... -> 64} @ up
"#;

/// The final shape of every tensor with a name, and the messages.
fn told(program: &mut Program) -> Vec<String> {
    let made = program.made.clone();
    let mut told: Vec<String> = program.diagnostics.iter().map(|each| each.message.clone()).collect();
    for each in made {
        let shape = program.graph.final_shape(each.tensor).map(|shape| shape.to_string());
        told.push(format!("{} : {}", each.name, shape.unwrap_or_default()));
    }
    told
}

#[test]
fn shapes_are_those_of_a_check() {
    let text = format!("{BLOCK}let y = x |> [block(128) for i in 0..3]\n");
    let (mut inferred, mut checked) =
        (infer("a.loom", &text, &Options::default()), compile("a.loom", &text, &Options::default()));
    assert!(inferred.is_ok() && checked.is_ok());
    assert_eq!(told(&mut inferred), told(&mut checked));
}

#[test]
fn what_needs_loops_is_left_to_a_check() {
    // A gradient of many numbers is refused by the rehearsal of a run.
    let text = "data x : 3\nlet y = {w : 3} * x\nbackward y\n";
    assert!(infer("a.loom", text, &Options::default()).is_ok());
    assert!(!compile("a.loom", text, &Options::default()).is_ok());
}

#[test]
fn sizes_that_do_not_fit_are_found() {
    let text = format!("{BLOCK}let y = x |> block(128)\nlet z = y + {{p : 7}}\n");
    assert!(!infer("a.loom", &text, &Options::default()).is_ok());
}

#[test]
fn work_is_counted_and_linear() {
    let counts = |blocks: usize| {
        let text = format!("{BLOCK}let y = x |> [block(128) for i in 0..{blocks}]\n");
        let program = infer("a.loom", &text, &Options::default());
        (program.walked, program.replayed, program.graph.stats().constraints)
    };
    let [(two, none, few), (four, some, more), (six, most, many)] = [2, 4, 6].map(counts);
    // Each block applies itself and its norm. Two are walked, and the others are instances.
    assert_eq!([two, four, six], [4, 4, 4]);
    assert_eq!([none, some, most], [0, 4, 8]);
    assert_eq!(many - more, more - few);
}
