//! The Rust programs in the README of the project. They are here a second time, so that they are compiled and run, and a test compares the two
//! texts, indentation aside.

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_program_of_the_readme_is_here() {
    let here = lines(include_str!("readme.rs"));
    let readme = std::fs::read_to_string(README).unwrap();
    let programs: Vec<&str> =
        readme.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(programs.len(), 4);
    for program in programs {
        let program = lines(program);
        let found = here.windows(program.len()).any(|window| window == program);
        assert!(found, "a program of the README is not in this file, or differs:\n{}", program.join("\n"));
    }
}

mod shapes {
    use broadloom::{Error, Graph};

    fn main() -> Result<(), Error> {
        let mut g = Graph::new();
        let x = g.data("x", "32 | 784")?; // batch | output
        let (w1, b1, w2) = (g.param("w1"), g.param_shaped("b1", "64")?, g.param("w2"));
        let hidden = g.compose(w1, x)?; // w1 @ x
        let hidden = g.add(hidden, b1)?;
        let hidden = g.relu(hidden)?;
        let logits = g.compose(w2, hidden)?;
        let target = g.data("target", "32 | 10")?;
        g.sub(logits, target)?;

        let shapes = g.final_shapes()?;
        assert_eq!(shapes.get(w1).to_string(), "784 -> 64"); // input -> output
        assert_eq!(shapes.get(w2).to_string(), "64 -> 10");
        Ok(())
    }

    #[test]
    fn runs() {
        main().unwrap();
    }
}

mod loops {
    use broadloom::{Error, Graph};

    #[test]
    fn runs() -> Result<(), Error> {
        let mut g = Graph::new();
        let x = g.data("x", "9")?;
        let kernel = g.data("kernel", "3")?;
        let y = g.einsum("2*o<+k; k => o", &[x, kernel])?; // a convolution at stride 2, inside the axis
        g.name(y, "y");
        println!("{}", g.show_nest(y)?);

        let readme = std::fs::read_to_string(super::README).unwrap();
        assert!(readme.contains(&format!("```text\n{}```", g.show_nest(y)?)), "the nest in the README");
        Ok(())
    }
}

mod training {
    #[test]
    fn runs() -> Result<(), broadloom::Error> {
        use broadloom::{Array, Builder, Routine, Session, Sgd};

        let b = Builder::new();
        let (x, target) = (b.data("x", "4 | 2"), b.data("target", "4 | 1"));
        let hidden = (b.param("w1").compose(x) + b.param_shaped("b1", "16")).tanh();
        let y = b.param("w2").compose(hidden) + b.param_shaped("b2", "1");
        let loss = (y - target).square().mean("..b.. | o => 0", &["b"]);
        let (x, target, loss) = (x.tensor(), target.tensor(), loss.tensor());
        let mut graph = b.finish()?; // the first mistake, with its line, if there is one

        let mut train = Routine::new("train");
        train.backward(&mut graph, loss)?;
        let (rate, params) = (graph.number(0.1), graph.params());
        Sgd { momentum: 0.9, ..Sgd::default() }.update(&mut graph, &mut train, &params, rate)?;

        let mut session = Session::new(graph)?;
        session.set(x, &Array::from_slice(&[4, 2], &[0.0f32, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0])?)?;
        session.set(target, &Array::from_slice(&[4, 1], &[0.0f32, 1.0, 1.0, 0.0])?)?;
        for _ in 0..500 {
            session.run(&train)?;
        }
        assert!(session.item(loss)? < 0.01);
        Ok(())
    }
}

mod solver {
    #[test]
    fn runs() {
        use broadloom_core::{Answer, Constraint, Role, RowTerm, Solver};

        let mut solver = Solver::new();
        let z = solver.row_var(Role::Interior);
        let (three, four, five) = (solver.size(3), solver.size(4), solver.size(5));
        // z = x + y, with x : [3, <>, 4], which broadcasts between its axes, and y : [3, 5, 4]
        solver.add(Constraint::RowLe { res: RowTerm::var(z), opnd: RowTerm::marked(&[three], &[four]) });
        solver.add(Constraint::RowLe { res: RowTerm::var(z), opnd: RowTerm::closed(&[three, five, four]) });
        let Answer::Solved(closed) = solver.close() else { unreachable!("it has a solution") };
        assert_eq!(closed.row(z).to_string(), "[3, <>, 5, 4]"); // `<>`: where z itself would broadcast
    }
}
