//! The boundary of WebAssembly: texts are passed by address and length in the memory of the module.
//!
//! JavaScript asks [`allocate`] for room, writes a question there, and calls [`ask`], which takes the question and leaves the answer: [`ask`] returns its address, and
//! [`answer_length`] its length. The answer stays where it is until the next question. While a program runs, `report` of JavaScript is called with what happens.
//!
//! Nests run as WebAssembly, too: JavaScript loads their modules (`load`) and calls their functions (`run_nest`), which work on the memory of this module and call the functions here
//! whose names begin with `host_`.

use std::cell::RefCell;

use broadloom_run::{Block, Host, HostEngine, wasm};

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

#[link(wasm_import_module = "page")]
#[allow(unsafe_code)]
unsafe extern "C" {
    fn report(address: *const u8, length: usize);
    /// Returns 1 if the browser has the instruction that multiplies and adds at once, or 0.
    fn fuses() -> i32;
    /// Loads a module; returns its number, or -1.
    fn load(address: *const u8, length: usize) -> i32;
    fn unload(loaded: u32);
    /// Calls the function of a nest with the addresses of its buffers and its symbols; returns 0 if it was carried out.
    fn run_nest(loaded: u32, nest: u32, buffers: *const usize, symbols: *const i64) -> i32;
}

/// The engine of the browser.
struct Browser;

#[allow(unsafe_code)]
impl HostEngine for Browser {
    fn fuses(&self) -> bool {
        // SAFETY: the function takes nothing and returns a number.
        unsafe { fuses() != 0 }
    }

    fn load(&self, module: &[u8]) -> Option<u32> {
        // SAFETY: the module lives until the call returns, and JavaScript only reads it.
        u32::try_from(unsafe { load(module.as_ptr(), module.len()) }).ok()
    }

    fn run(&self, loaded: u32, nest: u32, blocks: &mut [&mut Block], symbols: &[i64]) -> bool {
        let buffers: Vec<usize> = blocks.iter_mut().map(|block| block.address() as usize).collect();
        // SAFETY: the function reads and writes cells of the blocks that it is given, which are borrowed for the call, and nothing else: its addresses are those of the reference
        // evaluator, and indices that are read from memory are compared with their axes. It writes only to blocks that the session has furnished for writing.
        unsafe { run_nest(loaded, nest, buffers.as_ptr(), symbols.as_ptr()) == 0 }
    }

    fn unload(&self, loaded: u32) {
        // SAFETY: JavaScript forgets a module by its number.
        unsafe { unload(loaded) }
    }
}

/// The host of programs that run in a page.
pub(crate) fn host() -> Host {
    Host(&Browser)
}

/// See [`wasm::host_unary`].
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn host_unary(function: u32, x: f64) -> f64 {
    wasm::host_unary(function, x)
}

/// See [`wasm::host_binary`].
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn host_binary(function: u32, a: f64, b: f64) -> f64 {
    wasm::host_binary(function, a, b)
}

/// See [`wasm::host_widen`].
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn host_widen(dtype: u32, bits: u32) -> f64 {
    wasm::host_widen(dtype, bits)
}

/// See [`wasm::host_narrow`].
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn host_narrow(dtype: u32, x: f64) -> u32 {
    wasm::host_narrow(dtype, x)
}

/// See [`wasm::host_uniform`].
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn host_uniform(key: u64, at: u64) -> f64 {
    wasm::host_uniform(key, at)
}

/// Makes room for a question of so many bytes, and returns where.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(length, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question that was written, and returns where the answer is.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn ask() -> *const u8 {
    let question = QUESTION.take();
    let mut tell = |event: &str| {
        // SAFETY: the text lives until the call returns, and JavaScript only reads it.
        unsafe { report(event.as_ptr(), event.len()) }
    };
    let answer = crate::answer(&String::from_utf8_lossy(&question), &mut tell);
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer;
        kept.as_ptr()
    })
}

/// The length of the last answer.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn answer_length() -> usize {
    ANSWER.with_borrow(String::len)
}
