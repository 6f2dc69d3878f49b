//! The plans of contractions: tables of offsets, and the other data for the kernel.
//!
//! Tables are filled and plans completed when the code is loaded. Contractions that differ only in their buffers share
//! a plan, and all share tables.

use std::fmt::Write;

use broadloom_loops::{Dtype, Program, Size};
use rustc_hash::FxHashMap;

use crate::contract::Contraction;
use crate::flat::Access;
use crate::names::comment;
use crate::order::Bare;
use crate::types::Real;

/// Plans and tables.
#[derive(Default)]
pub(crate) struct Plans {
    /// The name of each plan by its contents.
    plans: FxHashMap<String, String>,
    /// The name of each table by its extents and strides.
    tables: FxHashMap<Vec<(Size, Size)>, String>,
    /// Declarations of tables.
    memory: String,
    /// Declarations of plans.
    text: String,
    /// The statements that run when the code is loaded.
    load: String,
    reals: Vec<Real>,
    /// True if sizes are arguments: then tables and plans are filled when the sizes are known.
    sized: bool,
}

impl Plans {
    /// No plans yet.
    pub fn new(sized: bool) -> Plans {
        Plans { sized, ..Plans::default() }
    }

    /// Returns true if there are no plans.
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// The types that are computed with.
    pub fn reals(&self) -> &[Real] {
        &self.reals
    }

    /// The name of the plan for a contraction.
    pub fn plan(&mut self, program: &Program, vars: &[String], title: &str, found: &Contraction) -> String {
        let size = |loops: &[Bare]| loops.iter().map(|(_, extent, _)| *extent).product::<Size>();
        let stored = |access: &Access| match program.buffer(access.buffer).dtype {
            Dtype::F64 => "STORED_F64",
            Dtype::Bf16 => "STORED_BF16",
            Dtype::F16 => "STORED_F16",
            _ => "STORED_F32",
        };
        let mut table = |access: &Access, loops: &[Bare]| {
            self.table(loops.iter().map(|(var, extent, _)| (*extent, access.stride(*var))).collect())
        };
        let (at, am, ak) =
            (table(&found.a, &found.batch), table(&found.a, &found.rows), table(&found.a, &found.steps));
        let (bt, bk, bn) =
            (table(&found.b, &found.batch), table(&found.b, &found.steps), table(&found.b, &found.columns));
        let (ct, cm, cn) =
            (table(&found.c, &found.batch), table(&found.c, &found.rows), table(&found.c, &found.columns));
        let body = format!(
            "    .batch = {}, .m = {}, .n = {}, .k = {},\n    \
             .at = {at}, .am = {am}, .ak = {ak},\n    \
             .bt = {bt}, .bk = {bk}, .bn = {bn},\n    \
             .ct = {ct}, .cm = {cm}, .cn = {cn},\n    \
             .alpha = {}, .accumulate = {},\n    \
             .split_batch = {}, .split_rows = {}, .split_columns = {},\n    \
             .a_type = {}, .b_type = {}, .c_type = {},\n",
            size(&found.batch),
            size(&found.rows),
            size(&found.columns),
            size(&found.steps),
            Real::F64.number(found.alpha),
            found.accumulate,
            found.split[0],
            found.split[1],
            found.split[2],
            stored(&found.a),
            stored(&found.b),
            stored(&found.c),
        );
        if !self.reals.contains(&found.real) {
            self.reals.push(found.real);
        }
        let key = format!("{:?} {body}", found.real);
        if let Some(name) = self.plans.get(&key) {
            return name.clone();
        }
        let name = format!("contraction_{}", self.plans.len() + 1);
        let loops = [
            ("batch", &found.batch),
            ("rows", &found.rows),
            ("columns", &found.columns),
            ("summed over", &found.steps),
        ];
        let describe = |(what, loops): (&str, &Vec<Bare>)| {
            let each = |(var, extent, _): &Bare| {
                format!("{} ({extent})", vars.get(var.index()).map_or("?", String::as_str))
            };
            let list: Vec<String> = loops.iter().map(each).collect();
            format!("{what} {}", list.join(", "))
        };
        let described: Vec<String> =
            loops.into_iter().filter(|(_, loops)| !loops.is_empty()).map(describe).collect();
        let value = if self.sized { String::new() } else { format!(" = {{\n{body}}}") };
        let _ = write!(
            self.text,
            "\n{}{}static contraction {name}{value};\n",
            comment(title, ""),
            comment(&described.join("; "), ""),
        );
        if self.sized {
            let _ = writeln!(self.load, "    {name} = (contraction){{\n{body}    }};");
        }
        let _ = writeln!(self.load, "    prepare_{}(&{name});", found.real.prefix());
        self.plans.insert(key, name.clone());
        name
    }

    /// The name of a table.
    fn table(&mut self, loops: Vec<(Size, Size)>) -> String {
        if loops.is_empty() {
            return "table_0".into();
        }
        if let Some(name) = self.tables.get(&loops) {
            return name.clone();
        }
        let name = format!("table_{}", self.tables.len() + 1);
        let cells = loops.iter().map(|(extent, _)| *extent).product::<Size>();
        if self.sized {
            let _ = writeln!(self.memory, "static int64_t *{name};");
            let _ = writeln!(
                self.load,
                "    int64_t *new_{name} = realloc({name}, {cells} * sizeof(int64_t));\n    \
                 if (!new_{name})\n        return 1;\n    {name} = new_{name};"
            );
        } else {
            let _ = writeln!(self.memory, "static int64_t {name}[{cells}];");
        }
        let list = |numbers: Vec<String>| format!("(const int64_t[]){{{}}}", numbers.join(", "));
        let extents = list(loops.iter().map(|(extent, _)| extent.to_string()).collect());
        let strides = list(loops.iter().map(|(_, stride)| stride.to_string()).collect());
        let _ = writeln!(self.load, "    fill_table({name}, {}, {extents}, {strides});", loops.len());
        self.tables.insert(loops, name.clone());
        name
    }

    /// All declarations.
    pub fn text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let (when, head, result) = match self.sized {
            false => ("the code is loaded", "static __attribute__((constructor)) void", ""),
            true => ("sizes are known", "static int64_t", "    return 0;\n"),
        };
        let begin = if self.sized { "    scratch_bytes = 0;\n" } else { "" };
        format!(
            "\n/* Offsets of loops in arrays, filled when {when}. */\nstatic int64_t table_0[1];\n{}{}\n\
             {head} prepare_contractions(void)\n{{\n{begin}{}{result}}}\n",
            self.memory, self.text, self.load
        )
    }
}
