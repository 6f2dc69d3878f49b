//! Small programs of loops, divided: each line of a program is a store, `y[b, o] += w[o, h] * x[b, h]`, over loops whose extents are
//! the sizes of the axes.

use broadloom_loops::{
    Binary, Buffer, BufferId, Cell, Dtype, Index, LoopSum, LoopVar, Nest, Program, Repeat, Scalar, Size,
    Statement, Storage,
};

use crate::{
    Axis, CollectiveKind, Conflict, Groups, Mesh, Request, Routine, Stored, collectives, divide,
    divide_stored, reads,
};

/// The sizes of loops, by their names.
const SIZES: &[(char, u64)] = &[('b', 8), ('o', 6), ('h', 4), ('n', 4), ('k', 3)];

/// The number of turns of a scan.
const TURNS: u64 = 6;
/// The number of turns of a scan inside of it.
const INNER_TURNS: u64 = 3;

/// A program with an accumulation for each line: the target, `=`, and the factors. A tensor is its name and its indices, `woh`; an
/// index `+` is the one before it, moved by one, and `o'h` is one index with two digits. Lines that begin with `>` are the turns of a scan, whose number is the index `@`, and those with `>>` of one inside of it.
fn program(lines: &[&str]) -> Program {
    let mut program = Program::default();
    let vars: Vec<LoopVar> = SIZES.iter().map(|(name, _)| program.add_var(name.to_string())).collect();
    for (mark, turns) in [(">", TURNS), (">>", INNER_TURNS)] {
        let is_turn = |line: &&str| line.starts_with(mark);
        if let Some(start) = lines.iter().position(is_turn) {
            let nests = start..start + lines.iter().filter(|line| is_turn(line)).count();
            program.repeats.push(Repeat {
                nests,
                symbol: program.symbols.len() as u32,
                turns: turns.into(),
                backwards: false,
                segment: None,
            });
            program.symbols.push("turn".into());
        }
    }
    for line in lines.iter().map(|line| line.trim_start_matches('>')) {
        let (target, factors) = line.split_once('=').expect("an assignment");
        let target = cell(&mut program, target.trim(), &vars);
        let mut loads = Vec::new();
        for factor in factors.split('*') {
            loads.push(Scalar::Load(cell(&mut program, factor.trim(), &vars)));
        }
        let value = loads.into_iter().reduce(|a, b| Scalar::binary(Binary::Mul, a, b)).expect("a factor");
        let used = SIZES.iter().zip(&vars).filter(|((name, _), _)| line.contains(*name));
        let loops: Vec<(LoopVar, u64)> = used.map(|((_, size), var)| (*var, *size)).collect();
        let store = Statement::Store { cell: target, accumulate: Some(Binary::Add), value };
        program.nests.push(Nest { comment: line.into(), body: vec![store.within(loops.into_iter())] });
    }
    program
}

/// A cell, and its buffer if it is new: `Xbh` has the axes b and h.
fn cell(program: &mut Program, text: &str, vars: &[LoopVar]) -> Cell {
    let (mut index, mut sizes): (Vec<Index>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut is_digit = false;
    for letter in text.chars().skip(1) {
        let at = SIZES.iter().position(|(name, _)| *name == letter);
        match at {
            Some(at) if std::mem::take(&mut is_digit) => {
                let size = SIZES[at].1;
                if let (Some(Index::At(sum)), Some(count)) = (index.last_mut(), sizes.last_mut()) {
                    let higher = sum.terms.iter().map(|(weight, var)| (*weight * size, *var));
                    *sum = LoopSum::new(0, higher.chain([(Size::ONE, vars[at])]));
                    *count *= size;
                }
            }
            Some(at) => {
                index.push(Index::At(LoopSum::iterate(vars[at])));
                sizes.push(SIZES[at].1);
            }
            None if letter == '\'' => is_digit = true,
            None if letter == '@' => {
                index.push(Index::Symbol(0));
                sizes.push(TURNS);
            }
            None => {
                if let Some(Index::At(sum)) = index.last_mut() {
                    *sum = LoopSum::new(1, sum.terms.iter().copied());
                }
            }
        }
    }
    let name = text.chars().next().expect("a name").to_string();
    let known = program.buffers.iter().position(|buffer| buffer.name == name);
    let buffer = known.map_or_else(
        || {
            let sizes = sizes.into_iter().map(Into::into).collect();
            program.add_buffer(Buffer {
                name,
                dtype: Dtype::F32,
                sizes,
                margins: vec![],
                fill: 0.0,
                storage: Storage::Kept,
            })
        },
        |at| BufferId(at as u32),
    );
    Cell { buffer, index }
}

/// Divides a program by requests `W0=0`: the first axis of W over the first mesh axis, which has two devices. Says how each tensor is
/// divided and what is sent, or what is wrong.
fn divided(lines: &[&str], requests: &[&str]) -> String {
    let program = program(lines);
    let tensors: Vec<usize> = (0..program.buffers.len()).collect();
    let results: Vec<BufferId> = program.buffers.iter().zip(0..).map(|(_, at)| BufferId(at)).collect();
    let routine = Routine { program: &program, tensors: &tensors, results: &results };
    let groups = Groups::new(program.buffers.iter().map(Buffer::shape).collect(), &[routine]);
    let mesh = Mesh { axes: vec![("p".into(), 2), ("q".into(), 2)] };
    let name = |tensor: usize| program.buffers[tensor].name.as_str();
    let request = |text: &&str| {
        let tensor =
            program.buffers.iter().position(|buffer| text.starts_with(&buffer.name)).expect("a tensor");
        let digit = |at: usize| text[at..=at].parse().expect("a digit");
        Request { axes: vec![Axis { tensor, place: digit(1) }], over: digit(3), chooses: text.ends_with('!') }
    };
    let requests: Vec<Request> = requests.iter().map(request).collect();
    let axis = |axis: Axis| format!("{}{}", name(axis.tensor), axis.place);
    let divisions = match divide(&groups, &mesh, &requests, &[routine]) {
        Ok(divisions) => divisions,
        Err(conflicts) => {
            let text = |conflict: &Conflict| match conflict {
                Conflict::TwoAxes { first, second, joined } => {
                    format!(
                        "{} and {}{}",
                        axis(first.axis),
                        axis(second.axis),
                        if *joined { ", joined" } else { "" }
                    )
                }
                Conflict::TwoMeshAxes { first, second } => {
                    format!("{} is {}", axis(first.axis), axis(second.axis))
                }
                Conflict::Turns { claim, nest, .. } => format!("{} in {}", axis(claim.axis), lines[*nest]),
                Conflict::Uneven { claim, size } => format!("{} has {size}", axis(claim.axis)),
            };
            return conflicts.iter().map(text).collect::<Vec<_>>().join("; ");
        }
    };
    let mut said: Vec<String> = Vec::new();
    for (tensor, division) in
        divisions.iter().enumerate().filter(|(_, division)| division.iter().any(Option::is_some))
    {
        let axes = division.iter().map(|over| over.map_or(".", |over| ["p", "q"][over]));
        said.push(format!("{} {}", name(tensor), axes.collect::<String>()));
    }
    let sent = collectives(&routine, &mesh, &divisions);
    let gathered = sent.iter().filter(|each| each.kind == CollectiveKind::AllGather).count();
    assert!(reads(&routine, &mesh, &divisions).len() >= gathered, "what is brought together is read so");
    for each in sent {
        let kind = if each.kind == CollectiveKind::AllReduce { "reduce" } else { "gather" };
        let over: String = each.over.iter().map(|over| ["p", "q"][*over]).collect();
        let times = if each.times == 1 { String::new() } else { format!("{} times ", each.times) };
        said.push(format!("{kind} {} {over} {times}{}", name(each.tensor), each.bytes));
    }
    said.join(", ")
}

#[track_caller]
fn check(lines: &[&str], requests: &[&str], expected: &str) {
    assert_eq!(divided(lines, requests), expected, "{lines:?} {requests:?}");
}

#[test]
fn groups_follow_loops() {
    // A batch: nothing is sent.
    check(&["Ybo = Woh * Xbh"], &["X0=0"], "Y p., X p.");
    // Column and row: the hidden axis of two maps, and a sum over it.
    check(&["Hbh = Uho * Xbo", "Ybo = Doh * Hbh"], &["U0=1"], "H .q, U q., D .q, reduce Y q 192");
    // Both: each device has a part of the batch.
    check(
        &["Hbh = Uho * Xbo", "Ybo = Doh * Hbh"],
        &["U0=1", "X0=0"],
        "H pq, U q., X p., Y p., D .q, reduce Y q 96",
    );
    // A gradient of a parameter is a sum over the batch.
    check(&["Goh = Ybo * Xbh"], &["X0=0"], "Y p., X p., reduce G p 96");
    // A sum over both mesh axes at once.
    check(&["S = Xbh"], &["X0=0", "X1=1"], "X pq, reduce S pq 4");
}

#[test]
fn the_highest_digit_of_a_divided_axis_is_divided_with_it() {
    check(&["Yo'h = Xo"], &["Y0=0"], "Y p, X p");
    check(&["Yo'h = Xo", "Zbo = Xo * Kb"], &["Y0=0"], "Y p, X p, Z .p");
    // Back, the lower digit is a sum, and nothing is sent.
    check(&["Xo = Yo'h"], &["Y0=0"], "X p, Y p");
    // Over all digits, it is a sum of parts.
    check(&["S = Yo'h"], &["Y0=0"], "Y p, reduce S p 4");
    // Two devices cannot share three positions, so that these stay whole, and are brought together from what is divided.
    check(&["Yk'h = Xk"], &["Y0=0"], "Y p");
    check(&["Xk = Yk'h"], &["Y0=0"], "Y p, gather Y p 48");
    // A digit does not divide the number that it is part of.
    check(&["Yo'h = Xo"], &["X0=0"], "X p, gather X p 24");
    // Nobody has asked for the division of a digit: it gives way to one that somebody has asked for.
    check(&["Yo'h = Xo", "Zob = Xo * Kb"], &["Y0=0", "K0=0"], "Y p, Z .p, K p");
    check(&["Yo'h = Xo", "Zob = Xo * Kb"], &["Y0=0", "X0=1"], "Y p, X q, Z q., gather X q 24");
}

#[test]
fn what_is_read_elsewhere_is_brought_together() {
    // An axis that is not read along its loop has a group of its own.
    check(&["Yb = Xb+"], &["X0=0"], "X p, gather X p 32");
    check(&["Yb = Xb+"], &["Y0=0"], "Y p");
    // It is brought together once, until it is written again.
    check(&["Yb = Xb+", "Zb = Xb+"], &["X0=0"], "X p, gather X p 32");
    check(&["Yb = Xb+", "Xb = Yb", "Zb = Xb+"], &["X0=0"], "Y p, X p, gather X p 32, gather X p 32");
}

#[test]
fn turns_of_a_scan_send_each_time() {
    // A batch: nothing is sent in a turn, and a gradient is put together in each.
    let scan = [">Nbo = Xb@o", ">Nbo = Uoo * Hbo", ">Hbo = Nbo", ">Yb@o = Nbo", ">Goh = Nbo * Kbh"];
    check(&scan, &["X0=0"], "N p., X p.., H p., Y p.., K p., reduce G p 6 times 96");
    // What no turn changes is brought together once, before the first one; what one does change, in each.
    check(&[">Hb = Wb+ * Hb"], &["W0=0"], "W p, gather W p 32");
    check(&[">Nb = Hb+", ">Hb = Nb"], &["H0=0"], "N p, H p, gather H p 6 times 32");
    // Before a scan it is another thing than in it.
    check(
        &["Yb = Hb+", ">Nb = Hb+", ">Hb = Nb", "Zb = Hb+"],
        &["H0=0"],
        "H p, N p, gather H p 32, gather H p 6 times 32, gather H p 32",
    );
    // In a scan inside of a scan, in each turn of both; what only the outer one changes, before the inner one.
    check(
        &[">Wb = Vb", ">>Nb = Hb+ * Wb+", ">>Hb = Nb", ">Vb = Nb"],
        &["H0=0", "W0=0"],
        "W p, V p, N p, H p, gather H p 18 times 32, gather W p 6 times 32",
    );
    // The turns themselves are not divided.
    check(&[">Hb = Xb@"], &["X1=0"], "X1 in >Hb = Xb@");
}

#[test]
fn square_maps_are_divided_at_the_axis_that_is_chosen() {
    let residual = ["Yn = Wnh * Xh", "Zn = Yn", "Xn = Zn", "Vnh = Wnh"];
    check(&residual, &["X0=0"], "W0 and W1, joined; V0 and V1, joined");
    // The choice spreads to what is computed with the map. The result is divided at its own axis, so that the outputs are the better
    // choice: they are at the devices that compute them.
    check(&residual, &["X0=0", "W0=0!"], "Y p, W p., X p, Z p, V p., gather X p 16");
    check(&residual, &["X0=0", "W1=0!"], "Y p, W .p, X p, Z p, V .p, gather W p 64, gather X p 16");
    // Both cannot be chosen.
    check(&residual, &["W0=0!", "W1=0!"], "W0 and W1, joined");
    check(&["Ybo = Woh * Xbh"], &["W0=0!", "W1=0!"], "W0 and W1");
}

#[test]
fn conflicts_have_two_ends() {
    check(&["Ybo = Woh * Xbh"], &["X0=0", "X1=0"], "X0 and X1");
    check(&["Ybo = Woh * Xbh"], &["X0=0", "Y0=1"], "X0 is Y0");
    // A mesh axis of two devices does not divide an axis that was cut to an odd size.
    let mesh = Mesh { axes: vec![("p".into(), 4)] };
    let program = program(&["Yo = Xo"]);
    let routine = Routine { program: &program, tensors: &[0, 1], results: &[] };
    let groups = Groups::new(vec![vec![6], vec![6]], &[routine]);
    let request = Request { axes: vec![Axis { tensor: 0, place: 0 }], over: 0, chooses: false };
    let found = divide(&groups, &mesh, &[request], &[routine]).expect_err("6 is no multiple of 4");
    assert!(matches!(found[..], [Conflict::Uneven { size: 6, .. }]), "{found:?}");
}

#[test]
fn what_nobody_reads_sends_nothing() {
    let program = program(&["Sb = Xbh", "Tb = Xbh"]);
    let routine = Routine { program: &program, tensors: &[0, 1, 2], results: &[BufferId(0)] };
    let mesh = Mesh { axes: vec![("p".into(), 2)] };
    let divisions = [vec![None], vec![None, Some(0)], vec![None]];
    let sent: Vec<usize> = collectives(&routine, &mesh, &divisions).iter().map(|each| each.tensor).collect();
    assert_eq!(sent, [0]);
}

/// A parameter is divided where it is stored, its state and what is between them too, and gathered where a batch reads it. Its
/// gradient is summed up on every device.
#[test]
fn what_is_stored() {
    let mut program = program(&[
        "Ybo = Woh * Xbh",
        "Goh = Ybo * Xbh",
        "Soh = Soh * Goh",
        "Uoh = Soh",
        "Woh = Uoh",
        "Toh = Hho",
    ]);
    for nest in &mut program.nests[2..] {
        each_store(&mut nest.body, &mut |accumulate| *accumulate = None);
    }
    let at = |name: &str| program.buffers.iter().position(|buffer| buffer.name == name).expect("a tensor");
    let tensors: Vec<usize> = (0..program.buffers.len()).collect();
    let results = [BufferId(at("Y") as u32), BufferId(at("W") as u32)];
    let routine = Routine { program: &program, tensors: &tensors, results: &results };
    let groups = Groups::new(program.buffers.iter().map(Buffer::shape).collect(), &[routine]);
    let mesh = Mesh { axes: vec![("p".into(), 2)] };
    let request = Request { axes: vec![Axis { tensor: at("X"), place: 0 }], over: 0, chooses: false };
    let mut divisions = divide(&groups, &mesh, &[request], &[routine]).expect("a division");
    let fixed: Vec<bool> = tensors.iter().map(|tensor| *tensor == at("G")).collect();
    let stored = Stored { tensors: &[at("W"), at("S"), at("H")], fixed: &fixed, over: 0 };
    assert!(divide_stored(&stored, (&groups, &mesh), &[routine], &mut divisions).is_empty());
    for (name, wanted) in
        [("W", Some(0)), ("S", Some(0)), ("U", Some(0)), ("H", Some(0)), ("G", None), ("T", None)]
    {
        assert_eq!(divisions[at(name)], [wanted, None], "{name}");
    }
    let sent = collectives(&routine, &mesh, &divisions);
    let sent: Vec<_> = sent.iter().map(|each| (each.kind, each.tensor, each.bytes)).collect();
    assert_eq!(sent, [(CollectiveKind::AllGather, at("W"), 96), (CollectiveKind::AllReduce, at("G"), 96)]);
    let five = Mesh { axes: vec![("p".into(), 5)] };
    let whole = divide_stored(&stored, (&groups, &five), &[routine], &mut vec![vec![None; 2]; 16]);
    assert_eq!(whole, [at("W"), at("S"), at("H")]);
}

fn each_store(body: &mut [Statement], visit: &mut dyn FnMut(&mut Option<Binary>)) {
    for statement in body {
        match statement {
            Statement::Loop(each) => each_store(&mut each.body, visit),
            Statement::Store { accumulate, .. } => visit(accumulate),
            _ => {}
        }
    }
}
