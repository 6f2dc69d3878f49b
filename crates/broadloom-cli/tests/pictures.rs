//! Pictures are well-formed and complete, and drawn quickly.

use crate::support;

use std::time::{Duration, Instant};

use serde_json::Value;
use support::{World, broadloom, examples, loom_files, programs};

/// The texts of all elements with a tag, in order; panics if the text is not well-formed XML.
fn texts(svg: &str, wanted: &str) -> Vec<String> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        let (text, tag) = rest.split_at(at);
        assert!(!text.contains('>'), "`>` outside of a tag: {text}");
        let end = tag.find('>').expect("a tag that ends");
        for reference in text.split('&').skip(1) {
            assert!(
                ["amp;", "lt;", "gt;", "quot;"].iter().any(|known| reference.starts_with(known)),
                "{text}"
            );
        }
        let inside = &tag[1..end];
        let quotes = inside.matches('"').count();
        assert!(quotes % 2 == 0 && !inside.contains('<'), "{inside}");
        if let Some(name) = inside.strip_prefix('/') {
            let opened: &str = open.pop().expect("a tag that was opened");
            assert_eq!(opened, name);
            if opened == wanted {
                found.push(unescaped(text));
            }
        } else if !inside.ends_with('/') {
            open.push(inside.split_whitespace().next().unwrap_or_default());
        }
        rest = &tag[end + 1..];
    }
    assert!(open.is_empty(), "{open:?} is not closed");
    found
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The picture of the losses of a run has a panel for each of them.
#[test]
fn losses_are_drawn() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("losses_are_drawn");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let (program, picture) = (folder.join("p.loom"), folder.join("p.svg"));
    let text = "let loss = square({w : | = 1})\nlet other = exp({v : | = 0})\n\
        repeat 20:\n  minimise loss by sgd(0.25)\n  minimise other by sgd(1)\n";
    std::fs::write(&program, text).expect("a program");
    let run = |program: &std::path::Path| {
        let arguments = ["run", "--backend", "reference", program.to_str().unwrap_or_default(), "--curve"];
        broadloom(&[&arguments[..], &[picture.to_str().unwrap_or_default()]].concat(), &World::default())
    };
    let ran = run(&program);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let shown = texts(&std::fs::read_to_string(&picture).expect("a picture"), "text");
    for wanted in ["loss, logarithmic", "3.64e-12 in repetition 20", "other", "repetition", "20"] {
        assert!(shown.iter().any(|text| text == wanted), "{wanted}: {shown:?}");
    }
    std::fs::write(&program, "print 1\n").expect("a program");
    let ran = run(&program);
    assert!(ran.stderr.contains("no loop minimises anything"), "{}", ran.stderr);
}

#[test]
fn everything_is_in_the_picture() {
    let folders = [programs(), examples()];
    for file in folders.iter().flat_map(|folder| loom_files(folder)) {
        let file = file.to_str().expect("a path in UTF-8");
        for more in [&[][..], &["--all"]] {
            let run = |last: &[&str]| broadloom(&[&["graph", file], more, last].concat(), &World::default());
            let svg = run(&[]);
            if svg.status != 0 {
                continue;
            }
            let data: Value = serde_json::from_str(&run(&["--json"]).stdout).expect("JSON");
            let shown = texts(&svg.stdout, "text");
            let list = |key: &str| data[key].as_array().cloned().unwrap_or_default();
            let mut wanted: Vec<String> = Vec::new();
            for drawn in list("boxes") {
                let lines = drawn["lines"].as_array().cloned().unwrap_or_default();
                wanted.extend(
                    lines.iter().chain([&drawn["name"]]).filter_map(Value::as_str).map(str::to_string),
                );
            }
            wanted.extend(list("edges").iter().filter_map(|edge| edge["shape"].as_str()).map(str::to_string));
            wanted.extend(
                list("frames").iter().filter_map(|frame| frame["title"].as_str()).map(str::to_string),
            );
            for text in wanted {
                assert!(shown.contains(&text), "{file}: `{text}` is not shown");
            }
            let paths = svg.stdout.matches("<path class=\"edge\"").count();
            assert!(paths >= list("edges").len().min(1), "{file}");
            assert!(!svg.stdout.contains("NaN") && !svg.stdout.contains("inf"), "{file}");
            assert!(!svg.stdout.contains("<script"), "{file}");
        }
    }
}

/// No box overlaps another, and every frame encloses its contents.
#[test]
fn boxes_do_not_overlap() {
    let file = programs().join("towers.loom");
    for more in [&[][..], &["--all"]] {
        let arguments = [&["graph", file.to_str().expect("a path in UTF-8")], more].concat();
        let svg = broadloom(&arguments, &World::default()).stdout;
        let number = |line: &str, key: &str| {
            let after = line.split(&format!(" {key}=\"")).nth(1).expect("an attribute");
            after.split('"').next().and_then(|text| text.parse::<f64>().ok()).expect("a number")
        };
        let boxes: Vec<[f64; 4]> = svg
            .lines()
            .filter(|line| line.starts_with("<rect class=\"box ") || line.starts_with("<rect class=\"leaf "))
            .map(|line| ["x", "y", "width", "height"].map(|key| number(line, key)))
            .collect();
        assert!(boxes.len() > 4, "{svg}");
        for (at, [x, y, width, height]) in boxes.iter().enumerate() {
            for [left, top, w, h] in &boxes[at + 1..] {
                let apart = x + width <= *left || left + w <= *x || y + height <= *top || top + h <= *y;
                assert!(apart, "{x} {y} and {left} {top} overlap");
            }
        }
    }
}

/// A picture that is too large is refused quickly, and a part of it is drawn quickly.
#[test]
fn large_programs_do_not_take_long() {
    let world =
        World { stdin: b"data x : 8\nlet y = x |> [relu for i in 0..20000]\n".to_vec(), ..World::default() };
    let start = Instant::now();
    let refused = broadloom(&["graph", "-"], &world);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("--of NAME --depth"), "{}", refused.stderr);
    let part = broadloom(&["graph", "-", "--of", "y", "--depth", "3"], &world);
    assert_eq!(part.status, 0, "{}", part.stderr);
    assert_eq!(texts(&part.stdout, "text").iter().filter(|text| text.starts_with("relu")).count(), 5);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
