//! Diagnostics as programs see them, with the feature `serde`.
#![cfg(feature = "serde")]

use broadloom_diagnostics::*;
use expect_test::expect;

#[test]
fn one_flat_object() {
    let mut sources = Sources::new();
    let a = sources.add("a.loom", "let é = {\n  3\n}\n");
    let b = sources.add("b.loom", "x");
    let diagnostic = Diagnostic::error("L0201", "they differ", Span::new(a, 9, 15), "3 here")
        .with_label(Span::new(b, 0, 1), "")
        .with_help("change it")
        .with_link(Span::new(b, 0, 1), "`x` is 4")
        .with_link(None, "so they differ");
    let written = serde_json::to_string_pretty(&Shown::new(&sources, &diagnostic)).unwrap();
    expect![[r#"
        {
          "code": "L0201",
          "severity": "error",
          "message": "they differ",
          "file": "a.loom",
          "line": 1,
          "column": 9,
          "end_line": 3,
          "end_column": 1,
          "labels": [
            {
              "file": "a.loom",
              "line": 1,
              "column": 9,
              "end_line": 3,
              "end_column": 1,
              "text": "3 here",
              "primary": true
            },
            {
              "file": "b.loom",
              "line": 1,
              "column": 1,
              "end_line": 1,
              "end_column": 2,
              "text": "",
              "primary": false
            }
          ],
          "notes": [],
          "help": [
            "change it"
          ],
          "chain": [
            {
              "text": "`x` is 4",
              "file": "b.loom",
              "line": 1,
              "column": 1,
              "end_line": 1,
              "end_column": 2
            },
            {
              "text": "so they differ"
            }
          ]
        }"#]]
    .assert_eq(&written);
    let nowhere = Diagnostic::new(Severity::Warning, "", "no place");
    let written = serde_json::to_string(&Shown::new(&sources, &nowhere)).unwrap();
    expect![[
        r#"{"code":"","severity":"warning","message":"no place","labels":[],"notes":[],"help":[],"chain":[]}"#
    ]]
    .assert_eq(&written);
}
