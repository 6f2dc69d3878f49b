//! After every edit, answers about a program that is edited equal those about the same text read afresh.
//! `BROADLOOM_EDITS` says how many edits are made.

use std::path::PathBuf;

use broadloom_ide::{Analysis, Editing, Listing, Text, check, diagnostics, hints, lint};

/// Programs with everything that one statement can leave behind for the next: sizes, functions with parameters, layers that
/// are used twice, modules, states, routines, names that are bound again.
const PROGRAMS: [&str; 4] = [
    "\
dim batch in 1..64 = 32
dim classes = 10
data x : batch | 784
data target : batch | classes
# A layer.
def dense(size)(x) = relu({w} @ x + {b : size})
def twice(size)(x) =
  let inner = x |> dense(size)
  inner |> dense(size)
let hidden = x |> dense(64)
let shared = dense(32)
let first = hidden |> shared
let second = hidden |> shared
let both = first + second
let deep = [both |> dense(16), both |> twice(16)]
let y = einsum(\"i -> h; ... | i => ... | h\", {v}, both)
set y.h = classes
let scale = 2 * batch
let loss = mean(square(y - target))
state total : 1
total += loss
let y2 = y + later_bias
let bias2 = {b2 : 10} + y
repeat step in 0..10:
  minimise loss by sgd(0.1)
  print \"loss\", loss every 5
print sum(bias2)
",
    "\
import \"parts.loom\" as parts
data a : 3 | 4
let b = a |> parts.half
let c = b |> parts.wide(8)
def f(x) = x + offset
let offset = 1
let d = f(c)
def g(n)(x) = if n > 0 then g(n - 1)(relu({w} @ x)) else x
let e = d |> g(3)
let c = e |> linear(5)
def h(x : ..b.. | n) : ..b.. | n = 2 * x
let i = h(c)
for k in 0..3:
  let part = i |> linear(k + 2)
let j = [linear(4), relu, linear(2)]
let k = j(i)
let l = softmax(k)
print mean(l)
",
    "\
data x : 2, 3
data y : 3, 4
let z = einsum(\"i j; j k => i k\", x, y)
let z1 = z + z
let z2 = concat(z1, z, along = \"i\")
let z3 = z2 |> linear(7)
let z4 = z3 + {c}
let z5 = z4 * z3
let z6 = reshape(z5, \"8, 7\")
let z7 = sum(z6)
let z8 = z7 + unknown_name
let z9 = z + z4
",
    "\
def unused(x) = x + missing
def other(n)(x) = if n > 1 then x + absent else x
data x : 4 | 5
let y = x |> other(1)
let z = y |> linear(3)
let a = [z, z]
let b = a[0] + a[1]
let c = b |> other(0)
let d = relu(c)
let missing = 3
let absent = missing + 1
print sum(d)
",
];

const MODULE: &str = "def half(x) = 0.5 * x\ndef wide(size)(x) = {w} @ x + {b : size}\n";

/// The pieces that are typed: parts of programs, and letters that break them.
const PIECES: [&str; 32] = [
    "\nlet missing = )\n",
    "absent",
    "x",
    "y",
    " + ",
    "\n",
    "let z = x\n",
    "(",
    ")",
    "{w}",
    "\"",
    "é",
    "# ",
    ": 32 | 10",
    " |> relu",
    "\r\n",
    "",
    "",
    "",
    "",
    "  ",
    "def f(x) = x\n",
    "10",
    ".h",
    "import \"parts.loom\"\n",
    "batch",
    "\nlet again = dense(8)\n",
    "let first = x |> linear(3)\n",
    "|> dense(12)",
    "dim n = 4\n",
    "\ndata later_bias : 10\n",
    "print x\n",
];

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// A place in a text: at its beginning, in its last tenth, anywhere, and most often near the place before.
    fn place(&mut self, text: &str, before: usize) -> usize {
        let at = match self.below(10) {
            0 => self.below(20),
            1 | 2 => text.len() * 9 / 10 + self.below(text.len() / 10 + 1),
            3 | 4 => self.below(text.len() + 1),
            _ => (before + self.below(30)).saturating_sub(10),
        };
        text.floor_char_boundary(at.min(text.len()))
    }
}

fn text(program: &str, module: &str) -> Text {
    let folder = PathBuf::from("/no such folder");
    let unsaved = [(folder.join("parts.loom"), module.to_string())].into();
    Text { folder, unsaved, ..Text::new("edited.loom", program) }
}

/// Everything that an editor shows, serialised.
fn answers(mut analysis: Analysis) -> [String; 4] {
    let found = format!("{:?}", diagnostics(&mut analysis));
    let checked = serde_json::to_string(&check(&mut analysis, Listing::All)).expect("plain data");
    let shown = format!("{:?}", hints(&mut analysis));
    [found, checked, shown, format!("{:?}", lint(&mut analysis))]
}

#[test]
fn answers_equal_those_of_a_fresh_check() {
    let edits: usize =
        std::env::var("BROADLOOM_EDITS").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut editing, mut program, mut module) = (Editing::default(), String::new(), MODULE.to_string());
    let (mut base, mut reused, mut start) = (PROGRAMS[0], 0, 0);
    for edit in 0..edits {
        if edit % 40 == 0 || program.len() > 3_000 {
            base = PROGRAMS[random.below(PROGRAMS.len())];
            program = base.to_string();
        } else if random.below(100) == 0 {
            module = format!("{MODULE}def more(x) = x + {edit}\n");
        } else if random.below(4) == 0 {
            // Edits are taken back soon: programs that are wrong everywhere say little.
            program = base.to_string();
        } else {
            start = random.place(&program, start);
            let end = program.ceil_char_boundary((start + random.below(6)).min(program.len()));
            program.replace_range(start..end, PIECES[random.below(PIECES.len())]);
        }
        let text = text(&program, &module);
        let edited = answers(Analysis::edited(&text, &mut editing));
        reused += usize::from(editing.reused() > 0);
        if random.below(2) == 0 {
            editing.prepare();
        }
        for (edited, fresh) in edited.iter().zip(answers(Analysis::new(&text))) {
            assert_eq!(*edited, fresh, "after {edit} edits:\n{program}");
        }
    }
    assert!(reused * 10 > edits, "{reused} of {edits} checks went on from a checkpoint");
}
