//! The parser: the strength of operators, continued lines, and large programs.

use crate::syntax;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use syntax::programs::Choices;
use syntax::tree::tree;
use syntax::{bytes, check_laws, config, formatted, mistakes, read};

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&tree(text));
    assert!(check_laws(text));
}

#[test]
fn operators_by_strength() {
    check(
        r#"
a + b * c - d
a - b - c
a ** b ** c
-a ** b
-a * b
a ** -b ** c
not a == b
not a and not b or c
a < b and c >= d or e != f
a |> f(1) |> g
a or b |> f
w @ x + b
a % b @ c / d
- - a
a + not b + c
if a then b else if c then d else e + f
if a then 0..b else c |> d
a + 1..b * 2
f(x)(y)[z].grad.in(rate = -1, 3,)
3.grad
1.5.or
[a, b + c,]
[]
[a..b for i in c..d]
{w}
{w : 3 as f32 = a + b}
"#,
        expect![[r#"
            (- (+ a (* b c)) d)
            (- (- a b) c)
            (** a (** b c))
            (- (** a b))
            (* (- a) b)
            (** a (- (** b c)))
            (not (== a b))
            (or (and (not a) (not b)) c)
            (or (and (< a b) (>= c d)) (!= e f))
            (|> (|> a f(1)) g)
            (|> (or a b) f)
            (+ (@ w x) b)
            (/ (@ (% a b) c) d)
            (- (- a))
            (+ a (not (+ b c)))
            (if a b (if c d (+ e f)))
            (if a (.. 0 b) (|> c d))
            (.. (+ a 1) (* b 2))
            f(x)(y)[z].grad.in(rate = (- 1), 3)
            3.grad
            1.5.or
            [a, (+ b c)]
            []
            [(.. a b) for i in (.. c d)]
            {w}
            {w : [3] as f32 = (+ a b)}
        "#]],
    );
}

#[test]
fn statements_and_shapes() {
    check(
        r#"
import "a.loom"
import "a.loom" as b
dim n = 3
dim n in 1..a + b
dim n in 1..2 = 2
data x : 3
data x = f(1)
data x : a, b c|d->e as f32 = f(1)
state x
state x : ... | ..r.. , 3 -> _ 3:rgb (a + 1):b n:m
state x : |
state x : ->
state x : 3 | ->
let a, b = c
let a =-1
def f() = 1
def f(a, b = 1,)(x) =-x
def f(x : (2 * n), y : b | n = 3) : n = x
def f(x) : [n; [b | n;]; m] = x
def f(x) =
  let y = x
  -y
op o(a, b): v = a; g1 =+ g
op o(a):
  v = f(a,
    b)
  g1 =- g
    * a
set a.b = 3
for a in b: for c in d: print c
repeat 3: f(x)
repeat i in 0..3:
  f(x)
  f(y)
backward a + b
minimise a + b by c + d
print a
print a, b every c
save a + b to "c"
w = -a
w =-a
w[3] =:max a by "@"
w =max(a, b)
w =max
w =min -max
{w} =: a
"#,
        expect![[r#"
            import "a.loom"
            import "a.loom" as b
            dim n = 3
            dim n in 1 (+ a b)
            dim n in 1 2 = 2
            Data x : [3]
            Data x = f(1)
            Data x : [a, b, c] | [d] -> [e] as f32 = f(1)
            State x
            State x : [...] | [..r.., 3] -> [_, 3:rgb, (+ a 1):b, n:m]
            State x : [] | []
            State x : [] -> []
            State x : [3] | [] -> []
            let a, b = c
            let a = (- 1)
            def f() = 1
            def f(a, b = 1)(x) = (- x)
            def f(x : [(* 2 n)], y : [b] | [n] = 3) : [n] = x
            def f(x) : list of : [n]; : list of : [b] | [n]; : [m] = x
            def f(x) =
              let y = x
              (- y)
            op o(a, b) ["v = a; g1 =+ g"]
            op o(a) ["v = f(a,\n    b)", "g1 =- g\n    * a"]
            set a.b = 3
            for a in b
              for c in d
                print c
            repeat 3
              f(x)
            repeat i (.. 0 3)
              f(x)
              f(y)
            backward (+ a b)
            minimise (+ a b) by (+ c d)
            print a
            print a, b every c
            save (+ a b) to "c"
            w = (- a)
            w =- a
            w[3] =:max a by "@"
            w = max(a, b)
            w = max
            w =min (- max)
            new w =: a
        "#]],
    );
}

#[test]
fn where_lines_go_on() {
    check(
        "
let a = b +
c
let d = e
  + f  # a comment
    # another one

  - g
-h
let i = j
|> k
print l,
m
let n = if o
  then p
  else q
let r = s(
t
,
u
)
for v in [1,
  2]:
  -w
  -x
    - y
let z = a.in
let b = c.else
",
        expect![[r#"
            let a = (+ b c)
            let d = (- (+ e f) g)
            (- h)
            let i = (|> j k)
            print l, m
            let n = (if o p q)
            let r = s(t, u)
            for v in [1, 2]
              (- w)
              (- (- x) y)
            let z = a.in
            let b = c.else
        "#]],
    );
}

#[test]
fn numbers_and_dots() {
    check(
        "
1_000
1e3 - 1e-3 + 2.5E+2
0..10
0.5..1.5
1..n.d
a.b..c.d
",
        expect![[r#"
            1000
            (+ (- 1000 0.001) 250)
            (.. 0 10)
            (.. 0.5 1.5)
            (.. 1 n.d)
            (.. a.b c.d)
        "#]],
    );
}

/// A random tree, and its text with parentheses around every operator.
fn random_tree(choices: &mut Choices<'_>, depth: usize) -> (String, String) {
    let inner = |choices: &mut Choices<'_>| random_tree(choices, depth.saturating_sub(1));
    match choices.pick(if depth > 0 { 12 } else { 1 }) {
        1 => {
            let (tree, text) = inner(choices);
            (format!("(- {tree})"), format!("(- {text})"))
        }
        2 => {
            let (tree, text) = inner(choices);
            (format!("(not {tree})"), format!("(not {text})"))
        }
        3 => {
            let ((a, b), (c, d), (e, f)) = (inner(choices), inner(choices), inner(choices));
            (format!("(if {a} {c} {e})"), format!("(if {b} then {d} else {f})"))
        }
        4 => {
            let ((a, b), (c, d)) = (inner(choices), inner(choices));
            (format!("(.. {a} {c})"), format!("({b} .. {d})"))
        }
        5 => {
            let ((a, b), (c, d)) = (inner(choices), inner(choices));
            (format!("{a}({c})"), format!("{b}({d})"))
        }
        6 => {
            let (tree, text) = inner(choices);
            (format!("{tree}.d"), format!("{text}.d"))
        }
        7..12 => {
            let signs =
                ["+", "-", "*", "/", "%", "@", "**", "|>", "or", "and", "<", "<=", ">", ">=", "==", "!="];
            let sign = signs[choices.pick(signs.len())];
            let ((a, b), (c, d)) = (inner(choices), inner(choices));
            (format!("({sign} {a} {c})"), format!("({b} {sign} {d})"))
        }
        _ => ("x".to_owned(), "x".to_owned()),
    }
}

/// The text without the parenthesis at `open` and the one that closes it.
fn without(text: &str, open: usize) -> String {
    let mut depth = 0;
    let close = text[open..].find(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth == 0
    });
    let close = open + close.expect("it is closed");
    format!("{} {} {}", &text[..open], &text[open + 1..close], &text[close + 1..])
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn trees_are_read_as_they_are_meant(choices in bytes(100)) {
        let (expected, text) = random_tree(&mut Choices::new(&choices), 6);
        prop_assert_eq!(tree(&text), format!("{expected}\n"));
        let short = formatted(&text);
        prop_assert_eq!(tree(&short), format!("{expected}\n"), "{}", short);
        // Every parenthesis is needed, except those of calls,
        // and those around `not`, which help the reader.
        for (open, _) in short.match_indices('(') {
            let is_call = short[..open].ends_with(['x', 'd', ')']);
            let is_not = short[open..].starts_with("(not");
            let shorter = without(&short, open);
            let (parsed, _) = read(&shorter);
            let changes = || tree(&shorter) != format!("{expected}\n");
            prop_assert!(is_call || is_not || !parsed.diagnostics.is_empty() || changes(), "{}\n{}", short, shorter);
        }
    }
}

/// Checks that a text is parsed and formatted without
/// mistakes, in linear time and without a deep stack.
fn is_read(text: &str) {
    assert!(check_laws(text), "{:?}", mistakes(text));
}

/// Checks that a text is nested too deeply, that this
/// is reported once, and that the next line is parsed.
fn is_too_deep(text: &str) {
    let text = format!("{text}\nlet after = 1\n");
    assert!(!check_laws(&text));
    let found = mistakes(&text);
    assert!(matches!(&found[..], [(_, "E0109")]), "{found:?}");
    let (parsed, names) = read(&text);
    let tree = syntax::tree::survivors(&text, &parsed.file, &names);
    assert!(tree.ends_with("let after = 1\n"), "{}", &tree[..tree.len().min(200)]);
}

#[test]
fn long_chains() {
    is_read(&format!("x{}", " + x".repeat(100_000)));
    for sign in ["-", "*", "/", "%", "@", "|>", "or", "and"] {
        is_read(&format!("x{}", format!(" {sign} x").repeat(10_000)));
    }
    is_read(&format!("x{}", " * x + x".repeat(50_000)));
    is_read(&format!("x{}", ".d".repeat(100_000)));
    is_read(&format!("x{}", "(x)".repeat(50_000)));
    is_read(&format!("x{}", "[x]".repeat(50_000)));
    is_read(&format!("x{}", " + (x)  # c\n  ".repeat(20_000)));
    is_too_deep(&format!("x{}", " ** x".repeat(100_000)));
}

#[test]
fn long_lists() {
    is_read(&format!("f({})", "x = x, ".repeat(100_000)));
    is_read(&format!("[{}]", "\"a\", ".repeat(100_000)));
    is_read(&format!("[{}]", "x,  # c\n".repeat(50_000)));
    is_read(&format!("print x{}", ", x".repeat(100_000)));
    is_read(&format!("let x{} = x", ", x".repeat(100_000)));
    is_read(&format!("data x : 1{}", " 1:x".repeat(100_000)));
    is_read(&"x\n\n\n# c\n".repeat(50_000));
    is_read(&format!("for x in x:\n{}", " x # c\n # d\n".repeat(50_000)));
    is_read(&format!("op o(a):\n{}", " v = f(a, # c\n b)\n".repeat(20_000)));
    let arguments: Vec<String> = (0..50_000).map(|number| format!("a{number}")).collect();
    is_read(&format!("def f({}) = x", arguments.join(", ")));
}

#[test]
fn deep_expressions() {
    is_too_deep(&format!("{}x{}", "(".repeat(10_000), ")".repeat(10_000)));
    is_too_deep(&format!("{}x{}", "[".repeat(10_000), "]".repeat(10_000)));
    is_too_deep(&format!("{}x{}", "f(".repeat(10_000), ")".repeat(10_000)));
    is_too_deep(&format!("{}x{}", "x[".repeat(10_000), "]".repeat(10_000)));
    is_too_deep(&format!("{}x{}", "{x = ".repeat(10_000), "}".repeat(10_000)));
    is_too_deep(&format!("{}x{}", "{x : (".repeat(10_000), ")}".repeat(10_000)));
    is_too_deep(&format!("{}x{}", "[x for x in ".repeat(10_000), "]".repeat(10_000)));
    is_too_deep(&format!("{}x", "-".repeat(10_000)));
    is_too_deep(&format!("{}x", "not ".repeat(10_000)));
    is_too_deep(&format!("{}x", "if x then x else ".repeat(10_000)));
    is_too_deep(&format!("{}x", "if ".repeat(10_000)));
    is_too_deep(&format!("{}x", "x + (x * -(".repeat(10_000)));
}

#[test]
fn nesting_that_is_still_read() {
    is_read(&format!("{}x{}", "(x + ".repeat(60), ")".repeat(60)));
    is_read(&format!("{}x{}", "f(a, [".repeat(50), "])".repeat(50)));
    is_read(&format!("{}x{}", "(".repeat(120), ") or x and x < x + x * x".repeat(120)));
    let blocks: String = (0..100).map(|depth| format!("{}for x in x:\n", " ".repeat(depth))).collect();
    is_read(&format!("{blocks}{}x", " ".repeat(100)));
}

#[test]
fn deep_blocks() {
    let blocks: String = (0..10_000).map(|depth| format!("{}for x in x:\n", " ".repeat(depth))).collect();
    is_too_deep(&format!("{blocks}{}x", " ".repeat(10_000)));
    is_too_deep(&format!("{}x", "for x in x: ".repeat(10_000)));
    is_too_deep(&format!("{}x", "repeat 3: ".repeat(10_000)));
    // Blocks that belong to no line are reported once each.
    let blocks: String = (0..1_000).map(|depth| format!("{}x\n", " ".repeat(depth))).collect();
    assert!(!check_laws(&blocks));
}

#[test]
fn many_mistakes() {
    for part in
        ["(", ")", "\"", "'", "&", "1x ", "let ", "f(\n", "x)\n", "\"\n", " x\n", "if\n", "..", "=+", "{"]
    {
        assert!(!check_laws(&part.repeat(20_000)), "{part}");
    }
}
