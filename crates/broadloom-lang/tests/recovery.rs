//! Files with mistakes: each mistake is reported once and in the right place, the code around it is
//! parsed, and any text is handled.

use crate::syntax;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use syntax::layouts::{Freedom, laid_out};
use syntax::programs::{Choices, program};
use syntax::tree::survivors;
use syntax::{bytes, check_laws, config, mistakes, read};

/// Checks a file in which each mistaken line ends with
/// its code in a comment, and the tree of the rest.
fn check(text: &str, expected: Expect) {
    let marked = text.lines().enumerate().filter_map(|(line, text)| {
        let (_, codes) = text.split_once("#! ")?;
        Some(codes.split(' ').map(move |code| (line as u32 + 1, code.to_owned())))
    });
    let marked: Vec<(u32, String)> = marked.flatten().collect();
    let found: Vec<(u32, String)> =
        mistakes(text).into_iter().map(|(line, code)| (line, code.to_owned())).collect();
    assert_eq!(marked, found, "{}", syntax::shown(&read(text).0));
    let (parsed, names) = read(text);
    expected.assert_eq(&survivors(text, &parsed.file, &names));
    check_laws(text);
}

#[test]
fn five_mistakes_of_five_kinds() {
    check(
        r#"
# A file like any other.
import "layers.loom" as layers
data x : 32 | 28, 28 -> -> 10  #! E0107
let hidden = layers.dense(64, x  #! E0105
def step(rate)(w) =
  let half = rate / 2
   print half  #! E0103
  half * w
for p in params(hidden)  #! E0104
  print "parameter", p
repeat 10:
  minimise hidden by step(0.1)
  print "hidden, hidden  #! E0102
save hidden to "hidden.npy"
"#,
        expect![[r#"
            import "layers.loom" as layers
            let hidden = ?
            def step(rate)(w) =
              let half = (/ rate 2)
              (* half w)
            repeat 10
              minimise hidden by step(0.1)
              print "hidden, hidden  #! E0102"
            save hidden to "hidden.npy"
        "#]],
    );
}

#[test]
fn forgotten_brackets() {
    check(
        r#"
let a = f(x, y  #! E0105
let b = 1
let c = f(x))  #! E0105
let d = [1, 2)  #! E0105
print a
let e = {w : 3  #! E0105
data x : 3
let f = x[1  #! E0105
for p in ps:
  let a = f(1  #! E0105
  let b = 2
f(x, (y  #! E0105
w =- 1
print f(x,  #! E0105
let g = (1 + 2  #! E0105
"#,
        expect![[r#"
            let a = ?
            let b = 1
            let c = f(x)
            let d = ?
            print a
            let e = ?
            Data x : [3]
            let f = ?
            for p in ps
              let a = ?
              let b = 2
            w =- 1
            let g = ?
        "#]],
    );
}

#[test]
fn missing_quotes() {
    check(
        r#"
import "layers.loom  #! E0102
let a = 1
let b = f("i j => j, x)  #! E0102
let c = [f("a, 1), 2]  #! E0102
let d = 2
print 'loss', d  #! E0101
save d to "d.npy  #! E0102
let e = 3
"#,
        expect![[r#"
            import "layers.loom  #! E0102"
            let a = 1
            let b = ?
            let c = ?
            let d = 2
            save d to "d.npy  #! E0102"
            let e = 3
        "#]],
    );
}

#[test]
fn bad_indentation() {
    check(
        r#"
let a = 1
  let b = 2  #! E0103
let c = 3
for p in ps:
    f(p)
  g(p)  #! E0103
  h(p)
  for q in p:
    f(q)
  i(p)
let d = 4
def f(x) =
  let y = x
    let z = y  #! E0103
    let u = z
  y
for p in ps:  #! E0112
f(p)
def g(x) =  #! E0112
let e = 5
"#,
        expect![[r#"
            let a = 1
            let c = 3
            for p in ps
              f(p)
              g(p)
              h(p)
              for q in p
                f(q)
              i(p)
            let d = 4
            def f(x) =
              let y = x
              y
            f(p)
            let e = 5
        "#]],
    );
    check(
        "  let a = 1  #! E0103\n  let b = 2\nlet c = 3\nlet d = 4\n",
        expect![[r#"
            let a = 1
            let b = 2
            let c = 3
            let d = 4
        "#]],
    );
}

#[test]
fn blocks_without_a_head() {
    check(
        r#"
for p in ps  #! E0104
  f(p)
  let a = )  #! E0104
def f(x):  #! E0104
  x
def g(x)  #! E0104
  let b = 1
  b
repeat:  #! E0104
  f(x)
let c = 2
op o(a)  #! E0104
  v = a
for p in ps: f(p)
  g(p)  #! E0103
let d = 3
"#,
        expect![[r#"
            def f(x) =
              x
            def g(x) =
              let b = 1
              b
            let c = 2
            for p in ps
              f(p)
            let d = 3
        "#]],
    );
}

#[test]
fn words_of_the_language_as_names() {
    check(
        r#"
let data = 3  #! E0104
let a = 1
def set(x) = x  #! E0104
def f(in) = 1  #! E0104
let b = print + 1  #! E0104
for to in x:  #! E0104
  f(to)  #! E0104
let c = x.data.in
import "a" as save  #! E0104
by = 3  #! E0106
dim op = 3  #! E0104
f(every = 3)
let d = 4
"#,
        expect![[r#"
            let a = 1
            let c = x.data.in
            f(every = 3)
            let d = 4
        "#]],
    );
}

#[test]
fn lines_that_break_off() {
    check(
        r#"
let a = b +  #! E0104
let c =  #! E0104
let d = e |>  #! E0104
print a,  #! E0104
data  #! E0104
let f = if a then b  #! E0104
minimise loss  #! E0104
save x  #! E0104
set a.b  #! E0104
let g = 1
let h = i.  #! E0104
"#,
        expect![[r#"
            let a = ?
            let c = ?
            let d = ?
            let f = ?
            let g = 1
            let h = ?
        "#]],
    );
}

#[test]
fn signs_that_mean_nothing() {
    check(
        r#"
let a = b & c  #! E0101
let d = b ^ 2  #! E0101
let e = !f  #! E0101
let g = 2x  #! E0110
let h = 1e  #! E0110
let i = 1e999  #! E0110
let j = a < b < c  #! E0108
let k = 1; let l = 2  #! E0106
let m =+ 3  #! E0104
dim n =* 3  #! E0104
f(x =/ 3)  #! E0104
let o(x) = 3  #! E0104
def p = 3  #! E0104
let q = 4
"#,
        expect![[r#"
            let a = b
            let d = b
            let e = ?
            let k = 1
            let q = 4
        "#]],
    );
}

#[test]
fn shapes_and_operations() {
    check(
        r#"
data a : 3 -> 4 -> 5  #! E0107
data b : 3 -> 4 | 5  #! E0107
data c : ..., ...  #! E0107
data d : 1.5  #! E0107
data e  #! E0107
data f : -3  #! E0107
data g : 99999999999999999999999  #! E0110
data h : 3:  #! E0104
data i : ..r  #! E0104
{j : 3} = k  #! E0209
def l(a, a) = 1  #! E0202
op o(a, b = 1):  #! E0104
  v = a
op p(a):
  v = f(a  #! E0105
  g1 =+ g)  #! E0105
  h = 3)  #! E0105
  i = (3]  #! E0105
  j = 4
    k = 5  #! E0103
data q : 3
"#,
        expect![[r#"
            Data q : [3]
        "#]],
    );
}

const TOKENS: &[&str] = &[
    "x", "w", "3", "0.5", "1e-3", "\"a\"", "(", ")", "[", "]", "{", "}", ",", ":", ";", ".", "..", "...",
    "|", "->", "|>", "_", "=", "=+", "=:max ", "==", "!=", "<", ">=", "+", "-", "*", "**", "/", "%", "@",
    "import", "as", "dim", "in", "data", "state", "let", "def", "op", "set", "for", "repeat", "backward",
    "minimise", "by", "print", "every", "save", "to", "if", "then", "else", "and", "or", "not", "\n", "\n  ",
    "\n    ", "\n", " # c\n", "&", "'", "\"", "2x", "é", "\t",
];

/// Tokens in any order.
fn soup(choices: &[u8]) -> String {
    let mut choices = Choices::new(choices);
    let mut text = String::new();
    for _ in 0..choices.pick(64) {
        text.push_str(TOKENS[choices.pick(TOKENS.len())]);
        if choices.pick(4) > 0 {
            text.push(' ');
        }
    }
    text
}

/// A text with a few changes: parts removed, inserted, moved or repeated.
fn changed(text: &str, choices: &[u8]) -> String {
    let mut choices = Choices::new(choices);
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..1 + choices.pick(4) {
        let far = |choices: &mut Choices<'_>| choices.pick(256) * 256 + choices.pick(256);
        let place = far(&mut choices) % (letters.len() + 1);
        let length = (1 + choices.pick(8)).min(letters.len() - place);
        let token = TOKENS[choices.pick(TOKENS.len())].chars();
        match choices.pick(5) {
            0 => drop(letters.drain(place..place + length)),
            1 => drop(letters.splice(place..place, token)),
            2 => drop(letters.splice(place..place + length, token)),
            3 => {
                let part: Vec<char> = letters.drain(place..place + length).collect();
                let target = far(&mut choices) % (letters.len() + 1);
                letters.splice(target..target, part);
            }
            _ => {
                let part: Vec<char> = letters[place..place + length].to_vec();
                letters.splice(place..place, part);
            }
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn any_tokens(choices in bytes(200)) {
        check_laws(&soup(&choices));
    }

    #[test]
    fn any_letters(text in "[ -~\n\t\r\"#äé×·\u{feff}\u{0}]{0,60}") {
        check_laws(&text);
    }

    #[test]
    fn any_bytes(bytes in bytes(100)) {
        check_laws(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn changed_programs(program_bytes in bytes(100), layout in bytes(200), changes in bytes(60)) {
        let text = laid_out(&program(&program_bytes), &layout, Freedom::Comments);
        check_laws(&changed(&text, &changes));
    }

    /// Lines before a mistake, and a line after it that begins a statement, are parsed.
    #[test]
    fn mistakes_stay_where_they_are(choices in bytes(60)) {
        let line: String = soup(&choices).replace(['\n', '"', '\''], " ");
        let text = format!("let before = 1\nx {line}\nlet behind = 2\n");
        let (parsed, names) = read(&text);
        let tree = survivors(&text, &parsed.file, &names);
        prop_assert!(tree.starts_with("let before = "), "{}{}", text, tree);
        prop_assert!(tree.ends_with("let behind = 2\n"), "{}{}", text, tree);
    }
}
