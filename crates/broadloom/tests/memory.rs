//! Memory: what is planned, computed by hand, and what the backend allocates.

use broadloom::{Adam, Backend, Builder, Error, Memory, MemoryRole, Routine, Session, Settings, Sgd};

const FLOAT: u64 = 4;
const PARAMETERS: u64 = FLOAT * (784 * 256 + 256 + 256 * 10 + 10);

/// A perceptron 784-256-10 with a batch of 64, and how it is trained.
fn perceptron(adam: bool) -> Result<(broadloom::Graph, Routine), Error> {
    let b = Builder::new();
    let (x, target) = (b.data("x", "64 | 784"), b.data("target", "64 | 10"));
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
    // The gradient of the first weights is the largest temporary; those of biases may be single numbers on the way.
    assert_eq!(by_name(&memory, "w1.grad"), Some(FLOAT * 784 * 256));
    assert_eq!(by_name(&memory, "w2.grad"), Some(FLOAT * 256 * 10));
    assert!(memory.of(MemoryRole::Gradient) <= PARAMETERS);
    let loss = FLOAT;
    assert_eq!(memory.lasting(), 2 * PARAMETERS + FLOAT * 64 * 794 + loss);
    let [temporaries] = &memory.temporaries[..] else { panic!("{memory:?}") };
    assert!(temporaries.shared <= temporaries.separate && temporaries.separate <= temporaries.unoptimised);
    // The gradients of the first layer cannot do without these three at the same time: what comes in, and goes out.
    assert!(temporaries.shared >= FLOAT * (784 * 256 + 64 * 256), "{temporaries:?}");
    assert_eq!(memory.peak(), memory.lasting() + temporaries.shared);
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

/// What lasts is counted once, however many routines use it; nothing is allocated to be counted.
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

/// The plan is what the backend allocates, within 5 %.
#[test]
fn the_backend_allocates_what_is_planned() -> Result<(), Error> {
    for adam in [false, true] {
        let (graph, train) = perceptron(adam)?;
        let mut session = Session::new(graph)?;
        let memory = session.memory(std::slice::from_ref(&train))?;
        // Without a C compiler there is nothing to compare with.
        let Some(allocated) = session.allocated(&[train])? else { return Ok(()) };
        let (planned, real) = (memory.peak() as f64, (allocated.blocks + allocated.arenas) as f64);
        assert!((real / planned - 1.0).abs() < 0.05, "{planned} planned, {real} allocated");
        assert!(allocated.threads >= 1 && allocated.total() >= allocated.blocks + allocated.arenas);
    }
    Ok(())
}
