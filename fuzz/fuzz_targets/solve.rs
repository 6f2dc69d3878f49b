//! Systems to answers: solving never panics or hangs, and its answers satisfy simple laws.
//!
//! Each byte stands for a piece of text, so that most inputs come close to being systems.
#![no_main]

use std::fmt;

use broadloom_cli::solve::{Options, Output, Status, run};
use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;

#[rustfmt::skip]
const PIECES: [&str; 40] = [
    "\n", "\n", "\n[", "[", "]", "] <= [", "] ~ [", " <= ", " = ", " ~ ", ", ", ", ", ", ", "..r..",
    "..s..", "..t..", "..u..", "..r..", "..s..", "<>", "a", "b", "c", "d", "_", "1", "2", "3", "5", "3:rgb",
    "2:rgb", "leaf ", "param ", "\nleaf ..r..", "\nleaf ..s.., a", "\nparam ..t.., b", "# ", "..", "'",
    "18446744073709551615",
];

struct Text(String);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'a> Arbitrary<'a> for Text {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Text> {
        let bytes = u.bytes(u.len())?;
        Ok(Text(bytes.iter().map(|byte| PIECES[*byte as usize % PIECES.len()]).collect()))
    }
}

fuzz_target!(|text: Text| {
    let solve = |options: &Options| -> Output { run("fuzz.rows", &text.0, options) };
    let options = Options { branches: 50, ..Options::default() };
    let json = solve(&Options { json: true, ..options.clone() });
    let people = solve(&options);
    assert_eq!(json.status, people.status);
    let silent = matches!(people.status, Status::Solved);
    assert_eq!(people.stderr.is_empty(), silent, "{}", people.stderr);
    assert_eq!(solve(&options), people, "two runs differ");
    if matches!(people.status, Status::Solved | Status::Underdetermined) {
        let explain = ["a", "b", "r", "s", "t"].map(String::from);
        let present = explain.into_iter().filter(|name| json.stdout.contains(&format!("\"{name}\":")));
        let explained = solve(&Options { explain: present.collect(), ..options });
        assert_eq!(explained.status, people.status);
    }
});
