//! The `.rows` format: its mistakes as a user sees them, and laws that hold for every text.

use broadloom_diagnostics::{Sources, Style, render_all};
use broadloom_rows::*;
use expect_test::{Expect, expect};

fn shown(text: &str, style: Style) -> String {
    let parsed = parse(text);
    render_all(&Sources::one("x.rows", text), &parsed.diagnostics, parsed.suppressed, style)
}

/// Compares everything a user sees of the mistakes in `text`.
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&shown(text, Style::default()));
}

#[test]
fn operators() {
    check(
        "\
[..r..] = [3]
[3] == [..r..]
a ~ 3
[..r.., 4] >= [3]
a < 3
a <> 3
[3, 4] <= a
3 <= a <= b",
        expect![[r#"
            error: rows are equated with `~`, not `=`
             --> x.rows:1:9
              |
            1 | [..r..] = [3]
              |         ^ between two rows
              |
              = help: write `~`: the same axes in order, wherever the markers are

            error: rows are equated with `~`, not `==`
             --> x.rows:2:5
              |
            2 | [3] == [..r..]
              |     ^^ not a comparison of rows
              |
              = help: write `~`

            error: dimensions are equated with `=`, not `~`
             --> x.rows:3:3
              |
            3 | a ~ 3
              |   ^ between two dimensions
              |
              = help: write `=`, or put brackets around both sides to compare rows

            error: there is no `>=`: the result comes first
             --> x.rows:4:12
              |
            4 | [..r.., 4] >= [3]
              |            ^^ not a comparison of rows
              |
              = help: turn it round: `[3] <= [..r.., 4]`

            error: there is no `<`: the order is written `<=`
             --> x.rows:5:3
              |
            5 | a < 3
              |   ^ not a comparison of dimensions
              |
              = help: write `<=`: the result refines the operand, or equals it

            error: `<>` does not compare
             --> x.rows:6:3
              |
            6 | a <> 3
              |   ^^ this is the marker of a row
              |
              = help: write `=` or `<=` between dimensions, `~` or `<=` between rows

            error: a row cannot be compared with a dimension
             --> x.rows:7:8
              |
            7 | [3, 4] <= a
              | ------ ^^ - a dimension
              | |
              | a row
              |
              = help: write `[a]` for the row with that axis

            error: a statement compares two things only
             --> x.rows:8:8
              |
            8 | 3 <= a <= b
              |        ^^ a second comparison
              |
              = help: write the second comparison on a line of its own

            8 errors
        "#]],
    );
}

#[test]
fn brackets() {
    check(
        "\
[3 5] ~ [..r..]
[3,,5] ~ []
[..r.., 3, ..s..] ~ [4]
[3, 4 ~ [..r..]
[..r..] ~ [3, 4   # no bracket
3, 4] ~ [..r..]
[3]] ~ [..r..]
[3, [4]] ~ []
..r.. <= [3]
<> ~ [3]",
        expect![[r#"
            error: a comma is missing between `3` and `5`
             --> x.rows:1:4
              |
            1 | [3 5] ~ [..r..]
              |    ^ expected `,` before this
              |
              = help: write `3, 5`

            error: a term is missing before this comma
             --> x.rows:2:4
              |
            2 | [3,,5] ~ []
              |    ^ expected a term
              |
              = help: delete the comma, or write a size, a variable or `_` before it

            error: a row has at most one hole
             --> x.rows:3:12
              |
            3 | [..r.., 3, ..s..] ~ [4]
              |  -----     ^^^^^ a second hole
              |  |
              |  the first hole
              |
              = help: keep one row variable or marker, and write other axes as dimensions

            error: this row is not closed
             --> x.rows:4:7
              |
            4 | [3, 4 ~ [..r..]
              | -     ^ expected `,` or `]`, found `~`
              | |
              | the row starts here
              |
              = help: write `]` at the end of the row

            error: this row is not closed
             --> x.rows:5:16
              |
            5 | [..r..] ~ [3, 4   # no bracket
              |           -    ^ expected `,` or `]` before the line ends
              |           |
              |           the row starts here
              |
              = help: write `]`; a statement ends where its line ends

            error: this comma is not inside a row
             --> x.rows:6:2
              |
            6 | 3, 4] ~ [..r..]
              |  ^ no `[` before it
              |
              = help: write `[3, …]` for a row

            error: this `]` closes nothing
             --> x.rows:7:4
              |
            7 | [3]] ~ [..r..]
              |    ^ no `[` before it
              |
              = help: write `[` at the start of the row, or delete `]`

            error: rows do not nest
             --> x.rows:8:5
              |
            8 | [3, [4]] ~ []
              | -   ^ a row inside a row
              | |
              | this row is still open
              |
              = help: a row is one list of terms, as in `[3, a, ..r..]`

            error: a row variable must stand inside brackets
             --> x.rows:9:1
              |
            9 | ..r.. <= [3]
              | ^^^^^ not inside a row
              |
              = help: write `[..r..]`

            error: the marker must stand inside brackets
              --> x.rows:10:1
               |
            10 | <> ~ [3]
               | ^^ not inside a row
               |
               = help: write `[]` for the row without axes, or as in `[3, <>, 4]`

            10 errors
        "#]],
    );
}

#[test]
fn terms() {
    check(
        "\
[..r, 4] ~ [3]
[..., 4] ~ [3]
a = 0
a = 18446744073709551616
a = 1∅
[*, 3] ~ [..r..]
a = 3:
a =   # nothing
a = 3, b = 4
[3, 4]
a = 3 @",
        expect![[r#"
            error: `..r` is not a row variable
             --> x.rows:1:2
              |
            1 | [..r, 4] ~ [3]
              |  ^^^ expected `..name..`
              |
              = help: write `..r..`, with two dots on each side

            error: `...` is not a row variable
             --> x.rows:2:2
              |
            2 | [..., 4] ~ [3]
              |  ^^^ expected `..name..`
              |
              = help: a row variable is written `..name..`, and the marker `<>`

            error: sizes start at 1
             --> x.rows:3:5
              |
            3 | a = 0
              |     ^ this size is zero
              |
              = help: write `_` for the unit, or `1` for an axis one wide

            error: this size is too large
             --> x.rows:4:5
              |
            4 | a = 18446744073709551616
              |     ^^^^^^^^^^^^^^^^^^^^ does not fit in 64 bits
              |
              = help: sizes go up to 18446744073709551615

            error: `1∅` is not a size
             --> x.rows:5:5
              |
            5 | a = 1∅
              |     ^^ expected a whole number
              |
              = help: write `_` for the unit

            error: unknown character `*`
             --> x.rows:6:2
              |
            6 | [*, 3] ~ [..r..]
              |  ^ not part of the format
              |
              = help: give an unknown size a name, or write `..name..` for an unknown row

            error: the basis after `:` is missing
             --> x.rows:7:7
              |
            7 | a = 3:
              |     --^ expected a name before the line ends
              |     |
              |     this size announces a basis
              |
              = help: write `3:tag`, or `3` for the default basis

            error: nothing to compare after `=`
             --> x.rows:8:4
              |
            8 | a =   # nothing
              |    ^ expected a dimension or a row before the line ends

            error: `,` does not belong to this statement
             --> x.rows:9:6
              |
            9 | a = 3, b = 4
              | -----^ expected the end of the line
              | |
              | the statement is complete here
              |
              = help: write one statement a line, and rows in brackets

            error: `[3, 4]` is not compared with anything
              --> x.rows:10:7
               |
            10 | [3, 4]
               |       ^ expected `~` or `<=` before the line ends

            error: unknown character `@`
              --> x.rows:11:7
               |
            11 | a = 3 @
               |       ^ not part of the format

            11 errors
        "#]],
    );
}

#[test]
fn tags() {
    check(
        "\
leaf
leaf a, 3
leaf a ..r..
param w = 3
parameter w",
        expect![[r#"
            error: `leaf` is not followed by a variable
             --> x.rows:1:5
              |
            1 | leaf
              |     ^ expected a variable before the line ends
              |
              = help: write `leaf a, ..r..` to tag variables, or `leaf = 3` if `leaf` is one

            error: only variables have tags
             --> x.rows:2:9
              |
            2 | leaf a, 3
              |         ^ expected a variable, found `3`
              |
              = help: list names, as in `leaf a, ..r..`

            error: a comma is missing between `a` and `..r..`
             --> x.rows:3:8
              |
            3 | leaf a ..r..
              |        ^^^^^ expected `,` before this
              |
              = help: write `a, ..r..`

            error: a tag does not compare
             --> x.rows:4:9
              |
            4 | param w = 3
              |         ^ expected the end of the line
              |
              = help: write the tag and the constraint on lines of their own

            error: `parameter` is not compared with anything
             --> x.rows:5:11
              |
            5 | parameter w
              |           ^ expected `=` or `<=`, found `w`
              |
              = help: to tag variables, write `leaf` or `param` before them

            5 errors
        "#]],
    );
}

/// The rest of the slips, one line each: position, message, label and help.
#[test]
fn in_brief() {
    #[rustfmt::skip]
    let slips = [
        "a == 3", "[..r..] ≡ [3]", "a > [", "a => b", "[3] ≤ [..r..]", "a != 3", "a -> b",
        "[a] <=> [b]", "[..r..] == 3", "[..r..] ~ 3, 4]", "[..r..] ~ 3]", "] ~ [3]", "[,] ~ []",
        "[3,", "[<>, <>] <= [..r..]", "a, b = 3", "[..r.. 3] ~ []", "[3] [4]", "[r.., 4] ~ [3]",
        "leaf .r.", "[.. r ..] ~ []", "[3..r..] ~ []", "[…, 3] ~ []", "= 3", ": 3", "leaf 3",
        "leaf: a", "leaf ~ 3", "a b", "a = 3; b = 4", "a = ?", "a = ∅", "a = 1_000", "a = 3.5",
        "a = -3", "a = 3px", "_a = 3", "'a = 3", "a = 3:4", "a:rgb = 3", "_:rgb = a",
        "a = 3:rgb:bgr", "a + b = 3", "a = 3 // three", "(3, 4) ~ [..r..]", "a = \u{200b}3",
        "a = \u{7}", "e\u{301} = 3", "a = \u{feff}",
    ];
    let mut out = String::new();
    for text in slips {
        let found = &parse(text).diagnostics[0];
        let primary = found.primary().unwrap();
        let column = Sources::one("", text).position(primary.span).1;
        let label = &primary.text;
        let help = found.help.first().map_or("–", |help| &**help);
        out += &format!("{text:?}:{column}: {} ({label}) {help}\n", found.message);
    }
    expect![[r#"
        "a == 3":3: dimensions are equated with `=`, not `==` (not a comparison of dimensions) write `=`
        "[..r..] ≡ [3]":9: rows are equated with `~`, not `≡` (not a comparison of rows) write `~`
        "a > [":3: there is no `>`: the result comes first (not a comparison of dimensions) turn it round: `result <= operand`
        "a => b":3: there is no `=>`: the result comes first (not a comparison of dimensions) turn it round: `b <= a`
        "[3] ≤ [..r..]":5: there is no `≤`: the order is written `<=` (not a comparison of rows) write `<=`: the result refines the operand, or equals it
        "a != 3":3: no constraint says that two terms differ (not a comparison of dimensions) constraints are equalities `=` and inequalities `<=`
        "a -> b":3: `->` is not an operator (not a comparison of dimensions) write `=` or `<=`
        "[a] <=> [b]":5: `<=>` is not an operator (not a comparison of rows) write `~` or `<=`
        "[..r..] == 3":9: a row cannot be compared with a dimension () write `[3]` for the row with that axis
        "[..r..] ~ 3, 4]":12: this comma is not inside a row (no `[` before it) write `[3, …]` for a row
        "[..r..] ~ 3]":12: this `]` closes nothing (no `[` before it) write `[` at the start of the row, or delete `]`
        "] ~ [3]":1: this `]` closes nothing (no `[` before it) write `[` at the start of the row, or delete `]`
        "[,] ~ []":2: a term is missing before this comma (expected a term) delete the comma, or write a size, a variable or `_` before it
        "[3,":4: this row is not closed (expected a term or `]` before the line ends) write `]`; a statement ends where its line ends
        "[<>, <>] <= [..r..]":6: a row has at most one hole (a second hole) keep one row variable or marker, and write other axes as dimensions
        "a, b = 3":2: this comma is not inside a row (no `[` before it) write `[a, …]` for a row
        "[..r.. 3] ~ []":8: a comma is missing between `..r..` and `3` (expected `,` before this) write `..r.., 3`
        "[3] [4]":5: `[3]` is not compared with anything (expected `~` or `<=`, found `[`) –
        "[r.., 4] ~ [3]":2: `r..` is not a row variable (expected `..name..`) write `..r..`, with two dots on each side
        "leaf .r.":6: `.r.` is not a row variable (expected `..name..`) write `..r..`, with two dots on each side
        "[.. r ..] ~ []":2: `..` is not a row variable (expected `..name..`) a row variable is written `..name..`, and the marker `<>`
        "[3..r..] ~ []":2: `3..r..` is not a size (expected a whole number) write a comma between a size and a row variable, as in `3, ..r..`
        "[…, 3] ~ []":2: unknown character `…` (U+2026) (not part of the format) a row variable is written `..name..`, and the marker `<>`
        "= 3":1: a statement cannot start with `=` (expected a dimension, a row or a tag) write something like `a = 3`, `[..r..] <= [3]` or `leaf a`
        ": 3":1: a statement cannot start with `:` (expected a dimension, a row or a tag) write something like `a = 3`, `[..r..] <= [3]` or `leaf a`
        "leaf 3":6: `leaf` is not followed by a variable (expected a variable, found `3`) write `leaf a, ..r..` to tag variables, or `leaf = 3` if `leaf` is one
        "leaf: a":5: `leaf` is not followed by a variable (expected a variable, found `:`) write `leaf a, ..r..` to tag variables, or `leaf = 3` if `leaf` is one
        "leaf ~ 3":6: dimensions are equated with `=`, not `~` (between two dimensions) write `=`, or put brackets around both sides to compare rows
        "a b":3: `a` is not compared with anything (expected `=` or `<=`, found `b`) to tag variables, write `leaf` or `param` before them
        "a = 3; b = 4":6: unknown character `;` (not part of the format) write one statement a line, and commas between the terms of a row
        "a = ?":5: unknown character `?` (not part of the format) give an unknown size a name, or write `..name..` for an unknown row
        "a = ∅":5: unknown character `∅` (U+2205) (not part of the format) write `_` for the unit
        "a = 1_000":5: `1_000` is not a size (expected a whole number) write `1000` without `_`
        "a = 3.5":5: `3.5` is not a size (expected a whole number) sizes are whole numbers from 1
        "a = -3":5: unknown character `-` (not part of the format) sizes start at 1 and have no sign; names have `_` but no `-`
        "a = 3px":5: `3px` is not a size (expected a whole number) a name starts with a letter, and a basis follows `:`, as in `3:tag`
        "_a = 3":1: `_a` is not a name (starts with `_`) a name starts with a letter; `_` alone is the unit
        "'a = 3":1: unknown character `'` (not part of the format) a name starts with a letter and may go on with `'`
        "a = 3:4":7: the basis after `:` is missing (expected a name, found `4`) write `3:tag`, or `3` for the default basis
        "a:rgb = 3":2: a variable has no basis (no basis can follow here) only a size has a basis, as in `3:tag`
        "_:rgb = a":2: the unit has no basis (no basis can follow here) write `1:tag` for an axis one wide with a basis
        "a = 3:rgb:bgr":10: a size has only one basis (no basis can follow here) write one name after the size, as in `3:tag`
        "a + b = 3":3: unknown character `+` (not part of the format) there is no arithmetic: a term is a size, a variable or `_`
        "a = 3 // three":7: unknown character `/` (not part of the format) comments start with `#`; there is no arithmetic
        "(3, 4) ~ [..r..]":1: unknown character `(` (not part of the format) rows are written in square brackets, as in `[3, 4]`
        "a = \u{200b}3":5: unknown character U+200B (not part of the format) delete this character; it cannot be seen
        "a = \u{7}":5: unknown character U+0007 (not part of the format) delete this character; it cannot be seen
        "e\u{301} = 3":2: unknown character U+0301 (not part of the format) write the letter and its accent as one character
        "a = \u{feff}":5: unknown character U+FEFF (not part of the format) delete this character; it cannot be seen
    "#]].assert_eq(&out);
}

#[test]
fn two_places() {
    check(
        "leaf a, ..r..\na = 3\n\nparam ..r..\n[..a.., 4] ~ [a]\n[..a..] ~ []\n[b, ..b..] ~ []",
        expect![[r#"
            error: `..r..` has two tags
             --> x.rows:4:7
              |
            1 | leaf a, ..r..
              |         ----- already tagged `leaf` here
            ...
            4 | param ..r..
              |       ^^^^^ tagged `param` here
              |
              = help: delete one of the tags

            error: `a` names both a dimension and a row
             --> x.rows:5:2
              |
            1 | leaf a, ..r..
              |      - first used as a dimension here
            ...
            5 | [..a.., 4] ~ [a]
              |  ^^^^^ used as a row here
              |
              = help: write `a` if the dimension is meant, or give the row another name

            error: `b` names both a dimension and a row
             --> x.rows:7:5
              |
            7 | [b, ..b..] ~ []
              |  -  ^^^^^ used as a row here
              |  |
              |  first used as a dimension here
              |
              = help: write `b` if the dimension is meant, or give the row another name

            3 errors
        "#]],
    );
}

#[test]
fn excerpts() {
    let long = "a, ".repeat(200);
    check(
        &format!("[<>, {long}<>] ~ [..r..]"),
        expect![[r#"
        error: a row has at most one hole
         --> x.rows:1:606
          |
        1 | [<>, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,...
          |  -- the first hole
        1 | ...a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, <>] ~ [..r..]
          |                                                                                           ^^ a second hole
          |
          = help: keep one row variable or marker, and write other axes as dimensions

        1 error
    "#]],
    );
    check(
        "[\t名,\t<>, ä <>] ~ []",
        expect![[r#"
        error: a comma is missing between `ä` and `<>`
         --> x.rows:1:12
          |
        1 | [    名,    <>, ä <>] ~ []
          |                   ^^ expected `,` before this
          |
          = help: write `ä, <>`

        1 error
    "#]],
    );
    let style = Style { color: true, ..Style::default() };
    let colored = shown("# one\r\na = 3\rb = 0\n", style);
    expect![[r#"
        ESC[1;31merrorESC[0mESC[1m: sizes start at 1ESC[0m
        ESC[1;34m --> ESC[0mx.rows:3:5
        ESC[1;34m  |ESC[0m
        ESC[1;34m3 |ESC[0m b = 0
        ESC[1;34m  |ESC[0m     ESC[1;31m^ESC[0m ESC[1;31mthis size is zeroESC[0m
        ESC[1;34m  |ESC[0m
        ESC[1;34m  = ESC[0mESC[1mhelpESC[0m: write `_` for the unit, or `1` for an axis one wide

        1 error
    "#]]
    .assert_eq(&colored.replace('\u{1b}', "ESC"));
}

#[test]
fn diagnostics_are_capped() {
    let text = "a = = b\n".repeat(57);
    assert_eq!(parse(&text).diagnostics.len(), MAX_DIAGNOSTICS);
    assert!(shown(&text, Style::default()).ends_with("\n57 errors, 37 of them not shown\n"));
}
