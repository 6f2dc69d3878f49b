//! After every edit, answers about a program that is edited equal those about the same text read afresh.
//! `BROADLOOM_EDITS` says how many edits are made.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use broadloom_ide::{Analysis, Editing, Listing, Text, check, diagnostics, hints, lint};
use broadloom_testing::{Dice, setting};

/// Programs with everything that one statement can leave behind for the next: sizes, functions with parameters, layers that
/// are used twice, modules, states, routines, names that are bound again.
const PROGRAMS: [&str; 8] = [
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
    "\
let early = 2 * 3
data x = load(\"table.csv\")
data more : 2 = load(\"pair.csv\")
let wrong = early + nobody_at_all
let y = x |> linear(4)
let train = batches(\"table.csv\", size = 2)
data row : 2 | ... = train
let z = y |> linear(3)
let a = z + more
let b = [z, z]
let c = b[0] + b[1]
def last(x) = x + {w}
let d = last(c)
print mean(d)
",
    "\
let rows = 4
def one(x) = x @ {w : rows -> ...}
def two(x) = one(relu(x)) + offset
def three(n)(x) = if n > rows then two(x) else one(x)
def four(x : 3) = three(2)(x) + missing_here
def five(x : a, b) : b, a = x
def six(x) =
  def inner(y) = y + {b}
  inner(x) + inner(x)
def seven(x) = six(seven_of(x))
def eight(x) = z + x
let offset = 2
data z : 3
let y = z |> six
let y2 = y |> six
def nine(x) = nine(x)
def ten(x) = eleven(x)
def eleven(x) = ten(x)
let y3 = y2 + 1
",
    // Statements over several lines, warnings that later statements decide, and comments that silence them.
    "\
import \"parts.loom\"
dim n in 1..8 = 4
data rows : 4 |
data columns : 4
let table = rows * columns  # allow W0501
let product = columns *
  rows
let outer = columns @ columns.T
let turned = columns.T
def scaled(x) =
  # a comment
  let inner = x
    |> relu
  2 * inner
let big = [
  scaled(rows),
  product
]
let flat = (big[0]
  + big[1])
if n > 2:
  let extra = scaled(table)
else:
  let extra = table
let all = sum(product)
let again = sum(\"i | => \", rows) + all
let w = turned @ outer
let last = {weights} @ columns |>
  parts.wide(3)
print \"sum {all} of {sum(product)}\", again
",
    // Types of numbers, training, and states.
    "\
data ids : 3 | as i64 = [0, 2, 1]
data x : 3 | 4
let y = x |> linear(4)
let z = y + 300
let small = i8(z)
let masked = where(x > 0, y, small)
let loss = mean(square(masked - x))
let bits = ids + 1
state steps : 1 as i8
steps += 1
let loud = loss * steps
repeat 10:
  minimise loss by adam(0.01)
  print loss every 2
let after = y + 1
let count = after * ids
print sum(after), loud
",
];

/// The tables that programs load, with some number of rows.
fn write_tables(folder: &Path, rows: usize) {
    let row = |at: usize| format!("{at}.5,{}\n", 2 * at);
    std::fs::write(folder.join("table.csv"), (0..rows).map(row).collect::<String>()).expect("a table");
    std::fs::write(folder.join("pair.csv"), "1.5\n2.5\n").expect("a table");
}

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("broadloom-edits-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::canonicalize(folder).expect("a folder")
}

const MODULE: &str = "def half(x) = 0.5 * x\ndef wide(size)(x) = {w} @ x + {b : size}\n";

/// The pieces that are typed: parts of programs, and letters that break them.
const PIECES: [&str; 58] = [
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
    "\"\"\"",
    "'''",
    "\n  |> relu",
    "\nelse:\n",
    "or ",
    "else",
    "not ",
    "-",
    "@ ",
    ".T",
    "sum(",
    "*",
    "# allow W0501\n",
    "  # allow W0501, W0511",
    "[",
    "]",
    "{",
    "}",
    "\t",
    "\r",
    " as i8",
    "i64(",
    "dim n in 2..4\n",
    "\nset scores.h = 8\n",
    "    let deep = x\n",
    "// ",
];

/// A place in a text: at its beginning, in its last tenth, anywhere, and most often near the place before.
fn place(random: &mut Dice, text: &str, before: usize) -> usize {
    let at = match random.below(10) {
        0 => random.below(20),
        1 | 2 => text.len() * 9 / 10 + random.below(text.len() / 10 + 1),
        3 | 4 => random.below(text.len() + 1),
        _ => (before + random.below(30)).saturating_sub(10),
    };
    text.floor_char_boundary(at.min(text.len()))
}

fn text(folder: &Path, program: &str, module: &str) -> Text {
    let folder = folder.to_path_buf();
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
    let edits = setting("BROADLOOM_EDITS", 10_000) as usize;
    let (mut random, folder) = (Dice::new(1), folder("random"));
    write_tables(&folder, 4);
    let (mut editing, mut program, mut module) = (Editing::default(), String::new(), MODULE.to_string());
    let (mut base, mut reused, mut given_up, mut start) = (PROGRAMS[0], 0, 0, 0);
    for edit in 0..edits {
        if edit % 40 == 0 || program.len() > 3_000 {
            base = random.pick(&PROGRAMS);
            program = base.to_string();
        } else if random.below(100) == 0 {
            module = format!("{MODULE}def more(x) = x + {edit}\n");
        } else if random.below(4) == 0 {
            // Edits are taken back soon: programs that are wrong everywhere say little.
            program = base.to_string();
        } else {
            start = place(&mut random, &program, start);
            let end = program.ceil_char_boundary((start + random.below(6)).min(program.len()));
            program.replace_range(start..end, random.pick(&PIECES));
        }
        if random.below(50) == 0 {
            write_tables(&folder, 3 + random.below(5));
        }
        let text = text(&folder, &program, &module);
        // A check that was given up leaves nothing behind: neither for the same text, nor for one that is edited once more.
        if random.below(5) == 0 {
            let left = Cell::new(random.below(60));
            let is_over = || left.replace(left.get().saturating_sub(1)) == 0;
            given_up += usize::from(Analysis::edited_unless(&text, &mut editing, &is_over).is_none());
            if random.below(2) == 0 {
                continue;
            }
        }
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
    assert!(given_up * 40 > edits, "{given_up} of {edits} checks were given up");
    std::fs::remove_dir_all(folder).expect("the folder is removed");
}

/// Statements after `load` go on from what was evaluated before, and a file that has not changed is read once.
#[test]
fn files_are_read_once() {
    let folder = folder("once");
    write_tables(&folder, 4);
    let lines = |last: usize| {
        let rest: String = (0..12).map(|at| format!("let y{at} = x + {at}\n")).collect();
        format!("data x = load(\"table.csv\")\n{rest}print sum(y{last})\n")
    };
    let mut editing = Editing::default();
    let mut checked = |last: usize| {
        let mut analysis = Analysis::edited(&text(&folder, &lines(last), ""), &mut editing);
        let shape = check(&mut analysis, Listing::All).tensors[0].shape.clone();
        (shape, editing.reused() > 0)
    };
    assert_eq!(checked(1), ("4, 2".to_string(), false));
    checked(2);
    assert_eq!(checked(3), ("4, 2".to_string(), true));
    // Another length, or another time: the file is read again.
    write_tables(&folder, 5);
    assert_eq!(checked(4), ("5, 2".to_string(), false));
    checked(5);
    let file = folder.join("table.csv");
    let changed = std::fs::File::options().write(true).open(&file).expect("a table");
    changed.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("a time");
    assert_eq!(checked(6), ("5, 2".to_string(), false));
    std::fs::remove_dir_all(folder).expect("the folder is removed");
}

/// After an edit at the end of a long program, little of it is read and evaluated again.
#[test]
fn an_edit_at_the_end_of_a_long_program() {
    let program = |last: &str| {
        let rest: String = (1..200).map(|at| format!("let x{at} = x{} |> relu\n", at - 1)).collect();
        format!("data x0 : 3\n{rest}let last = {last}\n")
    };
    let mut editing = Editing::default();
    let mut unread = |last: &str| {
        let analysis = Analysis::edited(&Text::new("long.loom", program(last)), &mut editing);
        (analysis.is_ok(), editing.reused(), editing.unread())
    };
    assert_eq!(unread("x1"), (true, 0, 0));
    assert_eq!(unread("x2"), (true, 0, 0));
    // Two statements before the edit are evaluated again, and one more is read.
    assert_eq!(unread("x3"), (true, 198, 197));
    assert_eq!(unread("x3 +"), (false, 198, 197));
    assert_eq!(unread("x3 + x4"), (true, 198, 197));
}

/// The memory that is kept between checks does not grow with the number of edits.
#[test]
fn memory_is_bounded_over_many_edits() {
    let body = "data x : 3\nlet k = 1\ndef outer(x) =\n  def inner(y) = y + {b}\n  inner(x)\n";
    let program = |edit: usize| {
        let rest: String = (0..20).map(|at| format!("let y{at} = outer(x)\n")).collect();
        format!(
            "{body}{rest}let last = outer(x) + {edit}\ndef again(x) =\n  def inner(y) = y\n  inner(x)\nlet z = again(x)\n"
        )
    };
    let mut editing = Editing::default();
    let mut most = 0;
    for edit in 0..setting("BROADLOOM_EDITS", 1_000) as usize {
        let analysis =
            Analysis::edited(&text(Path::new("/no such folder"), &program(edit), ""), &mut editing);
        assert!(analysis.is_ok(), "{:?}", analysis.diagnostics());
        if edit % 2 == 0 {
            editing.prepare();
        }
        match edit {
            0..10 => most = most.max(editing.scopes()),
            _ => assert!(editing.reused() > 0 && editing.scopes() <= most, "{} scopes", editing.scopes()),
        }
    }
}
