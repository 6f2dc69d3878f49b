//! "Unification Algorithm", case by case, and what it says of ranges and of order.

use broadloom_core::order::Dim;
use broadloom_core::{Affine, Answer, Clash, Constraint, DimTerm, DimVar, Form, Need, Role, Solver, Symbol};

/// A size as the document has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Size {
    Literal(u64),
    Var,
    Named(&'static str, Option<(u64, u64)>),
    Dynamic,
    /// Unit or match: a dimension that something lies below.
    Broadcast,
}

use Size::{Broadcast, Dynamic, Literal, Named, Var};

#[derive(Default)]
struct System {
    solver: Solver,
    named: Vec<(&'static str, DimVar)>,
}

impl System {
    fn term(&mut self, size: Size) -> DimTerm {
        match size {
            Literal(size) => self.solver.size(size),
            Var | Broadcast => self.solver.dim_var(Role::Leaf).into(),
            Dynamic => self.solver.dynamic().into(),
            Named(name, range) => {
                let known = self.named.iter().find(|(known, _)| *known == name).map(|(_, var)| *var);
                let var = known.unwrap_or_else(|| {
                    let var = self.solver.symbol();
                    self.named.push((name, var));
                    var
                });
                if let Some((lo, hi)) = range {
                    self.solver.add(Constraint::AtLeast(var.into(), lo));
                    self.solver.add(Constraint::AtMost(var.into(), hi));
                }
                var.into()
            }
        }
    }

    fn meet(&mut self, a: Size, b: Size) -> DimTerm {
        let (left, right) = (self.term(a), self.term(b));
        self.solver.add(match (a, b) {
            (Broadcast, Broadcast) => Constraint::DimEq(left, right),
            (Broadcast, _) => Constraint::DimLe { res: right, opnd: left },
            (_, Broadcast) => Constraint::DimLe { res: left, opnd: right },
            _ => Constraint::DimEq(left, right),
        });
        if a == Broadcast { left } else { right }
    }

    fn text(&mut self, term: DimTerm) -> String {
        let named = self.named.clone();
        let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
        let ground = self.solver.ground(term);
        let symbols: Vec<Option<Symbol>> = named.iter().map(|(_, var)| self.solver.symbol_of(*var)).collect();
        match self.solver.close() {
            Answer::Solved(closed) => {
                let dim = ground.unwrap_or_else(|| closed.dim(term.var().expect("a variable")));
                match dim {
                    Dim::Unit => "_".into(),
                    Dim::Atom(atom) => atom.size.to_string(),
                    Dim::Symbolic(dim) => closed.form(dim.form).show(|symbol| {
                        let at = symbols.iter().position(|own| *own == Some(symbol));
                        let Some(at) = at else { return "*".into() };
                        match closed.symbol_bounds(symbol) {
                            (1, None) => names[at].into(),
                            (lo, Some(hi)) => format!("{}: {lo}..{hi}", names[at]),
                            (lo, None) => format!("{}: {lo}..", names[at]),
                        }
                    }),
                }
            }
            Answer::Unsatisfiable(core) => {
                assert!(core.minimal);
                match core.clash {
                    Clash::Symbols { .. } => "incompatible".into(),
                    Clash::Range { size: Some(size), bounds: (lo, hi), .. } => {
                        format!("{size} is not in {lo}..{hi}")
                    }
                    Clash::Range { size: None, .. } => "empty range".into(),
                    Clash::Dims { ends, .. } => format!("{} is not {}", ends[0], ends[1]),
                    other => format!("{other:?}"),
                }
            }
            other => format!("{other:?}"),
        }
    }
}

fn unify(a: Size, b: Size) -> String {
    let mut system = System::default();
    let term = system.meet(a, b);
    system.text(term)
}

const BATCH: Size = Named("batch", Some((1, 64)));
const SEQ: Size = Named("seq", Some((1, 512)));

#[test]
fn the_table() {
    for (a, b, expected) in [
        // Reflexivity, contradiction.
        (Literal(64), Literal(64), "64"),
        (Literal(8), Literal(10), "8 is not 10"),
        // Variable binding.
        (Var, Literal(8), "8"),
        (Var, BATCH, "batch: 1..64"),
        (Var, Dynamic, "*"),
        // Dynamic matches anything.
        (Dynamic, Literal(7), "7"),
        (Dynamic, BATCH, "batch: 1..64"),
        (Dynamic, Dynamic, "*"),
        // Broadcast.
        (Broadcast, Literal(1), "1"),
        (Broadcast, Literal(9), "9"),
        (Broadcast, BATCH, "batch: 1..64"),
        (Broadcast, Dynamic, "*"),
        (Broadcast, Broadcast, "_"),
        // Named dimensions.
        (BATCH, BATCH, "batch: 1..64"),
        (BATCH, Named("batch", None), "batch: 1..64"),
        (BATCH, Named("batch", Some((32, 128))), "batch: 32..64"),
        (BATCH, Named("batch", Some((64, 128))), "64"),
        (BATCH, Named("batch", Some((65, 128))), "empty range"),
        (BATCH, SEQ, "incompatible"),
        (Named("batch", None), Named("seq", None), "incompatible"),
        // Named and literal.
        (BATCH, Literal(1), "1"),
        (BATCH, Literal(64), "64"),
        (BATCH, Literal(65), "65 is not in 1..64"),
        (Named("batch", None), Literal(1_000_000), "1000000"),
    ] {
        let two = [unify(a, b), unify(b, a)];
        let swapped = two[1].split(" is not ").collect::<Vec<_>>();
        let swapped = match (a, b, swapped.as_slice()) {
            (Literal(_), Literal(_), [x, y]) => format!("{y} is not {x}"),
            _ => two[1].clone(),
        };
        assert_eq!([two[0].as_str(), swapped.as_str()], [expected; 2], "{a:?} and {b:?}");
    }
}

#[test]
fn ranges_meet_as_sets_do() {
    for (a, b, c, d) in (0..256).map(|n| (1 + n % 4, 1 + n / 4 % 4, 1 + n / 16 % 4, 1 + n / 64)) {
        if a > b || c > d {
            continue;
        }
        let both: Vec<u64> = (a..=b).filter(|size| (c..=d).contains(size)).collect();
        let expected = match both.as_slice() {
            [] => "empty range".to_string(),
            [one] => one.to_string(),
            [first, .., last] => format!("n: {first}..{last}"),
        };
        assert_eq!(unify(Named("n", Some((a, b))), Named("n", Some((c, d)))), expected);
    }
}

/// Two symbols that are specialised to the same size are still two symbols, whatever was said first.
#[test]
fn two_names_never_meet_in_any_order() {
    for order in permutations(4) {
        let mut solver = Solver::new();
        let (batch, seq) = (solver.symbol(), solver.symbol());
        let (a, eight) = (solver.dim_var(Role::Interior), solver.size(8));
        for at in order {
            solver.add(match at {
                0 => Constraint::DimEq(batch.into(), eight),
                1 => Constraint::DimEq(seq.into(), eight),
                2 => Constraint::DimLe { res: a.into(), opnd: batch.into() },
                _ => Constraint::DimLe { res: a.into(), opnd: seq.into() },
            });
        }
        let Answer::Unsatisfiable(core) = solver.close() else { panic!("two names are one dimension") };
        assert_eq!((core.constraints.len(), core.minimal), (2, true));
        assert!(matches!(core.clash, Clash::Symbols { ends: [Symbol(0), Symbol(1)] }));
    }
}

/// The same with an inequality between dimensions that have a size before they have a name.
#[test]
fn two_names_never_meet_through_known_sizes() {
    for order in permutations(5) {
        let mut solver = Solver::new();
        let (batch, seq) = (solver.symbol(), solver.symbol());
        let (x, y) = (solver.dim_var(Role::Interior), solver.dim_var(Role::Interior));
        let eight = solver.size(8);
        for at in order {
            solver.add(match at {
                0 => Constraint::DimEq(x.into(), eight),
                1 => Constraint::DimEq(y.into(), eight),
                2 => Constraint::DimLe { res: x.into(), opnd: y.into() },
                3 => Constraint::DimEq(y.into(), batch.into()),
                _ => Constraint::DimEq(x.into(), seq.into()),
            });
        }
        assert!(matches!(solver.close(), Answer::Unsatisfiable(_)));
    }
}

/// Literals carry no name: what only has the same size as two symbols does not join them.
#[test]
fn a_literal_joins_nobody() {
    let mut solver = Solver::new();
    let (batch, seq, eight) = (solver.symbol(), solver.symbol(), solver.size(8));
    solver.add(Constraint::DimEq(batch.into(), eight));
    solver.add(Constraint::DimEq(seq.into(), eight));
    let Answer::Solved(closed) = solver.close() else { panic!("satisfiable") };
    assert_eq!((closed.dim(batch), closed.dim(seq)), (Dim::sized(8), Dim::sized(8)));
}

#[test]
fn leaves_take_symbolic_sizes_and_relax_between_two() {
    let mut solver = Solver::new();
    let (batch, seq) = (solver.symbol(), solver.symbol());
    let (one, two) = (solver.dim_var(Role::Leaf), solver.dim_var(Role::Leaf));
    for (res, opnd) in [(batch, one), (batch, two), (seq, two)] {
        solver.add(Constraint::DimLe { res: res.into(), opnd: opnd.into() });
    }
    let Answer::Solved(closed) = solver.close() else { panic!("satisfiable") };
    assert_eq!(closed.dim(one), closed.dim(batch));
    assert_eq!(closed.dim(two), Dim::Unit);
}

#[test]
fn arithmetic_on_symbols() {
    let mut solver = Solver::new();
    let (batch, seq) = (solver.symbol(), solver.symbol());
    solver.add(Constraint::AtMost(batch.into(), 64));
    let [twice, blocks, both, windows] = [(); 4].map(|()| solver.dim_var(Role::Interior));
    let three = solver.size(3);
    let affine = |axis: DimVar, form, over: DimVar, kernel| Constraint::Affine {
        axis: axis.into(),
        form,
        over: over.into(),
        kernel,
    };
    solver.add(affine(twice, Affine::strided(2), batch, None));
    solver.add(affine(seq, Affine::strided(8), blocks, None));
    solver.add(Constraint::Concat { axis: both.into(), components: &[twice.into(), seq.into()], literal: 1 });
    let valid = Affine::strided(1).with_kernel(1, broadloom_core::Padding::Valid);
    solver.add(affine(batch, valid, windows, Some(three)));
    // A window of three fits: the range narrows.
    assert_eq!(solver.observe_size(batch), (3, Some(64)));
    let Answer::Solved(closed) = solver.close() else { panic!("satisfiable") };
    let show = |var| match closed.dim(var) {
        Dim::Symbolic(dim) => closed.form(dim.form).show(|symbol| ["batch", "seq"][symbol.0 as usize].into()),
        other => other.to_string(),
    };
    assert_eq!(
        [twice, blocks, both, windows].map(show),
        ["2*batch", "seq/8", "2*batch + seq + 1", "batch - 2"]
    );
    let [check] = &closed.checks()[..] else { panic!("one check") };
    assert_eq!((check.need, &check.form), (Need::Whole, &Form::symbol(Symbol(1)).scaled(1, 8).unwrap()));
}

/// `[batch, 6] -> [batch, 3, 2]` is proved; `[batch, 6] -> [batch, 4]` is refused, at once; what becomes of
/// `[2·batch, 3]` needs expressions, and is proved or refused too.
#[test]
fn products_are_compared_symbolically() {
    use broadloom_core::{Numerator, Piece};
    let reshape = |axes: &[u64], factor: u64| {
        let mut solver = Solver::new();
        let (batch, flat) = (solver.symbol(), solver.dim_var(Role::Interior));
        let twice = solver.dim_var(Role::Interior);
        let form = Affine::strided(factor);
        solver.add(Constraint::Affine { axis: twice.into(), form, over: batch.into(), kernel: None });
        let count = |pieces: &[DimTerm], solver: &mut Solver| {
            let pieces: Vec<Piece> = pieces.iter().map(|piece| Piece::Dim(*piece)).collect();
            let numerator = Numerator { coeff: 1, over: Some(flat.into()), denom: 1 };
            solver.add(Constraint::Count { pieces: &pieces, numerator, divided_by: &[], rest: None });
        };
        let six = solver.size(6);
        count(&[batch.into(), six], &mut solver);
        let axes: Vec<DimTerm> = axes.iter().map(|size| solver.size(*size)).collect();
        let target = if factor == 1 { batch.into() } else { twice.into() };
        count(&[&[target], axes.as_slice()].concat(), &mut solver);
        match solver.close() {
            Answer::Solved(closed) => {
                assert!(closed.checks().is_empty(), "proved, not postponed");
                true
            }
            Answer::Unsatisfiable(core) => {
                assert!(core.minimal);
                false
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(reshape(&[3, 2], 1) && reshape(&[6], 1) && reshape(&[3], 2) && reshape(&[2], 3));
    assert!(!reshape(&[4], 1) && !reshape(&[2], 2) && !reshape(&[6], 2));
}

/// Taking a step back forgets symbols made since, and keeps the others.
#[test]
fn symbols_are_retracted() {
    let mut solver = Solver::new();
    let batch = solver.symbol();
    solver.add(Constraint::AtMost(batch.into(), 64));
    let before = solver.point();
    let seq = solver.symbol();
    solver.add(Constraint::DimEq(batch.into(), seq.into()));
    assert!(solver.is_failed());
    solver.retract(before);
    assert_eq!(solver.observe_size(batch), (1, Some(64)));
    let other = solver.symbol();
    assert_eq!(solver.symbol_of(other), Some(Symbol(1)));
    let eight = solver.size(8);
    solver.add(Constraint::DimEq(other.into(), eight));
    assert!(matches!(solver.close(), Answer::Solved(_)));
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let insert = |at: usize| {
        move |order: &Vec<usize>| {
            let mut order = order.clone();
            order.insert(at, n - 1);
            order
        }
    };
    (0..n).flat_map(|at| shorter.iter().map(insert(at)).collect::<Vec<_>>()).collect()
}
