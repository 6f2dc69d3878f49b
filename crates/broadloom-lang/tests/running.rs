//! Running programs from Rust: notices, sizes and errors.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::Command;

use broadloom::{Array, GivenValues, Settings};
use broadloom_lang::{Observer, Options, Program, Repeated, RunControl, RunOptions, compile};

fn read(text: &str, sizes: &[(&str, u64)]) -> Program {
    let sizes = sizes.iter().map(|(name, size)| (name.to_string(), *size)).collect();
    compile("test.loom", text, &Options { sizes, ..Options::default() })
}

#[derive(Default)]
struct Watcher {
    told: Vec<String>,
}

impl Observer for Watcher {
    fn printed(&mut self, line: &str) {
        self.told.push(line.to_string());
    }

    fn notice(&mut self, text: &str) {
        self.told.push(format!("note: {text}"));
    }
}

/// The notice about how a routine is compiled comes when it first runs, and only once.
#[test]
fn notices_are_told_when_there_is_something_to_tell() {
    // Without a compiler there are no such notices.
    if Command::new("cc").arg("--version").output().is_err() {
        return;
    }
    let text = "
dim s in 1..64 = 5
data x : 9 = ones
data k : s = ones
let e = einsum(\"o=+k; k => o\", x, k)
repeat 3:
  print sum(e)
";
    let mut watcher = Watcher::default();
    read(text, &[]).run(&RunOptions::default(), &mut watcher).unwrap();
    let notices = watcher.told.iter().filter(|line| line.starts_with("note: "));
    let notices: Vec<&String> = notices.filter(|line| line.contains("for each size by itself")).collect();
    assert_eq!(notices.len(), 1, "{:?}", watcher.told);
}

/// Checking sizes leaves the program unchanged.
#[test]
fn checking_sizes_changes_nothing() {
    let text = "dim n in 1..64 = 32\ndata x : n | 3 = ones\nlet y = x[5]\n";
    for size in [8, 3] {
        let mut program = read(text, &[("n", size)]);
        let before = (program.graph.steps(), program.origins.clone(), program.dims.clone());
        assert_eq!(program.check_sizes().is_some(), size == 3);
        assert!(program.is_ok());
        assert_eq!((program.graph.steps(), program.origins.clone(), program.dims.clone()), before);
        assert_eq!(program.origins.len(), program.graph.steps());
    }
}

/// A file of parameters that does not fit is reported
/// at the parameter; an unreadable one without a place.
#[test]
fn files_of_parameters_are_told_at_the_parameter() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("parameters.safetensors");
    let settings = broadloom::Settings { backend: broadloom::Backend::Reference, ..Default::default() };
    let options = RunOptions { settings, ..RunOptions::default() };
    let saved = "data x : 3 = ones\nlet y = sum({w : 3 = ones} * x)\nprint y\n";
    let save = RunOptions { save: Some(file.clone()), ..options.clone() };
    read(saved, &[]).run(&save, &mut Watcher::default()).unwrap();
    let load = |text: &str, file: &std::path::Path| {
        let program = read(text, &[]);
        let sources = program.sources.clone();
        let options = RunOptions { load: Some(file.to_path_buf()), ..options.clone() };
        let wrong = program.run(&options, &mut Watcher::default()).err().unwrap();
        broadloom_diagnostics::render(&sources, &wrong, Default::default())
    };
    let told = load("data x : 3 = ones\nlet y = sum({v : 3 = ones} * x)\nprint y\n", &file);
    let wanted = [
        "parameters.safetensors: there is no parameter `v` in it",
        " --> test.loom:2:13",
        "`v` is declared `3`",
        "it has w",
        "help: load a file that was saved with these parameters",
    ];
    assert!(wanted.iter().all(|piece| told.contains(piece)), "{told}");
    let told = load("data x : 4 = ones\nlet y = sum({w : 4 = ones} * x)\nprint y\n", &file);
    let wanted = ["the values for `w` have sizes [3]", " --> test.loom:2:13", "`w` is declared `4`"];
    assert!(wanted.iter().all(|piece| told.contains(piece)), "{told}");
    let wider = "data x : 4 | 5 = ones\nlet model = mlp([6], 2)\nlet y = sum(model(x))\nprint y\n";
    read(wider, &[]).run(&save, &mut Watcher::default()).unwrap();
    let told = load(&wider.replace("[6]", "[3]"), &file);
    let wanted = [
        " --> test.loom:2:13",
        "let model = mlp([3], 2)",
        "help: the file has 6 where the program has 3: write 6 there, or load a file that this program has saved",
        "help: the shapes of `model.layers.0.bias`, `model.last.weight` are others in the file, too",
    ];
    assert!(wanted.iter().all(|piece| told.contains(piece)), "{told}");
    let told = load(saved, std::path::Path::new("nowhere.safetensors"));
    assert!(told.contains("nowhere.safetensors") && !told.contains("test.loom"), "{told}");
}

/// Programs go to other threads, and so do programs that run.
#[test]
fn other_threads() {
    fn goes<T: Send>() {}
    goes::<broadloom_lang::Program>();
    goes::<broadloom_lang::Ready>();
}

fn ready(text: &str) -> broadloom_lang::Ready {
    let program = compile("test.loom", text, &Options::default());
    assert!(program.is_ok(), "{:?}", program.diagnostics);
    program.ready(&Settings::default()).unwrap_or_else(|wrong| panic!("{}", wrong.message))
}

#[test]
fn what_can_be_computed_depends_on_what_is_given() {
    let mut ready = ready("data x : 2\ndata t : 2\nlet y = 2 * x\nlet loss = sum(y - t)\n");
    let x = Array::from_slice(&[2], &[1.0f32, 2.0]).unwrap();
    assert!(ready.available().tensors.is_empty());
    ready.give(&[("x", GivenValues::Copied(&x))]).unwrap();
    let available = ready.available();
    let names: Vec<&str> = available.tensors.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["y"]);
    assert_eq!(available.left_out, [("loss".to_string(), Some("t".to_string()))]);
    ready.compute(&available.routine).unwrap();
    assert_eq!(ready.session.get(available.tensors[0].1).unwrap().to_f64s(), [2.0, 4.0]);
    // What is not given again is not there any more.
    ready.give(&[("t", GivenValues::Copied(&x))]).unwrap();
    assert!(ready.available().tensors.is_empty());
}

#[test]
fn every_name_of_a_tensor_is_available() {
    let mut ready = ready("data x : 2\ndata t : 2\nlet y = 2 * x\nlet z = x\nlet a = y\nlet c = t\n");
    let x = Array::from_slice(&[2], &[1.0f32, 2.0]).unwrap();
    ready.give(&[("x", GivenValues::Copied(&x))]).unwrap();
    let available = ready.available();
    let names: Vec<&str> = available.tensors.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["y", "z", "a"]);
    assert_eq!(available.tensors[0].1, available.tensors[2].1);
    assert_eq!(available.left_out, [("c".to_string(), Some("t".to_string()))]);
}

/// A name may be bound again, and still names the data.
#[test]
fn data_is_given_values_though_its_name_is_bound_again() {
    let mut ready = ready("data x : 2\nlet x = 2 * x\nlet y = x + 1\n");
    let x = Array::from_slice(&[2], &[1.0f32, 2.0]).unwrap();
    ready.give(&[("x", GivenValues::Copied(&x))]).unwrap();
    let available = ready.available();
    let names: Vec<&str> = available.tensors.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x", "y"]);
    ready.compute(&available.routine).unwrap();
    let values: Vec<Vec<f64>> =
        available.tensors.iter().map(|(_, tensor)| ready.session.get(*tensor).unwrap().to_f64s()).collect();
    assert_eq!(values, [[2.0, 4.0], [3.0, 5.0]]);
}

#[test]
fn what_is_refused_leaves_nothing_of_what_was_given_before() {
    let mut ready = ready("data x : 2\nlet y = 2 * x\n");
    let right = Array::from_slice(&[2], &[1.0f32, 2.0]).unwrap();
    let wrong = Array::from_slice(&[3], &[1.0f32, 2.0, 3.0]).unwrap();
    ready.give(&[("x", GivenValues::Copied(&right))]).unwrap();
    ready.give(&[("x", GivenValues::Copied(&wrong))]).unwrap_err();
    ready.give(&[]).unwrap();
    assert!(ready.available().tensors.is_empty());
    let x = ready.session.graph().tensors().next().unwrap();
    assert!(!ready.session.has_values(x));
}

/// A program that is read for inference applies every function as under `inference(…)`.
#[test]
fn a_program_as_after_training() {
    let text = "data x : 2 = [1, 2]\nlet y = 2 * dropout(0.5)(x)\n";
    let program = compile("test.loom", text, &Options { inference: true, ..Options::default() });
    let mut ready = program.ready(&Settings::default()).unwrap();
    ready.give(&[]).unwrap();
    let available = ready.available();
    ready.compute(&available.routine).unwrap();
    assert_eq!(ready.session.get(available.tensors[0].1).unwrap().to_f64s(), [2.0, 4.0]);
}

#[test]
fn data_has_its_own_values_again() {
    let mut ready = ready("data x : 2 = [1, 2]\nlet y = 2 * x\n");
    let other = Array::from_slice(&[2], &[5.0f32, 6.0]).unwrap();
    let mut values = |given: &[(&str, GivenValues<'_>)]| {
        ready.give(given).unwrap();
        let available = ready.available();
        ready.compute(&available.routine).unwrap();
        ready.session.get(available.tensors[0].1).unwrap().to_f64s()
    };
    assert_eq!(values(&[]), [2.0, 4.0]);
    assert_eq!(values(&[("x", GivenValues::Copied(&other))]), [10.0, 12.0]);
    assert_eq!(values(&[]), [2.0, 4.0]);
}

#[test]
fn steps_are_counted() {
    let text = "data x : 4 | 1 = [[0], [1], [2], [3]]\nlet loss = mean(square({a} * x - 2 * x))\n\
                repeat 5:\n  minimise loss by sgd(0.01)\n  print loss\n";
    let mut ready = ready(text);
    let mut lines = Vec::new();
    let way = |steps| RunControl { steps: Some(steps), ..RunControl::default() };
    ready.go(&way(3), &mut lines).outcome.unwrap();
    assert_eq!(lines.len(), 3);
    // It goes on from where it was.
    ready.go(&way(7), &mut lines).outcome.unwrap();
    let losses: Vec<f64> = lines.iter().map(|line| line.parse().unwrap()).collect();
    assert!(losses.windows(2).all(|pair| pair[1] < pair[0]), "{losses:?}");
    let none = self::ready("data x : 2 = [1, 2]\nprint x\n").go(&way(2), &mut Vec::new());
    assert!(none.outcome.unwrap_err().message.contains("repeats nothing"));
    let mut sliced = self::ready("data x : 3 | 1 = [[1], [2], [3]]\nrepeat i in 0..3:\n  print x[i]\n");
    assert!(sliced.go(&way(4), &mut Vec::new()).outcome.unwrap_err().message.contains("more than the 3"));
}

/// Gradients that are averaged over several steps are not left over, and not lost between runs.
#[test]
fn steps_whose_gradients_are_averaged() {
    let text = "data x : 8 | = [1, 2, 3, 4, 5, 6, 7, 8]\nlet w = {w : | = 1}\nrepeat i in 0..8:\n  \
                minimise square(w * x[i] - 1) by adam(0.1) every 4\n  print w\n";
    let wrong =
        ready(text).go(&RunControl { steps: Some(6), ..RunControl::default() }, &mut Vec::new()).outcome;
    assert_eq!(
        wrong.unwrap_err().message,
        "6 steps are no multiple of the 4 whose gradients are averaged here"
    );

    /// Collects lines, and stops after some repetitions.
    struct Stops(u64, Vec<String>);
    impl Observer for Stops {
        fn printed(&mut self, line: &str) {
            self.1.push(line.to_string());
        }

        fn stops(&mut self) -> bool {
            self.1.len() as u64 >= self.0
        }
    }
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("averaged.safetensors");
    let _ = std::fs::remove_file(&file);
    let run = |resume: bool, stops: u64| {
        let mut lines = Stops(stops, Vec::new());
        let options = RunOptions { save: Some(file.clone()), resume, ..RunOptions::default() };
        read(text, &[]).run(&options, &mut lines).unwrap();
        lines.1
    };
    let all = run(false, 100);
    assert_eq!(all.len(), 8);
    assert!(all[2] == "1" && all[3] != all[2] && all[6] == all[3] && all[7] != all[6], "{all:?}");
    // The third gradient of four is the last one before the break.
    let mut parts = run(false, 3);
    parts.extend(run(true, 100));
    assert_eq!(parts, all);
}

/// The steps that an observer is told, and the routines that are compiled before them.
#[derive(Default)]
struct Steps {
    told: Vec<String>,
}

impl Observer for Steps {
    fn printed(&mut self, _: &str) {}

    fn repeated(&mut self, step: &Repeated<'_>) {
        let turns: Vec<String> = step.turns.iter().map(|(turn, of)| format!("{turn}/{of}")).collect();
        let losses: Vec<&str> = step.losses.iter().map(|(name, _)| name.as_str()).collect();
        self.told.push(format!("{}/{} {} {}", step.done, step.of, turns.join(" "), losses.join(" ")));
    }

    fn compiling(&mut self, number: usize, of: usize) {
        self.told.push(format!("compiling {number} of {of}"));
    }
}

/// Every repetition that minimises is a step, in whatever loop; routines are announced once, before they run first.
#[test]
fn steps_of_inner_loops() {
    let text = "
let one = square({a : | = 3})
let two = square({b : | = 3})
state k : | = 0
repeat i in 0..2:
  repeat j in 0..2:
    minimise one by sgd(0.1)
  repeat 3: k =+ 1
  minimise two by sgd(0.1)
repeat 2:
  repeat 2: k =+ 1
";
    let mut steps = Steps::default();
    let settings = Settings { backend: broadloom::Backend::Reference, ..Settings::default() };
    read(text, &[]).run(&RunOptions { settings, ..RunOptions::default() }, &mut steps).unwrap();
    let expected = [
        "compiling 1 of 4",
        "1/6 1/2 1/2 one",
        "2/6 1/2 2/2 one",
        "compiling 2 of 4",
        "compiling 3 of 4",
        "3/6 1/2 two",
        "4/6 2/2 1/2 one",
        "5/6 2/2 2/2 one",
        "6/6 2/2 two",
        "compiling 4 of 4",
        "1/4 1/2 1/2 ",
        "2/4 1/2 2/2 ",
        "3/4 2/2 1/2 ",
        "4/4 2/2 2/2 ",
    ];
    assert_eq!(steps.told, expected);
}

/// Stops when it is asked to after so many steps, and counts repetitions of all loops.
struct StopsAt(u64);

impl Observer for StopsAt {
    fn printed(&mut self, _: &str) {}

    fn repeated(&mut self, _: &Repeated<'_>) {
        self.0 = self.0.saturating_sub(1);
    }

    fn stops(&mut self) -> bool {
        self.0 == 0
    }
}

/// A gradient that is used behind a loop is in memory only: a run stops behind its use, and goes on with the same numbers.
#[test]
fn gradients_hold_a_run() {
    let text = "
let far = square({a : | = 3})
let near = square({b : | = 5})
repeat 3:
  backward far
  repeat 4:
    minimise near by sgd(0.01)
  a =- 0.1 * a.grad
";
    let settings = Settings { backend: broadloom::Backend::Reference, ..Settings::default() };
    let mut stopped = read(text, &[]).ready(&settings).unwrap();
    let ended = stopped.go(&RunControl::default(), &mut StopsAt(6));
    assert!(ended.stopped && ended.outcome.is_ok());
    assert_eq!(ended.place.steps.len(), 1, "the end of a repetition of the outer loop: {:?}", ended.place);
    assert_eq!(ended.place.steps[0].repetitions, 2);
}
