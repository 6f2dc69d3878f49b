//! Programs with named sizes: compiled once, they run for every size in range, with the same
//! numbers as the program written for that size; and they refuse data that does not fit.

use broadloom::blocks::{Mode, TransformerConfig, decoder_only, softmax};
use broadloom::{Array, Backend, Builder, Dtype, Graph, Routine, Session, Settings, Sgd, SliceIndex, Tensor};

/// A network over `batch` and perhaps `seq`: its data, and its loss.
type Network = fn(&Builder) -> (Vec<Tensor>, Tensor);

fn perceptron(b: &Builder) -> (Vec<Tensor>, Tensor) {
    let (x, target) = (b.data("x", "batch | 20"), b.data("target", "batch | 5"));
    let hidden = (b.param("w1").compose(x) + b.param_shaped("b1", "16")).relu();
    let y = b.param("w2").compose(hidden) + b.param_shaped("b2", "5");
    let error = (softmax(y, "... | v") - target).square();
    (vec![x.tensor(), target.tensor()], error.mean("..b.. | o => 0", &["b", "o"]).tensor())
}

fn transformer(b: &Builder) -> (Vec<Tensor>, Tensor) {
    let words = b.data("words", "batch, seq |");
    let model = decoder_only(b, "model", 11, 8, &TransformerConfig::new(1, 2, 12));
    let loss = model.apply(words, Mode::Training).square().mean("..b.. | v => 0", &["b", "v"]);
    (vec![words.tensor()], loss.tensor())
}

/// A convolution over images whose height has a name, with a stride.
fn convolution(b: &Builder) -> (Vec<Tensor>, Tensor) {
    let image = b.data("image", "batch | seq, 9, 3");
    let kernel = b.param_shaped("kernel", "3, 3, 3 -> 4");
    let y = b.einsum("... | 2*oh=+kh, ow=+kw, ic; kh, kw, ic -> oc => ... | oh, ow, oc", &[image, kernel]);
    (vec![image.tensor()], y.relu().square().sum("... | ... => |").tensor())
}

/// Two layers of windows that have to fit: heights are 1 more than a multiple of 4, and one argument all the same.
fn windows(b: &Builder) -> (Vec<Tensor>, Tensor) {
    let image = b.data("image", "batch | seq, 3");
    let (first, second) = (b.param_shaped("first", "3, 3 -> 4"), b.param_shaped("second", "2, 4 -> 2"));
    let y = b.einsum("... | 2*o<+k, i; k, i -> c => ... | o, c", &[image, first]).relu();
    let y = b.einsum("... | 2*o<+k, i; k, i -> c => ... | o, c", &[y, second]);
    (vec![image.tensor()], y.square().sum("... | ... => |").tensor())
}

/// Axes of named sizes put together and taken apart: `batch·seq` rows, of which each factor follows from another operand.
fn composed(b: &Builder) -> (Vec<Tensor>, Tensor) {
    let (x, w) = (b.data("x", "batch | seq, 6"), b.param_shaped("w", "3 -> 4"));
    let rows = b.einsum("b | s c => (b s) | c", &[x]);
    let y = b.einsum("(b s) | (h d); b | s c; d -> o => b | h (s o)", &[rows, x, w]).relu();
    let z = b.einsum("b | h (s 2) => (b h) | (2 s)", &[y]);
    (vec![x.tensor()], z.square().mean("(b 2) | ... => |", &["b", "output"]).tensor())
}

/// A session, its training step, its data and its loss.
struct Training {
    session: Session,
    step: Routine,
    data: Vec<Tensor>,
    loss: Tensor,
    params: Vec<Tensor>,
}

impl Training {
    fn new(network: Network, fixed: Option<[u64; 2]>, settings: Settings) -> Training {
        let b = Builder::new();
        b.dim("batch", 1..=64, 32);
        b.dim("seq", 1..=64, 8);
        let (data, loss) = network(&b);
        let mut graph: Graph = b.finish().expect("it is in order");
        if let Some([batch, seq]) = fixed {
            graph.set_sizes(&[("batch", batch), ("seq", seq)]).expect("in range");
        }
        let mut step = Routine::new("step");
        step.backward(&mut graph, loss).expect("a loss");
        step.keep(loss);
        let (rate, params) = (graph.number(0.01), graph.params());
        Sgd::default().update(&mut graph, &mut step, &params, rate).expect("parameters");
        let session = Session::with(graph, settings).expect("a session");
        Training { session, step, data, loss, params }
    }

    /// Sets data of the current sizes and runs. Returns the loss and all parameters afterwards.
    fn run(&mut self) -> Vec<f64> {
        for (number, data) in self.data.clone().into_iter().enumerate() {
            let sizes = self.session.sizes_of(data).expect("known sizes");
            self.set(number, data, &sizes);
        }
        self.session.run(&self.step).expect("it runs");
        let all: Vec<Tensor> = std::iter::once(self.loss).chain(self.params.iter().copied()).collect();
        all.into_iter().flat_map(|tensor| self.session.get(tensor).expect("kept").to_f64s()).collect()
    }

    fn set(&mut self, number: usize, data: Tensor, sizes: &[u64]) {
        let count: u64 = sizes.iter().product();
        let dtype = self.session.dtype(data).expect("it has one");
        let value = |at: u64| match dtype.is_float() {
            true => ((at * 7 + number as u64 * 13) % 17) as f64 * 0.1,
            false => (at % 11) as f64,
        };
        let values: Vec<f64> = (0..count).map(value).collect();
        let values = Array::from_slice(sizes, &values).expect("so many").convert(dtype);
        self.session.set(data, &values).expect("it fits");
    }
}

fn close(a: &[f64], b: &[f64], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 2e-5 * (1.0 + b.abs()), "{a} and {b}: {what}");
    }
}

/// Compares one session that goes through all sizes with a session for each that begins with the
/// same parameters.
fn agrees(network: Network, all: &[[u64; 2]]) {
    for backend in [Backend::Auto, Backend::Reference] {
        let settings = Settings { backend, ..Settings::default() };
        let mut one = Training::new(network, None, settings.clone());
        for [batch, seq] in all {
            let mut own = Training::new(network, Some([*batch, *seq]), settings.clone());
            for (from, to) in one.params.clone().into_iter().zip(own.params.clone()) {
                let values = one.session.get(from).expect("it has values");
                own.session.set(to, &values).expect("the same parameter");
            }
            one.session.set_sizes(&[("batch", *batch), ("seq", *seq)]).expect("in range");
            close(&one.run(), &own.run(), &format!("{batch}, {seq} with {backend:?}"));
        }
        assert!(one.session.notices().is_empty(), "compiled once");
    }
}

#[test]
fn a_perceptron_for_every_batch() {
    agrees(perceptron, &[[16, 1], [1, 1], [3, 1], [64, 1], [2, 1]]);
}

#[test]
fn a_transformer_for_every_batch_and_length() {
    agrees(transformer, &[[2, 5], [1, 1], [7, 3], [4, 8], [2, 5]]);
}

#[test]
fn a_convolution_for_every_height() {
    agrees(convolution, &[[2, 8], [1, 4], [5, 20], [3, 64]]);
}

#[test]
fn windows_that_leave_every_fourth_height() {
    agrees(windows, &[[2, 5], [1, 9], [5, 21], [3, 61]]);
}

#[test]
fn composed_axes_for_every_batch_and_length() {
    agrees(composed, &[[2, 5], [1, 1], [3, 7], [4, 2]]);
}

/// Values decide sizes. Data that no longer fits has to be set again, and messages give the reason.
#[test]
fn sizes_follow_data() {
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let mut it = Training::new(perceptron, None, settings);
    let [x, target] = it.data[..] else { panic!("two") };
    it.set(0, x, &[16, 20]);
    it.set(1, target, &[16, 5]);
    it.session.run(&it.step).expect("both have 16 rows");
    assert_eq!(it.session.sizes().expect("sizes").collect::<Vec<_>>(), [("batch", 16), ("seq", 8)]);

    let values = |sizes: &[u64]| Array::full(Dtype::F32, sizes, 1.0).expect("small");
    let mut refused = |tensor, sizes: &[u64]| it.session.set(tensor, &values(sizes)).unwrap_err().to_string();
    let range = refused(x, &[65, 20]);
    assert!(range.starts_with("axis 0 of `x` makes `batch` 65, its range is 1..64"), "{range}");
    assert!(range.contains("`x` is declared `batch | 20`"), "{range}");
    let columns = refused(x, &[16, 21]);
    assert!(columns.contains("axis 1 (`x.output.0`) is 21 and should be 20"), "{columns}");
    // The refusal has changed nothing: it still runs.
    it.session.run(&it.step).expect("both have 16 rows");

    it.set(1, target, &[17, 5]);
    let error = it.session.run(&it.step).unwrap_err().to_string();
    assert!(
        error.contains("reads `x`, whose values have sizes [16, 20]: its shape is `batch | 20`"),
        "{error}"
    );
    assert!(error.contains("`batch` is 17 since `target` was set"), "{error}");
    assert!(error.contains("set `x` again, with sizes [17, 20]"), "{error}");
}

/// Sizes at which a program is not valid are refused, with the condition that is violated.
#[test]
fn what_a_program_relies_on_is_checked() {
    let mut g = Graph::new();
    g.dim("seq", 1..=64, None).expect("a name");
    let x = g.data("x", "seq").expect("a shape");
    let even = g.einsum("2*i => i", &[x]).expect("a spec");
    let mut every_other = Routine::new("every other");
    every_other.forward(even);
    let mut session = Session::new(g).expect("a session");
    let error = session.run(&every_other).unwrap_err().to_string();
    assert!(error.starts_with("`seq` needs a value before the program can run"), "{error}");
    for size in [6, 2, 64] {
        let values: Vec<f32> = (0..size).map(|at| at as f32).collect();
        session.set(x, &Array::from_slice(&[size], &values).expect("so many")).expect("an even number");
        session.run(&every_other).expect("it runs");
        let expected: Vec<f64> = (0..size).step_by(2).map(|at| at as f64).collect();
        assert_eq!(session.get(even).expect("computed").to_f64s(), expected);
    }
    let error = session.set_sizes(&[("seq", 7)]).unwrap_err().to_string();
    assert!(
        error.contains("no program for `seq` = 7: it relies on this: `seq` is a multiple of 2"),
        "{error}"
    );
    let error = session.set_sizes(&[("sequence", 7)]).unwrap_err().to_string();
    assert!(error.starts_with("there is no size called `sequence`"), "{error}");
}

/// A session begins at sizes at which its program is valid. Samples that are not valid decide
/// nothing.
#[test]
fn a_session_needs_no_sizes_to_begin() {
    let settings = || Settings { backend: Backend::Reference, ..Settings::default() };
    for (sample, spec, good, bad) in [
        (None, "3*i => i", 6, 7),
        (Some(7), "3*i => i", 6, 7),
        (None, "7*i<+k => i, k", 9, 8),
        (None, "5^a => a", 6, 5),
    ] {
        let mut g = Graph::new();
        g.dim("seq", 1.., sample).expect("a name");
        let x = g.data("x", "seq").expect("a shape");
        let y = g.einsum(spec, &[x]).expect("a spec");
        if let Ok(k) = g.captured(y, "k") {
            g.set(k, 2).expect("a size");
        }
        let mut part = Routine::new("part");
        part.forward(y);
        let mut session = Session::with(g, settings()).expect("it begins");
        let error = session.run(&part).unwrap_err().to_string();
        assert!(error.starts_with("`seq` needs a value before the program can run"), "{error}");
        if sample.is_some() {
            let why = "its sample is 7, but the program relies on this: `seq` is a multiple of 3";
            assert!(error.contains(why), "{error}");
        }
        assert!(session.set_sizes(&[("seq", bad)]).is_err(), "{spec}");
        session.set(x, &Array::full(Dtype::F32, &[good], 1.0).expect("small")).expect("it fits");
        session.run(&part).expect("it runs");
    }
}

/// At the large sizes that code for all sizes is derived from, four named axes exceed any memory:
/// there is no such code, but there is code for each size.
#[test]
fn many_named_axes_run() {
    let mut g = Graph::new();
    g.dim("batch", 1..=64, None).expect("a name");
    g.dim("seq", 1..=64, None).expect("a name");
    let x = g.data("x", "batch | seq -> seq, seq").expect("a shape");
    let sum = g.einsum("b | i -> j, k => b |", &[x]).expect("a spec");
    let mut add = Routine::new("add");
    add.forward(sum);
    let mut session = Session::new(g).expect("a session");
    for (batch, seq) in [(2, 3), (5, 1), (1, 4)] {
        session
            .set(x, &Array::full(Dtype::F32, &[batch, seq, seq, seq], 1.0).expect("small"))
            .expect("it fits");
        session.run(&add).expect("it runs");
        let expected = vec![(seq * seq * seq) as f64; batch as usize];
        assert_eq!(session.get(sum).expect("computed").to_f64s(), expected);
    }
}

/// Learned values are not discarded because of a size.
#[test]
fn parameters_keep_their_sizes() {
    let mut g = Graph::new();
    g.dim("seq", 1..=64, 8).expect("a name");
    let (x, w) = (g.data("x", "seq").expect("a shape"), g.param_shaped("w", "seq").expect("a shape"));
    let sum = g.add(x, w).expect("one shape");
    let mut add = Routine::new("add");
    add.forward(sum);
    let mut session = Session::new(g).expect("a session");
    session.set_sizes(&[("seq", 4)]).expect("it has no values yet");
    session.set(x, &Array::full(Dtype::F32, &[4], 1.0).expect("small")).expect("it fits");
    session.run(&add).expect("it runs");
    let error = session.set_sizes(&[("seq", 5)]).unwrap_err().to_string();
    assert!(error.starts_with("`w` has values and cannot change its size: its shape is `seq`"), "{error}");
    session.run(&add).expect("nothing has changed");
}

/// A session on a graph, and a routine that computes a tensor.
fn session(graph: Graph, result: Tensor) -> (Session, Routine) {
    let mut routine = Routine::new("it");
    routine.forward(result);
    (Session::new(graph).expect("a session"), routine)
}

fn counted(sizes: &[u64]) -> Array {
    let values: Vec<f32> = (0..sizes.iter().product()).map(|at: u64| at as f32).collect();
    Array::from_slice(sizes, &values).expect("so many")
}

/// Images and scores of attention have products of four sizes.
#[test]
fn four_names_on_one_tensor() {
    let mut g = Graph::new();
    for name in ["b", "h", "i", "j"] {
        g.dim(name, 1..=64, 2).expect("a name");
    }
    let x = g.data("x", "b, h, i, j | 512").expect("a shape");
    let sum = g.einsum("b, h, i, j | c => b, h | i", &[x]).expect("a sum");
    let (mut session, routine) = session(g, sum);
    for [b, h, i, j] in [[1, 2, 3, 1], [2, 1, 1, 3]] {
        let sizes = [b, h, i, j, 512];
        session.set(x, &Array::full(Dtype::F32, &sizes, 1.0).expect("small")).expect("it fits");
        session.run(&routine).expect("it runs");
        assert_eq!(
            session.get(sum).expect("computed").to_f64s(),
            vec![(j * 512) as f64; (b * h * i) as usize]
        );
    }
    assert!(session.notices().is_empty(), "{:?}", session.notices());
}

/// Positions, windows and tables that fit for all sizes of a range are compiled once: the code uses
/// the range and the checks before a run.
#[test]
fn what_fits_at_every_size_is_compiled_once() {
    let mut g = Graph::new();
    g.dim("seq", 4..=64, 8).expect("a name");
    let (x, y) = (g.data("x", "seq | 3").expect("a shape"), g.data("y", "seq").expect("a shape"));
    let (kernel, ids) = (g.data("kernel", "3").expect("a shape"), g.data("ids", "4 |").expect("a shape"));
    let table = g.data("table", "seq -> 2").expect("a shape");
    let third = g.slice(x, SliceIndex::At(2)).expect("it has three");
    let windows = g.einsum("o<+k; k => o", &[y, kernel]).expect("a window");
    let rows = g.gather(table, ids).expect("a lookup");
    let mut routine = Routine::new("it");
    for result in [third, windows, rows] {
        routine.forward(result);
    }
    let mut session = Session::new(g).expect("a session");
    let ones = Array::full(Dtype::F32, &[3], 1.0).expect("three");
    for seq in [4, 9, 64] {
        let last = Array::from_slice(&[4], &[0i64, 1, 2, seq as i64 - 1]).expect("four");
        let (rows_of_three, columns) = (counted(&[seq, 3]), counted(&[2, seq]));
        let values =
            [(x, &rows_of_three), (y, &counted(&[seq])), (table, &columns), (ids, &last), (kernel, &ones)];
        session.set_all(&values).expect("they fit");
        session.run(&routine).expect("it runs");
        let numbers = |session: &mut Session, of| session.get(of).expect("computed").to_f64s();
        assert_eq!(numbers(&mut session, third), [6.0, 7.0, 8.0]);
        let sums: Vec<f64> = (0..seq - 2).map(|at| (3 * at + 3) as f64).collect();
        assert_eq!(numbers(&mut session, windows), sums);
        let both = |row: u64| [row as f64, (seq + row) as f64];
        assert_eq!(numbers(&mut session, rows), [both(0), both(1), both(2), both(seq - 1)].concat());
    }
    assert!(session.notices().is_empty(), "{:?}", session.notices());
    // One more than the code was compiled for stops the run.
    let beyond = Array::from_slice(&[4], &[0i64, 1, 2, 64]).expect("four");
    session.set(ids, &beyond).expect("they are numbers");
    let error = session.run(&routine).unwrap_err().to_string();
    assert!(error.contains("index 64") && error.contains("64 rows"), "{error}");
}

/// A division may involve a sum of two sizes: then neither alone has to be even.
#[test]
fn halves_of_a_sum() {
    let mut g = Graph::new();
    g.dim("a", 1..=64, 2).expect("a name");
    g.dim("b", 1..=64, 4).expect("a name");
    let (x, y) = (g.data("x", "a").expect("a shape"), g.data("y", "b").expect("a shape"));
    let both = g.einsum("i; j => i^j", &[x, y]).expect("a concatenation");
    let even = g.einsum("2*i => i", &[both]).expect("a stride");
    let (mut session, routine) = session(g, even);
    session.set_all(&[(x, &counted(&[3])), (y, &counted(&[5]))]).expect("8 is even");
    session.run(&routine).expect("it runs");
    assert_eq!(session.get(even).expect("computed").to_f64s(), [0.0, 2.0, 1.0, 3.0]);
    let error = session.set_all(&[(x, &counted(&[3])), (y, &counted(&[6]))]).unwrap_err().to_string();
    assert!(error.contains("`a + b` is a multiple of 2"), "{error}");
    session.run(&routine).expect("nothing has changed");
}

/// Refused input changes nothing: arrays that are too large for memory, or numbers of the wrong
/// kind.
#[test]
fn a_refusal_changes_nothing() {
    let mut g = Graph::new();
    g.dim("n", 1.., 4).expect("a name");
    let (x, ids) = (g.data("x", "n").expect("a shape"), g.data("ids", "n |").expect("a shape"));
    let table = g.data("table", "3 -> 2").expect("a shape");
    let rows = g.gather(table, ids).expect("a lookup");
    let sum = g.einsum("n | i; n => n | i", &[rows, x]).expect("a product");
    let (mut session, routine) = session(g, sum);
    session.set(table, &counted(&[2, 3])).expect("it fits");
    let whole = Array::from_slice(&[4], &[0i64, 1, 2, 0]).expect("four");
    session.set_all(&[(x, &counted(&[4])), (ids, &whole)]).expect("they fit");
    session.run(&routine).expect("it runs");
    let before = session.get(sum).expect("computed").to_f64s();
    assert!(session.set_sizes(&[("n", 1 << 50)]).is_err(), "no memory is so large");
    assert!(session.set(ids, &counted(&[5])).is_err(), "indices are whole numbers");
    session.run(&routine).expect("everything is still there");
    assert_eq!(session.get(sum).expect("computed").to_f64s(), before);
}

/// A graph that grows may forbid the current size of a session: then it continues at another one.
#[test]
fn a_graph_that_grows() {
    let mut g = Graph::new();
    g.dim("n", 1..=64, 6).expect("a name");
    let x = g.data("x", "n").expect("a shape");
    let twice = g.add(x, x).expect("a sum");
    let (mut session, routine) = session(g, twice);
    session.set(x, &counted(&[7])).expect("it fits");
    session.run(&routine).expect("it runs");
    let even = session.graph_mut().einsum("2*i => i", &[x]).expect("a stride");
    let mut halved = Routine::new("halved");
    halved.forward(even);
    assert!(session.run(&halved).is_err(), "7 is odd, and 6 has no values");
    session.set(x, &counted(&[8])).expect("an even number");
    session.run(&halved).expect("it runs");
    assert_eq!(session.get(even).expect("computed").to_f64s(), [0.0, 2.0, 4.0, 6.0]);
}

/// A dynamic size that is unified with a name is that size.
#[test]
fn a_dynamic_size_is_the_name_it_meets() {
    let mut g = Graph::new();
    g.dim("n", 1..=64, 4).expect("a name");
    g.dynamic("d", None).expect("a name");
    let (x, z) = (g.data("x", "n").expect("a shape"), g.data("z", "d").expect("a shape"));
    let sum = g.add(x, z).expect("a sum");
    let (mut session, routine) = session(g, sum);
    let error = session.set_sizes(&[("d", 65)]).unwrap_err().to_string();
    assert!(error.contains("cannot be 65: its range is 1..64"), "{error}");
    assert!(session.set_sizes(&[("d", 5), ("n", 6)]).is_err(), "they are one");
    session.set_sizes(&[("d", 5)]).expect("in range");
    assert_eq!(session.sizes().expect("sizes").collect::<Vec<_>>(), [("n", 5), ("d", 5)]);
    session.set_all(&[(x, &counted(&[3])), (z, &counted(&[3]))]).expect("they fit");
    session.run(&routine).expect("it runs");
    assert_eq!(session.get(sum).expect("computed").to_f64s(), [0.0, 2.0, 4.0]);
}

/// If a size decreases when another grows, there is no bound for all sizes.
#[test]
fn memory_that_falls() {
    let mut g = Graph::new();
    g.dim("n", 8..=64, 64).expect("a name");
    g.dim("k", 1..=8, 4).expect("a name");
    let (x, kernel) = (g.data("x", "n | 100").expect("a shape"), g.data("kernel", "k").expect("a shape"));
    let y = g.einsum("o<+k | c; k => o | c", &[x, kernel]).expect("a window");
    let (mut session, routine) = session(g, y);
    let routines = [routine];
    let range = session.memory_range(&routines).expect("it is in order");
    assert!(range.least.is_none() && range.most.is_none());
    let peak =
        |session: &mut Session, k: u64| session.memory_at(&[("k", k)], &routines).expect("in range").peak();
    let peaks: Vec<u64> = (1..=8).map(|k| peak(&mut session, k)).collect();
    assert!(peaks[0] > peaks[7], "a longer window has fewer places");
    for bytes in [peaks[7] - 1, peaks[7], peaks[3], peaks[0]] {
        let expected = (1..=8).rev().find(|k| peaks[*k as usize - 1] <= bytes);
        assert_eq!(session.largest_that_fits("k", &routines, bytes).expect("in order"), expected);
    }
}
