//! The boundary of WebAssembly: texts are passed by address and length in the memory of the module.
//!
//! JavaScript asks [`allocate`] for room, writes a question there, and calls [`ask`], which takes the question and leaves the answer: [`ask`] returns its address, and
//! [`answer_length`] its length. The answer stays where it is until the next question. While a program runs, `report` of JavaScript is called with what happens.

use std::cell::RefCell;

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

#[link(wasm_import_module = "page")]
#[allow(unsafe_code)]
unsafe extern "C" {
    fn report(address: *const u8, length: usize);
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
