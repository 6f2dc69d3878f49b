//! Every offset of every example has answers, in finished and unfinished programs.

use std::path::Path;

use broadloom_ide::{Analysis, Text, completion, definition, hints, hover};

fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the examples") {
        let path = entry.expect("a readable entry").path();
        if path.extension().is_some_and(|ending| ending == "loom") {
            texts.push(std::fs::read_to_string(path).expect("a readable example"));
        }
    }
    assert!(texts.len() > 3, "there are examples");
    texts
}

#[test]
fn every_offset_has_answers() {
    for text in examples() {
        let mut analysis = Analysis::new(&Text::new("a.loom", text.as_str()));
        hints(&mut analysis);
        // A step that is prime, so that all parts of words are met.
        for offset in (0..text.len() as u32 + 3).step_by(101) {
            if let Some(hover) = hover(&mut analysis, offset) {
                assert!(text.contains(&hover.name) && !hover.markdown().is_empty());
            }
            if let Some(span) = definition(&analysis, offset) {
                assert!(!analysis.sources().slice(span).is_empty());
            }
            completion(&analysis, offset);
        }
    }
}

#[test]
fn unfinished_programs_have_answers() {
    for text in examples() {
        for end in (0..text.len()).step_by(397) {
            let part = &text[..text.floor_char_boundary(end)];
            let mut analysis = Analysis::new(&Text::new("a.loom", part));
            hints(&mut analysis);
            completion(&analysis, part.len() as u32);
            hover(&mut analysis, part.len() as u32);
        }
    }
}
