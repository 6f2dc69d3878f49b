//! Memory: the plan compared with numbers computed by hand, and with the allocation of the backend.

use broadloom::blocks::{Mode, TransformerConfig, decoder_only};
use broadloom::{
    Adam, Backend, Builder, Error, Memory, MemoryRange, MemoryRole, Routine, Session, Settings, Sgd,
};

const FLOAT: u64 = 4;
const PARAMETERS: u64 = FLOAT * (784 * 256 + 256 + 256 * 10 + 10);

/// A perceptron 784-256-10 with a batch of 64, and its training routine.
fn perceptron(adam: bool) -> Result<(broadloom::Graph, Routine), Error> {
    perceptron_for("64", adam)
}

/// The same perceptron with any batch.
fn perceptron_for(batch: &str, adam: bool) -> Result<(broadloom::Graph, Routine), Error> {
    let b = Builder::new();
    b.dim("batch", 1..=64, 32);
    b.dim("seq", 1..=64, 8);
    let (x, target) = (b.data("x", &format!("{batch} | 784")), b.data("target", &format!("{batch} | 10")));
    let hidden = (b.param("w1").compose(x) + b.param_shaped("b1", "256")).relu();
    let y = b.param("w2").compose(hidden) + b.param_shaped("b2", "10");
    let loss = (y - target).square().mean("..b.. | o => 0", &["b"]).named("loss").tensor();
    let mut graph = b.finish()?;
    let mut train = Routine::new("train");
    train.backward(&mut graph, loss)?;
    let (rate, params) = (graph.number(0.1), graph.params());
    match adam {
        true => Adam::default().update(&mut graph, &mut train, &params, rate)?,
        false => Sgd { momentum: 0.9, ..Sgd::default() }.update(&mut graph, &mut train, &params, rate)?,
    };
    Ok((graph, train))
}

fn by_name(memory: &Memory, name: &str) -> Option<u64> {
    memory.stored.iter().find(|stored| stored.name == name).map(|stored| stored.bytes)
}

#[test]
fn a_perceptron_by_hand() -> Result<(), Error> {
    let (graph, train) = perceptron(false)?;
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let memory = Session::with(graph, settings)?.memory(&[train])?;
    assert_eq!(memory.of(MemoryRole::Parameter), PARAMETERS);
    assert_eq!(memory.of(MemoryRole::State), PARAMETERS, "a momentum for each parameter");
    assert_eq!(memory.of(MemoryRole::Data), FLOAT * 64 * (784 + 10));
    // The gradient of the first weights is the largest temporary; those of biases may be single
    // numbers in between.
    assert_eq!(by_name(&memory, "w1.grad"), Some(FLOAT * 784 * 256));
    assert_eq!(by_name(&memory, "w2.grad"), Some(FLOAT * 256 * 10));
    assert!(memory.of(MemoryRole::Gradient) <= PARAMETERS);
    let loss = FLOAT;
    assert_eq!(memory.lasting(), 2 * PARAMETERS + FLOAT * 64 * 794 + loss);
    let [temporaries] = &memory.temporaries[..] else { panic!("{memory:?}") };
    assert!(temporaries.shared <= temporaries.separate && temporaries.separate <= temporaries.unoptimised);
    // The gradients of the first layer need these at the same time: the incoming and the outgoing
    // gradient.
    assert!(temporaries.shared >= FLOAT * (784 * 256 + 64 * 256), "{temporaries:?}");
    // Everything that lasts begins at a line of memory, 64 bytes.
    let least = memory.lasting() + temporaries.shared;
    assert!((least..least + 64 * memory.stored.len() as u64).contains(&memory.peak()), "{memory:?}");
    Ok(())
}

/// Two states for each parameter, and a number of steps.
#[test]
fn the_states_of_adam() -> Result<(), Error> {
    let (graph, train) = perceptron(true)?;
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let memory = Session::with(graph, settings)?.memory(&[train])?;
    let states = memory.of(MemoryRole::State);
    assert!((2 * PARAMETERS..=2 * PARAMETERS + 8 * FLOAT).contains(&states), "{states}");
    Ok(())
}

/// Lasting tensors are counted once, however many routines use them; nothing is allocated for this.
#[test]
fn several_routines() -> Result<(), Error> {
    let b = Builder::new();
    let x = b.data("x", "1000000000 | 1000");
    let y = b.param_shaped("w", "1000 -> 10").compose(x).named("y").tensor();
    let graph = b.finish()?;
    let (mut one, mut two) = (Routine::new("one"), Routine::new("two"));
    one.forward(y);
    two.forward(y);
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let memory = Session::with(graph, settings)?.memory(&[one, two])?;
    assert_eq!(memory.of(MemoryRole::Data), 4_000_000_000_000);
    assert_eq!(memory.lasting(), 4_000_000_000_000 + 40_000_000_000 + 40_000);
    assert_eq!(memory.temporaries.len(), 2);
    Ok(())
}

/// The plan agrees with the allocation of the backend.
#[test]
fn the_backend_allocates_what_is_planned() -> Result<(), Error> {
    for adam in [false, true] {
        let (graph, train) = perceptron(adam)?;
        let mut session = Session::new(graph)?;
        let memory = session.memory(std::slice::from_ref(&train))?;
        // Without a C compiler there is nothing to compare with.
        let Some(allocated) = session.allocated(&[train])? else { return Ok(()) };
        assert_eq!(memory.peak(), allocated.blocks + allocated.arenas);
        assert!(allocated.threads >= 1 && allocated.total() >= allocated.blocks + allocated.arenas);
    }
    Ok(())
}

/// The plan also holds at every size of a program that was compiled once.
#[test]
fn the_plan_holds_at_every_size() -> Result<(), Error> {
    let b = Builder::new();
    b.dim("batch", 1..=64, 32);
    b.dim("seq", 1..=64, 8);
    let words = b.data("words", "batch, seq |");
    let model = decoder_only(&b, "model", 11, 8, &TransformerConfig::new(1, 2, 12));
    let loss = model.apply(words, Mode::Training).square().mean("..b.. | v => 0", &["b"]).tensor();
    let mut transformer = b.finish()?;
    let mut backward = Routine::new("backward");
    backward.backward(&mut transformer, loss)?;
    for (graph, train) in [perceptron_for("batch", true)?, (transformer, backward)] {
        let mut session = Session::new(graph)?;
        let routines = [train];
        for (batch, seq) in [(32, 8), (1, 1), (64, 64), (7, 3)] {
            let sizes = [("batch", batch), ("seq", seq)];
            let planned = session.memory_at(&sizes, &routines)?;
            session.set_sizes(&sizes)?;
            assert_eq!(session.memory(&routines)?, planned);
            let Some(allocated) = session.allocated(&routines)? else { return Ok(()) };
            assert_eq!(planned.peak(), allocated.blocks + allocated.arenas, "{sizes:?}");
        }
    }
    Ok(())
}

/// Ranges and the largest batch that fits, compared with an enumeration of all batches.
#[test]
fn ranges_by_enumeration() -> Result<(), Error> {
    let (graph, train) = perceptron_for("batch", false)?;
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let mut session = Session::with(graph, settings)?;
    let routines = [train];
    let range = session.memory_range(&routines)?;
    let peaks = (1..=64).map(|batch| Ok(session.memory_at(&[("batch", batch)], &routines)?.peak()));
    let peaks: Vec<u64> = peaks.collect::<Result<_, Error>>()?;
    assert_eq!(range.least.as_ref().map(Memory::peak), Some(peaks[0]));
    assert_eq!(range.now.peak(), peaks[31]);
    assert_eq!(range.most.as_ref().map(Memory::peak), Some(peaks[63]));
    assert!(peaks.is_sorted() && peaks[0] < peaks[63]);
    for bytes in [0, peaks[0] - 1, peaks[0], peaks[20], peaks[20] - 1, peaks[40] + 1, peaks[63], u64::MAX] {
        let expected = peaks.iter().rposition(|peak| *peak <= bytes).map(|at| at as u64 + 1);
        assert_eq!(session.largest_that_fits("batch", &routines, bytes)?, expected, "{bytes}");
        assert_eq!(range.always_fits(bytes), expected == Some(64));
    }
    let error = session.memory_at(&[("batch", 65)], &routines).unwrap_err();
    assert_eq!(error.message(), "`batch` cannot be 65: its range is 1..64");
    assert!(session.largest_that_fits("sequence", &routines, 1).is_err());
    Ok(())
}

/// *Tensor Dimension Inference*, "Training Memory Model", as a program: 784-256-10 without biases, Adam, batches 1 to 64.
/// There are 784·256 + 256·10 = 203,264 parameters; the document counts 200,960.
#[test]
fn the_example_of_the_document() -> Result<(), Error> {
    let b = Builder::new();
    b.dim("batch", 1..=64, 32);
    let hidden = b.param_shaped("w1", "784 -> 256").compose(b.data("x", "batch | 784")).relu();
    let y = b.param_shaped("w2", "256 -> 10").compose(hidden);
    let loss = (y - b.data("target", "batch | 10")).square().sum("... | ... => 0").tensor();
    let mut graph = b.finish()?;
    let mut train = Routine::new("train");
    train.backward(&mut graph, loss)?;
    let (rate, params) = (graph.number(0.001), graph.params());
    Adam::default().update(&mut graph, &mut train, &params, rate)?;
    let settings = Settings { backend: Backend::Reference, ..Settings::default() };
    let MemoryRange { least, most, .. } = Session::with(graph, settings)?.memory_range(&[train])?;
    let [least, most] = [least, most].map(|memory| memory.expect("the range has ends"));
    let parameters = FLOAT * 203_264;
    for memory in [&least, &most] {
        assert_eq!(memory.of(MemoryRole::Parameter), parameters);
        assert_eq!(memory.of(MemoryRole::Gradient), parameters);
        let states = memory.of(MemoryRole::State);
        assert!((2 * parameters..2 * parameters + 64).contains(&states), "two moments, and a count of steps");
    }
    let hidden = |memory: &Memory| memory.stored.iter().any(|each| each.bytes == FLOAT * 256);
    assert!(hidden(&least), "an activation of one row");
    assert_eq!(most.of(MemoryRole::Data), 64 * least.of(MemoryRole::Data));
    Ok(())
}
