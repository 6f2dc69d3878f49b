//! From a text to a program, with everything that is found on the way.

use broadloom::{Certificate, KnownNests};
use broadloom_diagnostics::{Diagnostic, Sources};

use crate::eval::{Eval, interface, replay};
use crate::front;
use crate::program::{Asked, Options, Program};
use crate::signature::Signature;

/// Reads a program: parses it, evaluates it, and infers its shapes. It never fails: errors are in
/// [`Program::diagnostics`].
///
/// ```
/// use broadloom_lang::{Options, compile};
/// let text = "
/// data x : 32 | 784
/// let y = relu({w} @ x + {b : 64})
/// ";
/// let mut program = compile("layer.loom", text, &Options::default());
/// assert!(program.is_ok());
/// let w = program.find("w").unwrap();
/// assert_eq!(program.graph.final_shape(w)?.to_string(), "784 -> 64");
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn compile(name: &str, text: &str, options: &Options) -> Program {
    Program::of(evaluated(name, text, options), options)
}

/// Evaluates a program. Bodies of functions are walked in every application if one of them would not do the same again.
fn evaluated<'o>(name: &str, text: &str, options: &'o Options) -> Eval<'o> {
    let mut eval = Eval::new(options);
    if !options.walks && options.until.is_none() {
        replay::begin_replaying(&mut eval);
    }
    eval.program(name, text);
    if !replay::has_to_walk(&eval) {
        return eval;
    }
    let mut eval = Eval::new(options);
    eval.program(name, text);
    eval
}

/// Reads a program as far as its shapes: like [`compile`], without what is found by deriving loops, and without advice that
/// has to be tried.
pub fn infer(name: &str, text: &str, options: &Options) -> Program {
    Program::shaped(evaluated(name, text, options), options).0
}

/// Signatures of functions, and the program they belong to.
pub struct Signatures {
    /// The texts that they were read from.
    pub sources: Sources,
    /// The mistakes in the program, and in the question.
    pub diagnostics: Vec<Diagnostic>,
    /// The signatures, in the order of the text.
    pub list: Vec<Signature>,
    /// The fingerprint of the text and of all texts that it imports.
    pub fingerprint: String,
}

/// The signatures of functions: each is inferred once, with open arguments. What is wrong with the bodies of functions, and
/// with their names, is in the diagnostics; shapes of the program itself are not looked at.
pub fn signatures(name: &str, text: &str, options: &Options, asked: &Asked) -> Signatures {
    let mut eval = Eval::new(options);
    eval.program(name, text);
    let list = eval.signatures(asked);
    let fingerprint = interface::fingerprint_of(&eval, eval.main());
    Signatures { sources: eval.sources, diagnostics: eval.diagnostics, list, fingerprint }
}

/// The certificate of a function's scheme, with the program that it belongs to.
pub struct CertifiedFunction {
    /// The texts that it was read from.
    pub sources: Sources,
    /// The mistakes in the program, and in the question.
    pub diagnostics: Vec<Diagnostic>,
    /// The signature, if there is such a function.
    pub signature: Option<Signature>,
    /// The certificate, if the function has a scheme.
    pub certificate: Option<Certificate>,
}

/// The certificate of the scheme of a function, written as in the program: `dense`, `attention(8)`.
///
/// ```
/// use broadloom_lang::{Options, certified_function};
/// let text = "def halves(x) = einsum(\"... | 2*i => ... | i\", x)\n";
/// let found = certified_function("halves.loom", text, &Options::default(), "halves");
/// assert_eq!(found.certificate.unwrap().unproved(), None);
/// ```
pub fn certified_function(name: &str, text: &str, options: &Options, function: &str) -> CertifiedFunction {
    let mut eval = Eval::new(options);
    eval.program(name, text);
    let (signature, certificate) = match eval.certified(function) {
        Some((signature, certificate)) => (Some(signature), certificate),
        None => (None, None),
    };
    CertifiedFunction { sources: eval.sources, diagnostics: eval.diagnostics, signature, certificate }
}

impl Program {
    /// The program that an evaluation has made, with everything that is found by looking at it as a whole, and advice that
    /// was tried.
    pub(crate) fn of(eval: Eval<'_>, options: &Options) -> Program {
        Program::of_known(eval, options, None)
    }

    /// The same, where operations at the beginning are known to have loop nests.
    pub(crate) fn of_known(eval: Eval<'_>, options: &Options, nests: Option<KnownNests>) -> Program {
        let mut program = Program::as_read(eval, options, nests);
        program.advise(options);
        program
    }

    /// The same, unless nobody needs it any more.
    pub(crate) fn of_known_unless(
        eval: Eval<'_>,
        options: &Options,
        nests: Option<KnownNests>,
        is_over: &dyn Fn() -> bool,
    ) -> Option<Program> {
        let (mut program, loads) = Program::shaped(eval, options);
        program.nests = nests;
        if is_over() {
            return None;
        }
        program.look_at_all(loads, options);
        if is_over() {
            return None;
        }
        program.advise(options);
        Some(program)
    }

    /// Adds advice that has to be tried.
    fn advise(&mut self, options: &Options) {
        crate::remedies::find(self, options);
        self.review_messages();
        self.diagnostics.iter_mut().for_each(|wrong| front::word(wrong, options.words));
    }
}
