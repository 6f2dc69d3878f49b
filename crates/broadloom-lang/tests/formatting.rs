//! The formatter: its layout, and that it changes nothing else.

use crate::syntax;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use syntax::layouts::{Freedom, laid_out};
use syntax::programs::program;
use syntax::{bytes, check_laws, config, formatted, read};

fn check(text: &str, expected: Expect) {
    assert!(check_laws(text), "{text}");
    expected.assert_eq(&formatted(text));
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn layout_changes_nothing_else(program_bytes in bytes(200), layout in bytes(500)) {
        let text = laid_out(&program(&program_bytes), &layout, Freedom::Comments);
        prop_assert!(check_laws(&text), "{}", text);
    }

    #[test]
    fn equal_programs_are_laid_out_equally(program_bytes in bytes(200), layout in bytes(500)) {
        let pieces = program(&program_bytes);
        let plain = laid_out(&pieces, &[], Freedom::Blanks);
        let text = laid_out(&pieces, &layout, Freedom::Blanks);
        prop_assert_eq!(formatted(&plain), formatted(&text), "{}", text);
    }
}

#[test]
fn a_default_without_blanks_behind_a_shape() {
    check("def f(a:n,b=-1)(x)=x\n", expect![["def f(a : n, b = -1)(x) = x\n"]]);
}

#[test]
fn statements_of_all_kinds() {
    check(
        r#"import  "layers.loom"as layers
import "models.loom"
dim hidden=64
dim batch in 1..64=32
dim size in (low+1)..2*high
data x:32|28 28,3:rgb->10 as f32=load("x.npy")
data scalar : |
state mean:(4*hidden):h , _
let a,b=split("a^b => a; b",x)
def layer(hidden,rate=-0.1)(x)=relu({w}@x+{b:hidden=zeros})
set scores.h=8
backward   loss
minimise loss by sgd(0.1)
print "loss",loss every 100
save y to "y.npy"
w=-rate*w.grad
{momentum}=:0.9*momentum+w.grad by "@"
w =max  -x
f(x)"#,
        expect![[r#"
            import "layers.loom" as layers
            import "models.loom"
            dim hidden = 64
            dim batch in 1..64 = 32
            dim size in low + 1 .. 2 * high
            data x : 32 | 28, 28, 3:rgb -> 10 as f32 = load("x.npy")
            data scalar : |
            state mean : (4 * hidden):h, _
            let a, b = split("a^b => a; b", x)
            def layer(hidden, rate = -0.1)(x) = relu({w} @ x + {b : hidden = zeros})
            set scores.h = 8
            backward loss
            minimise loss by sgd(0.1)
            print "loss", loss every 100
            save y to "y.npy"
            w =- rate * w.grad
            {momentum} =: 0.9 * momentum + w.grad by "@"
            w =max -x
            f(x)
        "#]],
    );
}

#[test]
fn blocks_begin_on_their_own_lines() {
    check(
        r#"
for p in params(loss): for q in [1,2]: print p,q
repeat step in 0..500:
        minimise loss by sgd(0.1)
        if_big(loss)
repeat 3:


	print 1


	print 2
def f(x) =
   -x
op huber(a,b): v=where(abs(a-b)<1,.5*(a-b)**2,- a) ;g1=+g
"#,
        expect![[r#"
            for p in params(loss):
              for q in [1, 2]:
                print p, q
            repeat step in 0..500:
              minimise loss by sgd(0.1)
              if_big(loss)
            repeat 3:
              print 1

              print 2
            def f(x) =
              -x
            op huber(a, b):
              v = where(abs(a - b) < 1, .5 * (a - b) ** 2, -a); g1 =+ g
        "#]],
    );
}

#[test]
fn only_needed_parentheses_stay() {
    check(
        r#"
let a = ((x)) + ((y * z))
let b = (x + y) * z - (u - v) - w
let c = (x ** y) ** z ** (u ** v)
let d = (-x) ** 2 * -(x ** 2) * (-x)
let e = 2 ** (-n)
let f = not (x == y) and ((not x) == y)
let g = (x < y) == (u < v)
let h = (x |> f) |> (g |> h)
let i = (f)((x))[(3)].grad + (f + g)(x)
let j = (if (a) then (b) else (if c then d else e)) + 1
let k = [(0..3), 0..3 , (0..3)[1], (a+1)..b]
let l = -(-x) - (-y) - (not z)
"#,
        expect![[r#"
            let a = x + y * z
            let b = (x + y) * z - (u - v) - w
            let c = (x ** y) ** z ** u ** v
            let d = (-x) ** 2 * -x ** 2 * -x
            let e = 2 ** -n
            let f = not x == y and (not x) == y
            let g = (x < y) == (u < v)
            let h = x |> f |> (g |> h)
            let i = f(x)[3].grad + (f + g)(x)
            let j = (if a then b else if c then d else e) + 1
            let k = [0..3, 0..3, (0..3)[1], a + 1 .. b]
            let l = --x - -y - (not z)
        "#]],
    );
}

#[test]
fn long_lines_are_broken_from_the_outside_in() {
    check(
        r#"
let y = x |> convolution(64, kernel = 3, stride = 2) |> batch_norm |> relu |> dropout(0.1) |> linear(10)
let total = first_weight * first_value + second_weight * second_value - third_weight * third_value + bias
let picked = where(first_condition and second_condition, value_if_both_hold, otherwise(first_value, second_value))
let nested = outer(middle(inner(first_argument, second_argument, third_argument), another_argument), [1, 2, 3], 4)
let blocks = [transformer_block(hidden_size, number_of_heads, rate = dropout_rate) for layer in 0..number_of_layers]
let chosen = if the_first_condition_holds(x) then the_first_of_many_values(x) else the_second_of_many_values(x, y)
print "a rather long text that says what follows", the_first_value, "and another one", the_second_value every 100
def layer(hidden_size, kernel_size = 3, stride = 1, dilation = 1, groups = 1, rate = 0.1)(x, mask, previous) = x
for parameter in parameters_of_all_layers(first_model, second_model, third_model, fourth_model, fifth_model): f(x)
let sum = f(first_argument_of_f, second_argument_of_f, third_argument_of_f, fourth_argument_of_f) + the_rest
op o(a, b): v = where(abs(first_operand - second_operand) < 1, 0.5 * (first_operand - second_operand) ** 2, not_zero)
"#,
        expect![[r#"
            let y = x
              |> convolution(64, kernel = 3, stride = 2)
              |> batch_norm
              |> relu
              |> dropout(0.1)
              |> linear(10)
            let total = first_weight * first_value
              + second_weight * second_value
              - third_weight * third_value
              + bias
            let picked = where(
              first_condition and second_condition,
              value_if_both_hold,
              otherwise(first_value, second_value),
            )
            let nested = outer(
              middle(inner(first_argument, second_argument, third_argument), another_argument),
              [1, 2, 3],
              4,
            )
            let blocks = [
              transformer_block(hidden_size, number_of_heads, rate = dropout_rate)
              for layer in 0..number_of_layers
            ]
            let chosen = if the_first_condition_holds(x)
              then the_first_of_many_values(x)
              else the_second_of_many_values(x, y)
            print "a rather long text that says what follows",
              the_first_value,
              "and another one",
              the_second_value every 100
            def layer(hidden_size, kernel_size = 3, stride = 1, dilation = 1, groups = 1, rate = 0.1)(
              x,
              mask,
              previous,
            ) = x
            for parameter in parameters_of_all_layers(
              first_model,
              second_model,
              third_model,
              fourth_model,
              fifth_model,
            ):
              f(x)
            let sum = f(first_argument_of_f, second_argument_of_f, third_argument_of_f, fourth_argument_of_f)
              + the_rest
            op o(a, b):
              v = where(
                abs(first_operand - second_operand) < 1,
                0.5 * (first_operand - second_operand) ** 2,
                not_zero
              )
        "#]],
    );
}

#[test]
fn comments_are_kept() {
    check(
        r#"#!/usr/bin/env broadloom
   # The first.

   # The second.
let a = 1# at the end


# Before b.
let b = f( # opens
    # about x
  x   # the x
  , y # the y
  # nothing follows
) # closes

let c = x # input
  # activates
  |> relu # output
let d = ( # far in
    x )
let e = (a. # between
  b) # behind
( # above
  f(x))
for p in ps: # head
  # in the block

  f(p) # last
  # still in the block

 # not in it any more
    # nor is this
repeat 3: g(x) # short
  # behind it
op o(a): # operation
  # about v
  v = where(a, # yes
    # no
    0, 1) # done
  # end
# The end.

"#,
        expect![[r#"
            #!/usr/bin/env broadloom
            # The first.

            # The second.
            let a = 1  # at the end

            # Before b.
            let b = f(  # opens
              # about x
              x,  # the x
              y,  # the y
              # nothing follows
            )  # closes

            let c = x  # input
              # activates
              |> relu  # output
            let d = x  # far in
            let e = a.b  # between  # behind
            # above
            f(x)
            for p in ps:  # head
              # in the block

              f(p)  # last
              # still in the block

            # not in it any more
            # nor is this
            repeat 3:
              g(x)  # short
            # behind it
            op o(a):  # operation
              # about v
              v = where(
                a,  # yes
                # no
                0,
                1
              )  # done
              # end
            # The end.
        "#]],
    );
}

#[test]
fn files_without_statements() {
    for (text, expected) in [("", ""), (" \n\n", ""), ("\u{feff}", ""), ("\n  # a\n\n\n# b", "# a\n\n# b\n")]
    {
        assert!(check_laws(text));
        assert_eq!(formatted(text), expected);
    }
}

#[test]
fn line_ends_and_tabs() {
    let text = "\u{feff}for p in ps:\r\n\tf(p)\r\n\r\n\t# c\r\n\tg(p)\rh(p) # d\r\r\r\ri(p)";
    assert!(check_laws(text));
    assert_eq!(formatted(text), "for p in ps:\n  f(p)\n\n  # c\n  g(p)\nh(p)  # d\n\ni(p)\n");
}

#[test]
fn files_with_mistakes_are_refused() {
    let refused = broadloom_lang::syntax::reformat(Default::default(), "let a =\nlet b = 1");
    assert_eq!(refused.expect_err("a mistake").len(), 1);
}

#[test]
fn lines_of_operations_as_they_are_to_be_read() {
    let text = "op o(a):\n  v=where(a , # yes\n  -1, 2)\n";
    let (parsed, _) = read(text);
    let [statement] = &parsed.file.statements[..] else { panic!("one statement") };
    let broadloom_lang::syntax::ast::StatementKind::Op { lines, .. } = &statement.kind else {
        panic!("an operation")
    };
    assert_eq!(broadloom_lang::syntax::op_text(text, lines[0]), "v = where(a, -1, 2)");
}

#[test]
fn programs_that_differ_are_not_the_same() {
    let programs = [
        "f(x)",
        "f(y)",
        "f(x = x)",
        "f(x, x)",
        "f[x]",
        "f.x",
        "let f = x",
        "-f",
        "not f",
        "f + x",
        "f - x",
        "x + f",
        "f = x",
        "f =+ x",
        "f = x by \"@\"",
        "{f} = x",
        "{f}",
        "{f : 3}",
        "{f : 3 |}",
        "{f : 3 ->}",
        "{f : _}",
        "{f : 3:x}",
        "{f : ...}",
        "{f : ..x..}",
        "{f : x}",
        "{f : (x)}",
        "{f as x}",
        "{f = x}",
        "[f]",
        "[f, x]",
        "1",
        "2",
        "\"f\"",
        "[f for x in f]",
        "f..x",
        "if f then x else x",
        "import \"f\"",
        "import \"f\" as f",
        "dim f = 1",
        "dim f in 1..2",
        "dim f in 1..2 = 1",
        "data f : 3",
        "state f : 3",
        "set f = x",
        "backward f",
        "print f",
        "print f every 1",
        "print f, f",
        "save f to \"f\"",
        "minimise f by x",
        "minimise x by f",
        "def f(x) = x",
        "def f(x)(x) = x",
        "def f(x = 1) = x",
        "def f(x) =\n  x",
        "for f in x: x",
        "for f in x: f",
        "repeat x: f",
        "repeat f in x: f",
        "op f(x): v = x",
        "op f(x): v =+ x",
        "op f(x):\n  v = x\n  v = x",
        "f(x)\nf(x)",
        "",
    ];
    let mut names = broadloom_lang::syntax::ast::Names::default();
    let files: Vec<_> = programs
        .iter()
        .map(|text| broadloom_lang::syntax::parse(Default::default(), text, &mut names))
        .collect();
    for (first, text) in programs.iter().enumerate() {
        assert!(files[first].diagnostics.is_empty(), "{text}");
        for (second, other) in programs.iter().enumerate() {
            let is_same = broadloom_lang::syntax::same(text, &files[first].file, other, &files[second].file);
            assert_eq!(is_same, first == second, "{text}\n{other}");
        }
    }
}
