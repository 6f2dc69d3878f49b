//! Bytes to text to tree and back: reading never panics, and what was read prints and reads again.
#![no_main]

use broadloom_cli::rows::parse;
use broadloom_diagnostics::{Sources, Style, decode, render_all};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = match decode(bytes.to_vec()) {
        Ok(text) => text,
        Err(error) => {
            let _ = error.render("fuzz.rows");
            return;
        }
    };
    let parsed = parse(&text);
    let sources = Sources::one("fuzz.rows", text.as_str());
    let messages = render_all(&sources, &parsed.diagnostics, parsed.suppressed, Style::default());
    assert_eq!(messages.is_empty(), parsed.is_ok());
    let printed = parsed.system.to_string();
    let again = parse(&printed);
    if parsed.is_ok() {
        assert!(again.is_ok(), "printed text does not parse:\n{printed}");
        assert_eq!(again.system.to_string(), printed);
    }
});
