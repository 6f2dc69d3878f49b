//! Loops of which many iterations go side by side, in lanes.

use broadloom_loops::Local;
use broadloom_loops::function::Binary;

use super::Printer;
use super::expression::Level;
use crate::flat::{FlatStatement, Looped};
use crate::order::is_independent;
use crate::types::Real;

/// The number of partial results that a reduction without a vector instruction of its own keeps.
pub(super) const LANES: i64 = 64;
/// The number of iterations that go side by side.
const SIDE_BY_SIDE: u64 = 256;

impl Printer<'_> {
    /// A loop of which many iterations go through its body side by side.
    pub(super) fn interleaved(
        &mut self,
        each: &Looped,
        name: &str,
        (begin, end): (&str, &str),
        depth: usize,
    ) {
        let header = format!("for (int64_t group = {begin}; group < {end}; group += {SIDE_BY_SIDE}) {{");
        self.line(depth, &header);
        let lanes = format!(
            "const int lanes = {end} - group < {SIDE_BY_SIDE} ? (int)({end} - group) : {SIDE_BY_SIDE};"
        );
        self.line(depth + 1, &lanes);
        self.lane_block(&each.body, name, depth + 1);
        self.line(depth, "}");
    }

    /// A body for many iterations of the loop of some name: loops around lanes.
    fn lane_block(&mut self, body: &[FlatStatement], name: &str, depth: usize) {
        let apart = body.iter().any(|step| matches!(step, FlatStatement::Loop(_)));
        let stretches = body
            .chunk_by(|a, b| !matches!(a, FlatStatement::Loop(_)) && !matches!(b, FlatStatement::Loop(_)));
        for stretch in stretches {
            if let [FlatStatement::Loop(each)] = stretch {
                let inner = self.loop_name(each.var);
                let header = format!("for (int64_t {inner} = 0; {inner} < {}; {inner}++) {{", each.extent);
                self.line(depth, &header);
                self.lane_block(&each.body, name, depth + 1);
                self.line(depth, "}");
                self.names.release(&inner);
                continue;
            }
            // What is needed in another stretch is kept for each lane.
            let mut steps = stretch.to_vec();
            for step in &mut steps {
                if let (true, FlatStatement::Declare { local, value }) = (apart, &*step) {
                    let real = self.locals.get(local).copied().unwrap_or(Real::F32);
                    let array = format!("t{}", self.declared);
                    self.declared += 1;
                    self.line(depth, &format!("{} {array}[{SIDE_BY_SIDE}];", real.name()));
                    self.local_names.insert(*local, format!("{array}[lane]"));
                    *step = FlatStatement::Update { local: *local, accumulate: None, value: value.clone() };
                }
            }
            self.line(depth, "#pragma GCC ivdep");
            self.line(depth, "for (int lane = 0; lane < lanes; lane++) {");
            self.line(depth + 1, &format!("const int64_t {name} = group + lane;"));
            self.block(&steps, depth + 1);
            self.line(depth, "}");
        }
    }

    /// A loop with reductions that have no vector instruction: several partial results, one for each lane.
    pub(super) fn in_lanes(
        &mut self,
        each: &Looped,
        reductions: &[(Local, Binary)],
        name: &str,
        (begin, end): (&str, &str),
        depth: usize,
    ) {
        self.line(depth, "{");
        let mut outside = Vec::new();
        for (local, function) in reductions {
            let (real, outer) = (self.locals.get(local).copied().unwrap_or(Real::F32), self.local(*local));
            let lanes = format!("{outer}_lanes");
            let neutral = real.number(function.neutral().unwrap_or(0.0));
            self.line(depth + 1, &format!("{} {lanes}[{LANES}];", real.name()));
            self.line(depth + 1, &format!("for (int lane = 0; lane < {LANES}; lane++)"));
            self.line(depth + 2, &format!("{lanes}[lane] = {neutral};"));
            self.local_names.insert(*local, format!("{lanes}[lane]"));
            outside.push((*local, *function, real, outer, lanes));
        }
        let header = format!("for (int64_t group = {begin}; group < {end}; group += {LANES}) {{");
        self.line(depth + 1, &header);
        let lanes_now =
            format!("const int lanes = {end} - group < {LANES} ? (int)({end} - group) : {LANES};");
        self.line(depth + 2, &lanes_now);
        if is_independent(each) {
            self.line(depth + 2, "#pragma GCC ivdep");
        }
        self.line(depth + 2, "for (int lane = 0; lane < lanes; lane++) {");
        self.line(depth + 3, &format!("const int64_t {name} = group + lane;"));
        self.block(&each.body, depth + 3);
        self.line(depth + 2, "}");
        self.line(depth + 1, "}");
        for (local, function, real, outer, lanes) in outside {
            let joined = |a: &str, b: String| {
                self.binary(function, (a.to_string(), Level::Atom), (b, Level::Atom), real).0
            };
            let halves = joined(&format!("{lanes}[lane]"), format!("{lanes}[lane + half]"));
            let whole = joined(&outer, format!("{lanes}[0]"));
            self.line(depth + 1, &format!("for (int half = {}; half > 0; half /= 2)", LANES / 2));
            self.line(depth + 2, "for (int lane = 0; lane < half; lane++)");
            self.line(depth + 3, &format!("{lanes}[lane] = {halves};"));
            self.line(depth + 1, &format!("{outer} = {whole};"));
            self.local_names.insert(local, outer);
        }
        self.line(depth, "}");
    }
}
