//! The functions of the language, as data: code that decides something by a function compares these, and names are for people.

use broadloom::Pointwise;

/// Declares the functions of the language that are not just a pointwise operation, with their names.
macro_rules! language_functions {
    ($($id:ident $name:literal,)*) => {
        /// A function of the language.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum LanguageFunction {
            /// A pointwise operation of the library, element by element.
            Pointwise(Pointwise),
            $($id,)*
        }

        impl LanguageFunction {
            /// All functions with rules of their own.
            #[cfg(test)]
            pub const OWN: &[LanguageFunction] = &[$(LanguageFunction::$id,)*];

            /// Its name in programs.
            pub fn name(self) -> &'static str {
                match self {
                    LanguageFunction::Pointwise(operation) => operation.name(),
                    $(LanguageFunction::$id => $name,)*
                }
            }
        }
    };
}

language_functions! {
    Max "max",
    Min "min",
    Where "where",
    Einsum "einsum",
    Sum "sum",
    Product "product",
    Mean "mean",
    Split "split",
    Transpose "transpose",
    Gather "gather",
    Scatter "scatter",
    Take "take",
    TakeAlong "take_along",
    Positions "positions",
    Argsort "argsort",
    Argmax "argmax",
    Argmin "argmin",
    Solve "solve",
    Lstsq "lstsq",
    Inverse "inverse",
    Det "det",
    Logdet "logdet",
    Cholesky "cholesky",
    Qr "qr",
    Eigh "eigh",
    Svd "svd",
    Concat "concat",
    Stack "stack",
    Reshape "reshape",
    Scan "scan",
    Fold "fold",
    Constant "constant",
    Range "range",
    Noise "noise",
    Load "load",
    Batches "batches",
    Mesh "mesh",
    Params "params",
    Len "len",
    Append "append",
    SumOf "sum_of",
    Inference "inference",
    Training "training",
    Uniform "uniform",
    Normal "normal",
    Kaiming "kaiming",
    KaimingNormal "kaiming_normal",
    Xavier "xavier",
    XavierNormal "xavier_normal",
}
