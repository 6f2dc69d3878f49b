//! Lasting tensors: initial values by name and seed, repeated runs, files, threads, and graphs that
//! grow.

use std::path::PathBuf;

use broadloom::{
    Array, Backend, Builder, Dtype, Error, Graph, Initial, Routine, Session, Settings, Sgd, Tensor, Values,
};

use crate::numbers::{array, treatments};

/// A file of this test, in the folder for temporary files.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("broadloom-running-{}-{name}", std::process::id()))
}

/// The bits of the numbers, to compare them exactly.
fn bits(values: &Array) -> Vec<u64> {
    match values.values() {
        Values::F32(numbers) => numbers.iter().map(|number| u64::from(number.to_bits())).collect(),
        _ => values.to_f64s().iter().map(|number| number.to_bits()).collect(),
    }
}

/// A perceptron with dropout, trained with momentum.
struct Model {
    graph: Graph,
    x: Tensor,
    target: Tensor,
    loss: Tensor,
    train: Routine,
}

fn model(width: u64) -> Result<Model, Error> {
    let b = Builder::new();
    let (x, target) = (b.data("x", "16 | 20"), b.data("target", "16 | 3"));
    let (w, bias, v) = (b.param("w"), b.param_shaped("bias", &width.to_string()), b.param("v"));
    let hidden = (w.compose(x) + bias).tanh();
    let kept = b.uniform("dropout").less(0.8);
    let y = v.compose(hidden * kept / 0.8);
    let loss = (y - target).square().sum("... | ... =>") / 48.0;
    let (x, target, loss) = (x.tensor(), target.tensor(), loss.tensor());
    let mut graph = b.finish()?;
    let mut train = Routine::new("train");
    train.backward(&mut graph, loss)?;
    let (params, rate) = (graph.params(), graph.number(0.1));
    Sgd { momentum: 0.9, weight_decay: 1e-3 }.update(&mut graph, &mut train, &params, rate)?;
    Ok(Model { graph, x, target, loss, train })
}

impl Model {
    fn session(self, settings: Settings) -> Result<Training, Error> {
        let Model { graph, x, target, loss, train } = self;
        let mut session = Session::with(graph, settings)?;
        let numbers =
            |count: u32| (0..count).map(|at| ((at * 37 % 101) as f32 - 50.0) / 50.0).collect::<Vec<f32>>();
        session.set(x, &Array::new(&[16, 20], numbers(320))?)?;
        session.set(target, &Array::new(&[16, 3], numbers(48))?)?;
        Ok(Training { session, loss, train })
    }
}

struct Training {
    session: Session,
    loss: Tensor,
    train: Routine,
}

impl Training {
    fn run(&mut self, times: usize) -> Result<(), Error> {
        (0..times).try_for_each(|_| self.session.run(&self.train))
    }

    /// The bits of all parameters and of the loss.
    fn state(&mut self) -> Result<Vec<Vec<u64>>, Error> {
        let tensors: Vec<Tensor> = self.session.graph().params().into_iter().chain([self.loss]).collect();
        tensors.into_iter().map(|tensor| Ok(bits(&self.session.get(tensor)?))).collect()
    }
}

#[test]
fn training_makes_progress() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut training = model(12)?.session(settings)?;
        training.run(1)?;
        let first = training.session.item(training.loss)?;
        training.run(60)?;
        let last = training.session.item(training.loss)?;
        assert!(last < 0.5 * first, "{treatment}: {first} to {last}");
    }
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_bits() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let after = |settings: Settings| {
            let mut training = model(12)?.session(settings)?;
            training.run(5)?;
            training.state()
        };
        let first = after(settings.clone())?;
        assert_eq!(first, after(settings.clone())?, "{treatment}");
        assert_ne!(first, after(Settings { seed: 1, ..settings })?, "{treatment}");
    }
    Ok(())
}

/// The model is wide enough for work to be divided.
#[test]
fn two_threads_give_the_bits_of_one() -> Result<(), Error> {
    let after = |threads: usize| {
        let settings = Settings { backend: Backend::Native, threads: Some(threads), ..Settings::default() };
        let mut training = model(2000)?.session(settings)?;
        training.run(5)?;
        training.state()
    };
    let one = after(1)?;
    for _ in 0..3 {
        assert!(one == after(2)?, "two threads give other numbers than one");
    }
    Ok(())
}

/// Initial values depend on the name and the seed, not on the order in which a model is built.
#[test]
fn the_order_of_building_does_not_matter() -> Result<(), Error> {
    let values = |names: &[&str], seed: u64| -> Result<Vec<(String, Array)>, Error> {
        let b = Builder::new();
        for name in names {
            let _ = b.param_shaped(name, "4 -> 3").compose(b.data("x", "4"));
            let _ = b.scope("inner", || {
                b.param_shaped(name, "2").initial(Initial::Normal { mean: 0.0, deviation: 1.0 })
            });
        }
        let graph = b.finish()?;
        let params = graph.params();
        let mut session =
            Session::with(graph, Settings { backend: Backend::Reference, seed, ..Settings::default() })?;
        let mut values = Vec::new();
        for param in params {
            let name = session.graph().name_of(param).unwrap_or_default().to_string();
            values.push((name, session.get(param)?));
        }
        values.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(values)
    };
    let there = values(&["one", "two", "three"], 5)?;
    assert_eq!(there, values(&["three", "one", "two"], 5)?);
    assert_ne!(there, values(&["three", "one", "two"], 6)?);
    for (at, (name, one)) in there.iter().enumerate() {
        assert!(there[..at].iter().all(|(_, other)| other != one), "{name} has the values of another");
    }
    Ok(())
}

#[test]
fn random_numbers_are_new_in_every_run_and_the_same_everywhere() -> Result<(), Error> {
    let mut seen: Vec<Vec<Vec<u64>>> = Vec::new();
    for (_, settings) in treatments() {
        let b = Builder::new();
        let (one, other) = (b.uniform("one"), b.uniform("other"));
        let x = b.data("x", "50, 40");
        let tensors = [(one + x * 0.0).tensor(), (other + x * 0.0).tensor()];
        let x = x.tensor();
        let mut session = Session::with(b.finish()?, settings)?;
        session.set(x, &Array::zeros(Dtype::F32, &[50, 40])?)?;
        let mut routine = Routine::new("draw");
        tensors.iter().for_each(|tensor| {
            routine.forward(*tensor);
        });
        let mut drawn = Vec::new();
        for _ in 0..2 {
            session.run(&routine)?;
            for tensor in tensors {
                let values = session.get(tensor)?;
                let numbers = values.to_f64s();
                assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
                let mean = numbers.iter().sum::<f64>() / 2000.0;
                assert!((mean - 0.5).abs() < 0.03, "{mean}: four deviations of the mean of so many");
                drawn.push(bits(&values));
            }
        }
        for (at, one) in drawn.iter().enumerate() {
            assert!(drawn[..at].iter().all(|other| other != one));
        }
        seen.push(drawn);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "each way to run draws the same numbers");
    Ok(())
}

#[test]
fn saved_training_goes_on_as_if_nothing_had_happened() -> Result<(), Error> {
    for (at, (treatment, settings)) in treatments().into_iter().enumerate() {
        let path = file(&format!("continued-{at}.safetensors"));
        let mut training = model(12)?.session(Settings { seed: 9, ..settings.clone() })?;
        training.run(3)?;
        training.session.save(&path)?;
        training.run(3)?;
        let wanted = training.state()?;

        // In a session of another seed that has run before.
        let mut other = model(12)?.session(settings)?;
        other.run(2)?;
        other.session.load(&path)?;
        assert_eq!(other.session.runs(), 3, "{treatment}");
        other.run(3)?;
        assert_eq!(other.state()?, wanted, "{treatment}");
        std::fs::remove_file(path).expect("the file is there");
    }
    Ok(())
}

/// Every type of numbers comes back as it was.
#[test]
fn files_keep_every_type() -> Result<(), Error> {
    let path = file("types.safetensors");
    let build = || -> Result<(Graph, Vec<Tensor>), Error> {
        let mut g = Graph::new();
        let mut params = Vec::new();
        for dtype in Dtype::ALL {
            let param = g.param_shaped(dtype.name(), "2, 3")?;
            g.set_precision(param, dtype)?;
            params.push(param);
        }
        Ok((g, params))
    };
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let (graph, params) = build()?;
    let mut session = Session::with(graph, settings.clone())?;
    for (at, param) in params.iter().enumerate() {
        let numbers: Vec<f64> = (0..6).map(|number| f64::from(number * 3 - at as i32)).collect();
        session.set(*param, &array(&[2, 3], &numbers).convert(Dtype::ALL[at]))?;
    }
    session.save(&path)?;
    let (graph, _) = build()?;
    let mut other = Session::with(graph, settings)?;
    other.load(&path)?;
    for param in params {
        assert_eq!(other.get(param)?, session.get(param)?);
    }
    std::fs::remove_file(path).expect("the file is there");
    Ok(())
}

/// Each thread has its own graph, session and compiled code.
#[test]
fn two_graphs_in_two_threads_do_not_meet() {
    let train = |width: u64, treatment: usize| -> Result<Vec<Vec<u64>>, Error> {
        let mut training = model(width)?.session(treatments()[treatment].1.clone())?;
        training.run(10)?;
        training.state()
    };
    for treatment in 0..3 {
        let alone = [train(12, treatment).expect("it runs"), train(7, treatment).expect("it runs")];
        let threads =
            [12, 7].map(|width| std::thread::spawn(move || train(width, treatment).expect("it runs")));
        let together = threads.map(|thread| thread.join().expect("it ends"));
        assert_eq!(alone, together);
    }
}

/// Existing tensors keep their numbers when the graph grows, even if they are now read beyond their
/// ends.
#[test]
fn a_graph_that_grows() -> Result<(), Error> {
    for (treatment, settings) in treatments() {
        let mut g = Graph::new();
        let (x, w) = (g.data("x", "4")?, g.param_shaped("w", "4")?);
        g.set_initial(w, Initial::Constant(2.0))?;
        let y = g.mul(x, w)?;
        let mut first = Routine::new("first");
        first.forward(y);
        first.assign(&mut g, "w =+ x", &[("w", w), ("x", x)])?;
        let mut session = Session::with(g, settings)?;
        session.set(x, &array(&[4], &[1.0, 2.0, 3.0, 4.0]))?;
        session.run(&first)?;
        assert_eq!(session.get(y)?.to_f64s(), [2.0, 4.0, 6.0, 8.0], "{treatment}");

        let g = session.graph_mut();
        let kernel = g.param_shaped("kernel", "3")?;
        g.set_initial(kernel, Initial::Constant(1.0))?;
        let (sums, of_w) = (g.einsum("o=+k; k => o", &[x, kernel])?, g.einsum("o=+k; k => o", &[w, kernel])?);
        let mut second = Routine::new("second");
        second.forward(sums).forward(of_w);
        // Computed values are still available, and so are assigned ones.
        assert_eq!(session.get(y)?.to_f64s(), [2.0, 4.0, 6.0, 8.0], "{treatment}");
        assert_eq!(session.get(w)?.to_f64s(), [3.0, 4.0, 5.0, 6.0], "{treatment}");
        session.run(&second)?;
        assert_eq!(session.get(sums)?.to_f64s(), [3.0, 6.0, 9.0, 7.0], "{treatment}");
        assert_eq!(session.get(of_w)?.to_f64s(), [7.0, 12.0, 15.0, 11.0], "{treatment}");
        session.run(&first)?;
        assert_eq!(session.get(y)?.to_f64s(), [3.0, 8.0, 15.0, 24.0], "{treatment}");
        session.run(&second)?;
        assert_eq!(session.get(of_w)?.to_f64s(), [10.0, 18.0, 24.0, 18.0], "{treatment}");
    }
    Ok(())
}

/// A parameter whose shape is decided by a later use is initialised again; the others keep their
/// numbers.
#[test]
fn a_shape_that_changes_when_the_graph_grows() -> Result<(), Error> {
    let mut g = Graph::new();
    let constant = g.data("free", "n")?;
    let (w, x) = (g.param_shaped("w", "3")?, g.data("x", "3")?);
    let mut routine = Routine::new("assign");
    routine.assign(&mut g, "w = x", &[("w", w), ("x", x)])?;
    let mut session = Session::with(g, Settings { backend: Backend::Reference, ..Settings::default() })?;
    session.set(x, &array(&[3], &[1.0, 2.0, 3.0]))?;
    session.run(&routine)?;
    let g = session.graph_mut();
    let wide = g.data("wide", "5")?;
    g.add(constant, wide)?;
    assert_eq!(session.get(w)?.to_f64s(), [1.0, 2.0, 3.0]);
    session.set(constant, &array(&[5], &[0.0; 5]))?;
    Ok(())
}
