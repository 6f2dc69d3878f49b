//! Runs of a program in a page.

use broadloom::{Backend, Settings};
use broadloom_ide::Analysis;
use broadloom_lang::{Observer, Repeated, RunOptions};
use serde::Serialize;

use crate::editing::{Mistake, Places, program};
use crate::units::Units;

/// The outcome of a run.
#[derive(Serialize)]
pub(crate) struct Ran {
    mistakes: Vec<Mistake>,
}

/// An event while a program runs.
#[derive(Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
enum Event<'a> {
    Printed { line: &'a str },
    Repeated { done: u64, of: u64, losses: &'a [(String, f64)] },
    Compiling { number: usize, of: usize },
    Noticed { text: &'a str },
}

struct Reporter<'a> {
    report: &'a mut dyn FnMut(&str),
}

impl Reporter<'_> {
    fn tell(&mut self, event: &Event<'_>) {
        // What happens is made of texts and numbers, which JSON can always say.
        if let Ok(event) = serde_json::to_string(event) {
            (self.report)(&event);
        }
    }
}

impl Observer for Reporter<'_> {
    fn printed(&mut self, line: &str) {
        self.tell(&Event::Printed { line });
    }

    fn repeated(&mut self, step: &Repeated<'_>) {
        let Repeated { done, of, losses, .. } = *step;
        self.tell(&Event::Repeated { done, of, losses });
    }

    fn compiling(&mut self, number: usize, of: usize) {
        self.tell(&Event::Compiling { number, of });
    }

    fn notice(&mut self, text: &str) {
        self.tell(&Event::Noticed { text });
    }
}

/// In a page, nests run as WebAssembly; elsewhere they are evaluated.
fn backend() -> Backend {
    #[cfg(target_arch = "wasm32")]
    return Backend::Host(crate::abi::host());
    #[cfg(not(target_arch = "wasm32"))]
    Backend::Reference
}

/// Runs a program. It ends when it is done, when it meets a mistake, or when the page ends it.
pub(crate) fn run(text: &str, seed: u64, report: &mut dyn FnMut(&str)) -> Ran {
    let program = Analysis::open(&program(text)).program;
    let (sources, main) = (program.sources.clone(), program.main);
    let units = Units::new(text);
    let places = Places { units: &units, sources: &sources, main };
    if !program.is_ok() {
        return Ran { mistakes: program.diagnostics.iter().map(|each| places.mistake(each)).collect() };
    }
    let settings = Settings { backend: backend(), seed, ..Settings::default() };
    let options = RunOptions { settings, ..RunOptions::default() };
    let ended = program.run(&options, &mut Reporter { report });
    Ran { mistakes: ended.err().iter().map(|wrong| places.mistake(wrong)).collect() }
}
