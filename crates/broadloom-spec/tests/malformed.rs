//! Texts that are refused, and the messages that a user reads. Every kind of error occurs.
//! `UPDATE_EXPECT=1 cargo test -p broadloom-spec` rewrites the expectations.

use broadloom_spec::*;
use expect_test::expect_file;
use std::collections::HashSet;

use crate::shown::shown;

#[rustfmt::skip]
const SPECS: &[(&str, &[&str])] = &[
    ("another library's notation", &[
        "ij,jk->ik", "bij, bjk -> bik", "...ij,...jk->...ik", "i,j->ij", "ij,jk=>ik", "i,j=>ij", "b1,c->d",
        "ij->ji", "ij;jk->ik", "b,h,w -> b,h", "b|ij -> b|ji", "b h w c -> b (h w) c", "b (h, w) -> b h w",
        "a @ b => c", "ij -> ", "[i, j] => i",
    ]),
    ("arrows", &[
        "", "ij", "i, j; j, k", "b|i->o", "i->h; h->o", "ij = ji", "i => j => k", "ij >= ji", "ij → ji",
        "i= >j", "  ij\n ->\n ji ",
    ]),
    ("rows", &[
        "a|b|c => c", "i->o|b => o", "i->h->o => o", "i => a|b->c->d", "... a ... => a", "..r..a..r.. => a",
        "..r..a..s.. => a", "d..d.. => d", "..d.., e => d", "a, ..r..\n; r => a", "..row.. h w => h",
        "..r => r", "...a..b => a", "r.. => r", "a.b => a", ".... => a", "..3.. => a", ".._.. => a",
        "… => a", "..r...s => s",
    ]),
    ("letters and words", &[
        "ij=>i+3*j", "ab; 2*c => ab, c", "i j => i+j", "a b, c => a", "2i, j => i", "_x, y => y", "1_000, y => y",
        "ij, => j, i", "a,,b => a", ", a => a", "a, b | , => a", "i', j => i",
    ]),
    ("sums", &[
        "0*o => o", "o+0*k; k => o", "o*2 => o", "2* => o", "2*3*o => o", "*o => o", "2*o*3 => o",
        "o+ => o", "+o => o", "o+;k => o", "1+2 => o", "a+b+c => a", "o+1+2 => o", "o+o => o",
        "2*o+s*o => o", "2*_ => o", "o+_ => o", "o= => o", "2*o< => o", "o=k; k => o", "o=3 => o",
        "o+1< => o", "3=+k => k", "=o+k => o", "o=+k<; k => o", "o<=+k; k => o", "o-1 => o", "o+-1 => o",
        "s*o, s => o", "s*s => s", "h/2 => h", "..o.., s*o => s", "o+99999999999999999999 => o", "i => -1",
        "i => i-1",
    ]),
    ("concatenations", &[
        "a^ => a", "^a => a", "a^^b => a", "0^a => a", "a^2*b => a", "a^b+1 => a", "1+a^b => a",
        "a=^b => a", "a^b= => a", "a^... => a", "o+..r.. => o", "\u{feff}i => i", "a&b => a",
        "a^(b^c) => a",
    ]),
    ("composed axes", &[
        "(i => i", "i) => i", "(i | j) => i", "((a b) c) => a", "(a^b) => a", "(a+b) => a", "2*(a b) => a", "(a b)*2 => a",
        "(o p)<+k; k => o, p", "o+(h w) => o", "d, (h w)^d => d", "(_ a) => a", "(0 a) => a", "(a,,b) => a", "(,a) => a",
        "b (heads size) => b h", "b(h wide) => b", "(4294967296 4294967296) => ", "(..r.. r) => r", "(i: j) => i", "(a b, c => a",
        "([i] j) => i",
    ]),
    ("sizes and signs", &[
        "3:rgb, i => i", "i:3 => i", "i; 18446744073709551616 => i", "i ? => i",
        "i % j => i", "i é\u{301} => i", "i \u{7} => i", "i, j k l => i", "i,\tj\tk => i", "名前, 前 名 => 名",
        "i => i =", "i; # => i",
    ]),
];

#[rustfmt::skip]
const SHAPES: &[(&str, &[&str])] = &[
    ("declarations", &[
        "0", "n=0", "3x4", "3rgb", "(3, 4)", "[3, 4]", "3:", "n:rgb", "rgb:3", "_:rgb", "3:a:b", ":rgb", "n=", "n=m",
        "3=n", "_=3", "=3", "i => j", "3; 4", "2*3", "a^b", "a+1", "3 < 4", "3 | 4 | 5", "3 -> 4 -> 5",
        "3 -> 4 | 5", "-1, 3", "n-1", "3,,4", ",3", "... 3 ...", "n, ..n..", "..n", "3.5", "1_000", "3 × 4",
        "18446744073709551616", "3 / 2", "a&b", "?", "3:'rgb'",
    ]),
];

/// Every text of the groups with its error, as a user sees it.
fn rendered<T: std::fmt::Display>(groups: &[(&str, &[&str])], parse: fn(&str) -> Result<T, Error>) -> String {
    let mut out = String::new();
    for (title, texts) in groups {
        out.push_str(&format!("# {title}\n\n"));
        for text in *texts {
            match parse(text) {
                Ok(tree) => panic!("`{text}` is accepted: {tree}"),
                Err(error) => out.push_str(&format!("{:?}\n{}\n", error.kind, shown(&error, text))),
            }
        }
    }
    out
}

#[test]
fn specs_are_refused_with_a_reason() {
    expect_file!["malformed/specs.txt"].assert_eq(&rendered(SPECS, parse_spec));
}

#[test]
fn declarations_are_refused_with_a_reason() {
    expect_file!["malformed/declarations.txt"].assert_eq(&rendered(SHAPES, parse_shape));
}

#[test]
fn every_kind_of_error_occurs() {
    let errors = |groups: &[(&str, &[&str])], parse: fn(&str) -> Option<Error>| {
        groups.iter().flat_map(|(_, texts)| texts.iter()).filter_map(|text| parse(text)).collect::<Vec<_>>()
    };
    let mut kinds: HashSet<ErrorKind> =
        errors(SPECS, |text| parse_spec(text).err()).iter().map(|e| e.kind).collect();
    kinds.extend(errors(SHAPES, |text| parse_shape(text).err()).iter().map(|e| e.kind));
    let long = "i".repeat(MAX_LENGTH + 1);
    kinds.insert(parse_spec(&long).unwrap_err().kind);
    let missing: Vec<_> = ErrorKind::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "no test for {missing:?}");
}

#[test]
fn long_texts_are_read_up_to_a_limit() {
    let longest = format!("{} =>", "é".repeat(MAX_LENGTH / 2 - 2));
    assert_eq!(longest.len(), MAX_LENGTH - 1);
    assert!(parse_spec(&longest).is_ok());
    let error = parse_shape(&"é,".repeat(MAX_LENGTH)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TextTooLong);
}
