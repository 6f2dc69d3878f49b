//! Programs divided over eight devices compute what one device computes, and devices send each other what the table says.

use std::sync::Mutex;

use broadloom::{Backend, CollectiveKind, Mesh, Session, Settings, Shard};
use broadloom_lang::{Observer, OnMesh, Options, Program, Repeated, RunOptions, compile};
use libtest_mimic::{Failed, Trial};

/// A transformer of the library that learns to count.
pub const PROGRAM: &str = "\
dim batch = 8
data text : batch, 4 | = [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6], [4, 5, 6, 7], [5, 6, 7, 8], [6, 7, 8, 9], [7, 8, 9, 10]]
let logits = decoder_only(16, 32, layers = 1, heads = 8, hidden = 64)(text)
let loss = next_token_loss(logits, text)
repeat 50:
  minimise loss by adam(0.003)
";

/// A way to divide it: its name, the devices, what is divided over them, as the command writes it, and the mesh axis of
/// what is stored.
type Way = (&'static str, &'static [(&'static str, u64)], &'static [&'static str], Option<&'static str>);

const WAYS: &[Way] = &[
    ("data", &[("data", 8)], &["batch=data"], None),
    ("tensor", &[("model", 8)], &["*.heads=model", "*.feed.hidden=model"], None),
    ("mixed", &[("data", 4), ("model", 2)], &["batch=data", "*.heads=model", "*.feed.hidden=model"], None),
    ("stored", &[("data", 8)], &["batch=data"], Some("data")),
    (
        "mixed_stored",
        &[("data", 4), ("model", 2)],
        &["batch=data", "*.heads=model", "*.feed.hidden=model"],
        Some("data"),
    ),
    // Rows of a divided table are looked up after an all-gather, and its gradient is put together on every device.
    ("table", &[("model", 4)], &["*.table.vocabulary=model"], None),
];

pub fn trials(missing: bool) -> Vec<Trial> {
    let trial = |(name, mesh, shards, stored_over): &Way| {
        let mesh = Mesh { axes: mesh.iter().map(|(name, size)| ((*name).into(), *size)).collect() };
        let parts = shards.iter().filter_map(|shard| shard.split_once('='));
        let shards = parts.map(|(axes, over)| Shard { axes: axes.into(), over: over.into() }).collect();
        let on = OnMesh { mesh, shards, stored_over: stored_over.map(str::to_string) };
        Trial::test(format!("xla::mesh::{name}"), move || same(&on).map_err(Failed::from))
            .with_ignored_flag(missing)
    };
    let tried = |(name, program, mesh, shards, stored_over): &Tried| {
        let mesh = Mesh { axes: mesh.iter().map(|(name, size)| ((*name).into(), *size)).collect() };
        let shards = shards.iter().filter_map(|shard| Shard::read(shard)).collect();
        let on = OnMesh { mesh, shards, stored_over: stored_over.map(str::to_string) };
        let text = *program;
        Trial::test(format!("xla::mesh::{name}"), move || divides(text, &on).map_err(Failed::from))
            .with_ignored_flag(missing)
    };
    let block = || says_itself().map_err(Failed::from);
    let block = Trial::test("xla::mesh::block", block).with_ignored_flag(missing);
    let averaged = || averages_what_is_divided().map_err(Failed::from);
    let averaged = Trial::test("xla::mesh::averaged", averaged).with_ignored_flag(missing);
    let batches = [("matrices", MATRICES), ("lookups", LOOKUPS)].map(|(name, text)| {
        let divided = || divides(text, &over_data()).map_err(Failed::from);
        Trial::test(format!("xla::mesh::{name}"), divided).with_ignored_flag(missing)
    });
    let tried = TRIED.iter().map(tried);
    WAYS.iter().map(trial).chain(tried).chain([averaged, block]).chain(batches).collect()
}

/// Collects losses.
#[derive(Default)]
struct Losses(Vec<f64>);

impl Observer for Losses {
    fn printed(&mut self, _line: &str) {}

    fn repeated(&mut self, step: &Repeated<'_>) {
        self.0.extend(step.losses.iter().map(|(_, loss)| *loss));
    }
}

fn program() -> Program {
    let program = compile("count.loom", PROGRAM, &Options::default());
    assert!(program.is_ok(), "{:?}", program.diagnostics);
    program
}

/// Trains on one device or on several: the losses, and the session.
fn trained(on: Option<&OnMesh>) -> Result<(Vec<f64>, Session), String> {
    let settings = Settings { backend: Backend::Xla, ..Settings::default() };
    let options = RunOptions { settings, mesh: on.cloned(), ..RunOptions::default() };
    let mut losses = Losses::default();
    let session = program().run(&options, &mut losses).map_err(|wrong| wrong.message.clone())?;
    Ok((losses.0, session))
}

/// The losses of one device, which every test compares with.
static ALONE: Mutex<Vec<f64>> = Mutex::new(Vec::new());

pub fn alone() -> Result<Vec<f64>, String> {
    let mut known = ALONE.lock().map_err(|_| "training on one device has failed")?;
    if known.is_empty() {
        *known = trained(None)?.0;
    }
    Ok(known.clone())
}

fn same(on: &OnMesh) -> Result<(), String> {
    super::keep_running()?;
    let expected = alone()?;
    let (made, mut several) = trained(Some(on))?;
    if expected.len() != 50 || made.len() != 50 || expected[49] > 0.5 * expected[0] {
        return Err(format!("the losses of one device are no training: {expected:?}"));
    }
    for (step, (expected, made)) in expected.iter().zip(&made).enumerate() {
        if (expected - made).abs() > 1e-4 * expected.abs() {
            return Err(format!("after step {step} the loss is {made}, and {expected} on one device"));
        }
    }
    sends_what_is_predicted(&program(), on, &mut several)
}

/// Matrices of a divided batch stay on their devices: nothing is sent for functions of them.
const MATRICES: &str = "\
dim batch = 8
data a : batch | 4 -> 4 = normal(1)
data b : batch | 4 = normal(1)
let w = {w : 4 -> 4 = [[6, 0, 1, 0], [0, 7, 0, 1], [1, 0, 8, 0], [0, 2, 0, 9]]}
let s = a + w
let q, r = qr(s)
let l = cholesky(s @ transpose(s))
let loss = sum(square(solve(s, b))) + sum(logdet(s)) + sum(tanh(q)) + sum(tanh(r)) + sum(tanh(l)) + sum(lstsq(s, b))
repeat 5:
  minimise loss by sgd(0.01)
";

/// Rows of a divided batch that are sorted, and in which each device looks up its own: nothing is sent but what checks of indices need.
const LOOKUPS: &str = "\
dim batch = 8
data x : batch | 16 = normal(1)
data z : batch, 5 | 3 = normal(1)
data picks : batch | 1 as i32 = [[0], [1], [2], [3], [4], [5], [6], [7]]
let logits = {w : 16 -> 8 = normal(1)} @ x
let values, places = topk(\"... | v\", 2)(logits)
let picked = take_along(\"... | v\", logits, picks)
let sorted = sort(\"..., t | ...\")(z * {scale : 3 = [1, -2, 3]})
let loss = mean(square(values)) + mean(tanh(picked)) + mean(sorted ** 3)
repeat 5:
  minimise loss by sgd(0.01)
";

/// A recurrence of one's own, with a square map of what is carried.
const RECURRENCE: &str = "\
dim batch = 8
dim hidden = 16
data x : batch, 6 | 3 = normal(1)
data target : batch, 6 | 2 = normal(1)
def turn(x, h) = tanh({w} @ x + {u} @ h + {b : hidden})
let loss = mse({out} @ scan(turn, 0, x), target)
repeat 5:
  minimise loss by adam(0.01)
";

/// Recurrences of the library: in both directions of time, and with two things that are carried.
const LAYERS: &str = "\
dim batch = 8
data x : batch, 5 | 3 = normal(1)
data target : batch | 2 = normal(1)
let said = x |> gru(8) |> lstm(8)
def halves(a, b) = a + 0.5 * b
let loss = mse(linear(2)(fold(halves, 0, said)), target) + mean(square(cumsum(\"..., t | ...\")(said)))
repeat 5:
  minimise loss by adam(0.01)
";

/// One layer of the library. (XLA sends equal gradients once, those of both sides of a sum: in two layers, fewer than are predicted.)
const LAYER: &str = "\
dim batch = 8
data x : batch, 5 | 3 = normal(1)
data target : batch | 2 = normal(1)
def halves(a, b) = a + 0.5 * b
let loss = mse(linear(2)(fold(halves, 0, gru(8)(x))), target)
repeat 5:
  minimise loss by adam(0.01)
";

/// Attention whose heads share keys and values in groups. Where devices can share the groups evenly, these are divided with the heads;
/// elsewhere they stay whole on every device.
const GROUPED: &str = "\
dim batch = 8
data x : batch, 4 | 32 = normal(1)
data target : batch, 4 | 32 = normal(1)
let y = attention(8, groups = 4, causal = true)(x)
let z = y + attention(8, groups = 2, biased = true, rotation = rotary())(y)
let loss = mse(z, target)
repeat 5:
  minimise loss by adam(0.01)
";

/// A way to divide a program: its name, the program, the devices, what is divided, and the mesh axis of what is stored.
type Tried = (
    &'static str,
    &'static str,
    &'static [(&'static str, u64)],
    &'static [&'static str],
    Option<&'static str>,
);

const TRIED: &[Tried] = &[
    ("scan_data", RECURRENCE, &[("data", 8)], &["batch=data"], None),
    ("scan_tensor", RECURRENCE, &[("model", 8)], &["hidden=model", "turn.u[output, 0]=model"], None),
    (
        "scan_mixed",
        RECURRENCE,
        &[("data", 4), ("model", 2)],
        &["batch=data", "hidden=model", "turn.u[output, 0]=model"],
        None,
    ),
    ("scan_rows", RECURRENCE, &[("model", 4)], &["hidden=model", "turn.u[input, 0]=model"], None),
    ("scan_stored", RECURRENCE, &[("data", 8)], &["batch=data"], Some("data")),
    ("scan_layers", LAYERS, &[("data", 8)], &["batch=data"], None),
    ("scan_layers_stored", LAYERS, &[("data", 4)], &["batch=data"], Some("data")),
    (
        "scan_layer_mixed",
        LAYER,
        &[("data", 4), ("model", 2)],
        &["batch=data", "*.recall[output, 0]=model", "*.read[output, 0]=model"],
        None,
    ),
    ("grouped", GROUPED, &[("model", 8)], &["*.heads=model"], None),
    ("grouped_both", GROUPED, &[("model", 2)], &["*.heads=model"], None),
    ("grouped_both_mixed", GROUPED, &[("data", 4), ("model", 2)], &["batch=data", "*.heads=model"], None),
    ("grouped_mixed", GROUPED, &[("data", 2), ("model", 4)], &["batch=data", "*.heads=model"], Some("data")),
];

fn over_data() -> OnMesh {
    let shard = Shard { axes: "batch".into(), over: "data".into() };
    OnMesh { mesh: Mesh { axes: vec![("data".into(), 8)] }, shards: vec![shard], stored_over: None }
}

/// A program that names its devices itself runs on these.
fn says_itself() -> Result<(), String> {
    super::keep_running()?;
    let block = "mesh(data = 4, model = 2, shard = [\"batch=data\", \"hidden=model\", \"turn.u[output, 0]=model\"])\n";
    let losses = |text: &str| -> Result<(Vec<f64>, Session), String> {
        let settings = Settings { backend: Backend::Xla, ..Settings::default() };
        let options = RunOptions { settings, ..RunOptions::default() };
        let (program, mut losses) = (compile("block.loom", text, &Options::default()), Losses::default());
        let session = program.run(&options, &mut losses).map_err(|wrong| wrong.message.clone())?;
        Ok((losses.0, session))
    };
    let (expected, _) = losses(RECURRENCE)?;
    let text = format!("{block}{RECURRENCE}");
    let (made, mut several) = losses(&text)?;
    let near = |(expected, made): (&f64, &f64)| (expected - made).abs() <= 1e-4 * expected.abs();
    if expected.len() != 5 || made.len() != 5 || !expected.iter().zip(&made).all(near) {
        return Err(format!("the losses are {made:?}, and {expected:?} on one device"));
    }
    let program = compile("block.loom", &text, &Options::default());
    let on = program.devices(None).cloned().ok_or("the program has no mesh")?;
    sends_what_is_predicted(&program, &on, &mut several)
}

/// A divided program has the losses of one device without XLA, and sends what is predicted.
fn divides(text: &str, on: &OnMesh) -> Result<(), String> {
    super::keep_running()?;
    let program = || compile("divided.loom", text, &Options::default());
    let losses = |backend: Backend, mesh: Option<OnMesh>| -> Result<(Vec<f64>, Session), String> {
        let settings = Settings { backend, ..Settings::default() };
        let options = RunOptions { settings, mesh, ..RunOptions::default() };
        let mut losses = Losses::default();
        let session = program().run(&options, &mut losses).map_err(|wrong| wrong.message.clone())?;
        Ok((losses.0, session))
    };
    let (expected, _) = losses(Backend::Auto, None)?;
    let (made, mut several) = losses(Backend::Xla, Some(on.clone()))?;
    let near = |(expected, made): (&f64, &f64)| (expected - made).abs() <= 1e-4 * expected.abs();
    if expected.len() != 5 || made.len() != 5 || !expected.iter().zip(&made).all(near) {
        return Err(format!("the losses are {made:?}, and natively {expected:?}"));
    }
    sends_what_is_predicted(&program(), on, &mut several)
}

/// Two batches whose gradients are averaged, with everything divided over eight devices, have the losses of one batch on one device.
fn averages_what_is_divided() -> Result<(), String> {
    super::keep_running()?;
    let halves = "\
dim batch = 8
data text : 2, batch, 4 | = [
  [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6], [4, 5, 6, 7], [5, 6, 7, 8], [6, 7, 8, 9], [7, 8, 9, 10]],
  [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3], [7, 6, 5, 4], [8, 7, 6, 5], [9, 8, 7, 6], [9, 8, 7, 6]]]
let model = decoder_only(16, 32, layers = 1, heads = 8, hidden = 64)
let whole = next_token_loss(model(text), text)
";
    let as_one = format!("{halves}repeat 10:\n  minimise whole by adamw(0.003)\nprint whole\n");
    let by_parts = format!(
        "{halves}repeat 10:\n  repeat part in 0..2:\n    let loss = next_token_loss(model(text[part]), text[part])\n    \
         minimise loss by adamw(0.003) every 2\nprint whole\n"
    );
    let shard = Shard { axes: "batch".into(), over: "data".into() };
    let mesh = Mesh { axes: vec![("data".into(), 8)] };
    let on = OnMesh { mesh, shards: vec![shard], stored_over: Some("data".into()) };
    let last = |text: &str, backend: Backend, mesh: Option<OnMesh>| -> Result<f64, String> {
        let settings = Settings { backend, ..Settings::default() };
        let options = RunOptions { settings, mesh, ..RunOptions::default() };
        let mut lines: Vec<String> = Vec::new();
        let program = compile("parts.loom", text, &Options::default());
        program.run(&options, &mut lines).map_err(|wrong| wrong.message.clone())?;
        lines.first().and_then(|line| line.parse().ok()).ok_or_else(|| format!("{lines:?}"))
    };
    let expected = last(&as_one, Backend::Auto, None)?;
    let made = last(&by_parts, Backend::Xla, Some(on))?;
    match (made - expected).abs() < 1e-4 * expected {
        true => Ok(()),
        false => Err(format!("the last loss is {made}, and {expected} of one batch")),
    }
}

/// The collectives of each compiled routine are those of the table: their kinds, mesh axes and bytes.
fn sends_what_is_predicted(program: &Program, on: &OnMesh, session: &mut Session) -> Result<(), String> {
    let routines = program.routines();
    let divided = program.divide(&routines, on).map_err(|wrong| wrong.message.clone())?;
    for (at, routine) in routines.iter().enumerate() {
        let text = session.compiled_by_xla(routine).map_err(|error| error.to_string())?;
        let mut found: Vec<Sent> = text.lines().filter_map(|line| sent(line, &on.mesh)).collect();
        let predicted = divided.collectives.iter().filter(|each| each.routine == at);
        let mut predicted: Vec<Sent> =
            predicted.map(|each| (each.kind, each.over.clone(), each.bytes)).collect();
        found.sort();
        predicted.sort();
        if found != predicted {
            return Err(format!("`{}` sends {found:?}, and {predicted:?} is predicted", routine.name()));
        }
        if found.is_empty() {
            return Err(format!("`{}` sends nothing, so that nothing is compared", routine.name()));
        }
    }
    Ok(())
}

/// A collective: its kind, its mesh axes, its bytes.
type Sent = (CollectiveKind, Vec<usize>, u64);

/// The collective on a line of XLA's text. One of a kind that is not known has no mesh axes, so that it agrees with nothing.
fn sent(line: &str, mesh: &Mesh) -> Option<Sent> {
    let (_, rest) = line.split_once(" = ")?;
    let kinds = ["all-reduce(", "all-gather(", "reduce-scatter(", "all-to-all(", "collective-permute("];
    let (at, (shape, _)) =
        kinds.iter().enumerate().find_map(|(at, kind)| Some((at, rest.split_once(&format!(" {kind}"))?)))?;
    let kind = if at == 0 { CollectiveKind::AllReduce } else { CollectiveKind::AllGather };
    let groups = line.split_once("replica_groups=").map_or("", |(_, groups)| groups);
    let over = if at < 2 { mesh_axes(groups, mesh) } else { Vec::new() };
    Some((kind, over, bytes(shape)))
}

/// The bytes of `f32[2,16]{1,0}`.
fn bytes(shape: &str) -> u64 {
    let Some((element, rest)) = shape.split_once('[') else { return 0 };
    let sizes = rest.split(']').next().unwrap_or_default();
    let cells: u64 = sizes.split(',').filter_map(|size| size.parse::<u64>().ok()).product();
    let width = if element.ends_with("64") { 8 } else { 4 };
    cells * width
}

/// The mesh axes along which groups of devices go. XLA writes groups in three ways: `{{0,1},{2,3}}`, `[2,2]<=[4]` with a
/// transposition perhaps, and by a mesh of its own, `mesh['axis_0'=2,'axis_1'=2] {'axis_1'}`.
fn mesh_axes(groups: &str, mesh: &Mesh) -> Vec<usize> {
    let found = match groups {
        _ if groups.starts_with("{{") => listed(groups),
        _ if groups.starts_with("mesh[") => named(groups),
        _ => counted(groups),
    };
    let all: Vec<Vec<usize>> = (1..1 << mesh.axes.len())
        .map(|set: usize| (0..mesh.axes.len()).filter(|axis| set >> axis & 1 == 1).collect())
        .collect();
    all.into_iter().find(|axes| along(axes, mesh) == found).unwrap_or_default()
}

/// `mesh['axis_0'=2,'axis_1'=2] {'axis_1'}`, with `device_ids=([2,2]T(1,0))` between if devices are in another order.
fn named(groups: &str) -> Vec<Vec<u64>> {
    let (axes, rest) = groups.trim_start_matches("mesh[").split_once(']').unwrap_or_default();
    let (order, used) = rest.split_once('{').unwrap_or_default();
    let name = |text: &str| text.trim().trim_matches('\'').to_string();
    let axis = |text: &str| {
        let (axis, size) = text.split_once('=')?;
        Some((name(axis), size.parse().ok()?))
    };
    let own = Mesh { axes: axes.split(',').filter_map(axis).collect() };
    let used: Vec<String> = used.split('}').next().unwrap_or_default().split(',').map(name).collect();
    let places: Vec<usize> = (0..own.axes.len()).filter(|at| used.contains(&own.axes[*at].0)).collect();
    let devices = order.split_once("device_ids=(").map(|(_, order)| iota(order));
    let device = |at: u64| devices.as_ref().map_or(at, |devices| devices[at as usize]);
    let groups = along(&places, &own).into_iter();
    sorted(groups.map(|group| group.into_iter().map(device).collect()).collect())
}

fn sorted(mut groups: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort();
    groups
}

/// The groups of devices along some mesh axes, sorted.
fn along(axes: &[usize], mesh: &Mesh) -> Vec<Vec<u64>> {
    let mut groups: Vec<(Vec<u64>, Vec<u64>)> = Vec::new();
    for device in 0..mesh.devices() {
        let (mut rest, mut place) = (device, Vec::new());
        for (axis, (_, size)) in mesh.axes.iter().enumerate().rev() {
            place.push(if axes.contains(&axis) { 0 } else { rest % size });
            rest /= size;
        }
        match groups.iter_mut().find(|(known, _)| *known == place) {
            Some((_, group)) => group.push(device),
            None => groups.push((place, vec![device])),
        }
    }
    sorted(groups.into_iter().map(|(_, group)| group).collect())
}

/// `{{0,1},{2,3}}`
fn listed(groups: &str) -> Vec<Vec<u64>> {
    let inner = groups.split("}}").next().unwrap_or_default().trim_start_matches('{');
    let group = |text: &str| text.split(',').filter_map(|device| device.parse().ok()).collect();
    sorted(inner.split("},{").map(group).collect())
}

/// `[2,4]<=[4,2]T(1,0)`: the devices in rows.
fn counted(groups: &str) -> Vec<Vec<u64>> {
    let (rows, devices) = groups.split_once("<=").unwrap_or_default();
    let width = sizes(rows, '[', ']').last().copied().unwrap_or(1).max(1) as usize;
    sorted(iota(devices).chunks(width).map(<[u64]>::to_vec).collect())
}

/// The numbers between two signs.
fn sizes(text: &str, from: char, to: char) -> Vec<u64> {
    let rest = text.split_once(from).map_or("", |(_, rest)| rest);
    rest.split(to).next().unwrap_or_default().split(',').filter_map(|size| size.parse().ok()).collect()
}

/// `[4,2]T(1,0)`: numbers from 0 in a shape, transposed.
fn iota(text: &str) -> Vec<u64> {
    let shape = sizes(text, '[', ']');
    let is_transposed = text.split_once(']').is_some_and(|(_, rest)| rest.starts_with('T'));
    let order = if is_transposed { sizes(text, '(', ')') } else { (0..shape.len() as u64).collect() };
    let strides: Vec<u64> = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect();
    let device = |at: u64| {
        let (mut rest, mut device) = (at, 0);
        for axis in order.iter().rev().map(|axis| *axis as usize) {
            device += rest % shape[axis] * strides[axis];
            rest /= shape[axis];
        }
        device
    };
    (0..shape.iter().product()).map(device).collect()
}
