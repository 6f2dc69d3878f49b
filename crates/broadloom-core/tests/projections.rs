//! Canonicity of projections (Formal Core, Thm. 7.4): the order of the equations changes nothing, failures are
//! exactly (a), (b) and (c), and the labels are those of Def. 7.3, judged by a naive closure.

use broadloom_core::Size;
use broadloom_core::projection::{AxisId, AxisIndex, Equations, Failure, Pin, Projection};
use broadloom_testing::Dice;

#[derive(Clone, Copy, Debug)]
enum Equation {
    Equal(usize, usize),
    Pin(usize, Pin),
    Iterate(usize),
}

/// A random system: sizes of axes, equations, and the axes of each tensor.
#[derive(Clone, Debug)]
struct System {
    sizes: Vec<u64>,
    equations: Vec<Equation>,
    tensors: Vec<Vec<usize>>,
}

fn system(dice: &mut Dice) -> System {
    let axes = 1 + dice.below(8);
    let sizes: Vec<u64> = (0..axes).map(|_| 1 + dice.below(3) as u64).collect();
    let equation = |dice: &mut Dice| match dice.below(6) {
        0 => Equation::Pin(dice.below(axes), Pin::At(dice.below(3) as u64)),
        1 => Equation::Pin(dice.below(axes), Pin::Symbol(dice.below(2) as u32)),
        2 | 3 => Equation::Iterate(dice.below(axes)),
        _ => {
            let a = dice.below(axes);
            // Mostly axes that may be equal.
            let like: Vec<usize> = (0..axes).filter(|b| sizes[*b] == sizes[a]).collect();
            let b = if dice.below(20) == 0 { dice.below(axes) } else { like[dice.below(like.len())] };
            Equation::Equal(a, b)
        }
    };
    let equations = (0..dice.below(9)).map(|_| equation(dice)).collect();
    let split = dice.below(axes + 1);
    System { sizes, equations, tensors: vec![(0..split).collect(), (split..axes).collect()] }
}

fn solve(system: &System) -> Result<Projection, Failure> {
    let mut equations = Equations::default();
    let ids: Vec<AxisId> = system.sizes.iter().map(|size| equations.axis(*size)).collect();
    for equation in &system.equations {
        match *equation {
            Equation::Equal(a, b) => equations.equal(ids[a], ids[b]),
            Equation::Pin(axis, pin) => equations.pin(ids[axis], pin),
            Equation::Iterate(axis) => equations.iterate(ids[axis]),
        }
    }
    let tensors: Vec<Vec<AxisId>> =
        system.tensors.iter().map(|axes| axes.iter().map(|axis| ids[*axis]).collect()).collect();
    let tensors: Vec<&[AxisId]> = tensors.iter().map(Vec::as_slice).collect();
    equations.solve(&tensors)
}

/// The classes as the least equivalence, by repeated passes.
fn closure(system: &System) -> Vec<usize> {
    let mut class: Vec<usize> = (0..system.sizes.len()).collect();
    for _ in 0..class.len() {
        for equation in &system.equations {
            if let Equation::Equal(a, b) = *equation {
                let least = class[a].min(class[b]);
                (class[a], class[b]) = (least, least);
            }
        }
    }
    class
}

/// Classes, their pins, and marks for those that are visited.
type Solved = (Vec<usize>, Vec<Option<Pin>>, Vec<bool>);

/// The statement of the theorem: the solution, if there is one, and the axes that have loops.
fn expected(system: &System) -> Option<Solved> {
    let class = closure(system);
    let uniform = (0..class.len()).all(|axis| system.sizes[axis] == system.sizes[class[axis]]);
    let mut pins: Vec<Option<Pin>> = vec![None; class.len()];
    let mut visited = vec![false; class.len()];
    for equation in &system.equations {
        match *equation {
            Equation::Pin(axis, pin) => {
                let inside = !matches!(pin, Pin::At(at) if at >= system.sizes[axis]);
                if !inside || pins[class[axis]].is_some_and(|other| other != pin) {
                    return None;
                }
                pins[class[axis]] = Some(pin);
            }
            Equation::Iterate(axis) => visited[class[axis]] = true,
            Equation::Equal(..) => {}
        }
    }
    uniform.then_some((class, pins, visited))
}

fn shuffled(system: &System, dice: &mut Dice) -> System {
    let mut system = system.clone();
    for at in (1..system.equations.len()).rev() {
        system.equations.swap(at, dice.below(at + 1));
    }
    system
}

#[test]
fn the_order_of_equations_changes_nothing() {
    let mut dice = Dice::new(11);
    for _ in 0..20_000 {
        let system = system(&mut dice);
        let first = solve(&system);
        let again = solve(&shuffled(&system, &mut dice));
        assert_eq!(first.is_ok(), again.is_ok(), "{system:?}");
        if let (Ok(first), Ok(again)) = (first, again) {
            assert_eq!(first.maps, again.maps, "{system:?}");
            assert_eq!(first.extents(), again.extents(), "{system:?}");
        }
    }
}

#[test]
fn labels_and_failures_are_those_of_the_definition() {
    let mut dice = Dice::new(5);
    let mut failures = 0;
    for _ in 0..20_000 {
        let system = system(&mut dice);
        let (solved, expected) = (solve(&system), expected(&system));
        let (Ok(solved), Some((class, pins, visited))) = (&solved, &expected) else {
            failures += 1;
            assert!(solved.is_err() && expected.is_none(), "{system:?}: {solved:?}");
            continue;
        };
        let maps: Vec<&AxisIndex> = solved.maps.iter().flatten().collect();
        let axes: Vec<usize> = system.tensors.iter().flatten().copied().collect();
        for (axis, index) in axes.iter().zip(&maps) {
            let (class_of, size) = (class[*axis], system.sizes[*axis]);
            match (pins[class_of], index) {
                (Some(Pin::Symbol(symbol)), AxisIndex::Symbol(found)) => assert_eq!(symbol, *found),
                (Some(Pin::At(at)), AxisIndex::Sum(sum)) => {
                    assert!(sum.terms.is_empty() && sum.offset == at as i64, "{system:?}")
                }
                (None, AxisIndex::Sum(sum)) if visited[class_of] && size > 1 => {
                    // One loop of the class's extent, and the same for the whole class.
                    let [(Size::ONE, index)] = sum.terms.as_slice() else { panic!("{system:?}: {sum:?}") };
                    assert_eq!(solved.loops[*index as usize].extent, size);
                    for (other, found) in axes.iter().zip(&maps) {
                        assert_eq!(
                            class[*other] == class_of,
                            **found == AxisIndex::Sum(sum.clone()),
                            "{system:?}"
                        );
                    }
                }
                (None, AxisIndex::Sum(sum)) => assert!(sum.terms.is_empty() && sum.offset == 0, "{system:?}"),
                other => panic!("{system:?}: {other:?}"),
            }
        }
    }
    assert!(failures > 1_000, "the generator makes failures too");
}
