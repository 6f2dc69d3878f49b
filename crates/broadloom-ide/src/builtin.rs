//! The functions of the language itself in words: how each is called, and what it gives.

/// A name of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Builtin {
    pub name: &'static str,
    /// How it is called: `einsum(spec, a, b, …)`; the name alone if it is no function.
    pub call: &'static str,
    /// What it gives, a sentence.
    pub about: &'static str,
}

/// The description of a name of the language.
pub(crate) fn builtin(name: &str) -> Option<Builtin> {
    let found = BUILTINS.iter().find(|(known, ..)| *known == name);
    found.map(|&(name, call, about)| Builtin { name, call, about })
}

/// How a function of the language is called, and what it gives, in a sentence.
///
/// ```
/// assert_eq!(broadloom_ide::of_language("relu"), Some(("relu(x)", "Each element, or 0 if it is negative.")));
/// ```
pub fn of_language(name: &str) -> Option<(&'static str, &'static str)> {
    builtin(name).map(|found| (found.call, found.about))
}

const BUILTINS: &[(&str, &str, &str)] = &[
    ("exp", "exp(x)", "The exponential of each element."),
    ("log", "log(x)", "The natural logarithm of each element."),
    ("log1p", "log1p(x)", "`log(1 + x)`, exact for small `x`."),
    ("expm1", "expm1(x)", "`exp(x) - 1`, exact for small `x`."),
    ("sqrt", "sqrt(x)", "The square root of each element."),
    ("recip", "recip(x)", "`1 / x` of each element."),
    ("sin", "sin(x)", "The sine of each element."),
    ("cos", "cos(x)", "The cosine of each element."),
    ("tan", "tan(x)", "The tangent of each element."),
    ("asin", "asin(x)", "The angle whose sine is each element, from -π/2 to π/2."),
    ("acos", "acos(x)", "The angle whose cosine is each element, from 0 to π."),
    ("atan", "atan(x)", "The angle whose tangent is each element, between -π/2 and π/2."),
    ("atan2", "atan2(y, x)", "The angle of the point with the coordinates `x` and `y`, from -π to π."),
    ("sinh", "sinh(x)", "The hyperbolic sine of each element."),
    ("cosh", "cosh(x)", "The hyperbolic cosine of each element."),
    ("asinh", "asinh(x)", "The inverse of `sinh`."),
    ("acosh", "acosh(x)", "The inverse of `cosh`, not negative; for elements from 1 upwards."),
    ("atanh", "atanh(x)", "The inverse of `tanh`, for elements between -1 and 1."),
    ("tanh", "tanh(x)", "The hyperbolic tangent of each element."),
    ("sigmoid", "sigmoid(x)", "`1 / (1 + exp(-x))` of each element."),
    ("relu", "relu(x)", "Each element, or 0 if it is negative."),
    ("abs", "abs(x)", "The absolute value of each element."),
    ("sign", "sign(x)", "-1, 0 or 1 for each element."),
    ("square", "square(x)", "`x * x` of each element."),
    ("erf", "erf(x)", "The error function of each element."),
    ("lgamma", "lgamma(x)", "The logarithm of the absolute value of the gamma function of each element."),
    ("digamma", "digamma(x)", "The derivative of `lgamma` at each element."),
    ("floor", "floor(x)", "The next whole number below each element."),
    ("ceil", "ceil(x)", "The next whole number above each element."),
    ("round", "round(x)", "The nearest whole number of each element."),
    ("bool", "bool(x)", "True (1) where an element is not 0, as `bool`. No gradient goes back through it."),
    (
        "u8",
        "u8(x)",
        "Each element as `u8`: without its fraction, the nearest of 0 to 255, and 0 for what is not a number. No gradient goes back through it.",
    ),
    (
        "i8",
        "i8(x)",
        "Each element as `i8`: without its fraction, the nearest of -128 to 127, and 0 for what is not a number. No gradient goes back through it.",
    ),
    (
        "i16",
        "i16(x)",
        "Each element as `i16`: without its fraction, the nearest of -32768 to 32767, and 0 for what is not a number. No gradient goes back through it.",
    ),
    (
        "i32",
        "i32(x)",
        "Each element as `i32`: without its fraction, the nearest there is, and 0 for what is not a number. No gradient goes back through it.",
    ),
    (
        "i64",
        "i64(x)",
        "Each element as `i64`: without its fraction, the nearest there is, and 0 for what is not a number. No gradient goes back through it.",
    ),
    ("bf16", "bf16(x)", "Each element as `bf16`, rounded to the nearest."),
    ("f16", "f16(x)", "Each element as `f16`, rounded to the nearest."),
    ("f32", "f32(x)", "Each element as `f32`, rounded to the nearest."),
    ("f64", "f64(x)", "Each element as `f64`, rounded to the nearest."),
    ("bit_and", "bit_and(a, b)", "The bits that both integers have."),
    ("bit_or", "bit_or(a, b)", "The bits that at least one of two integers has."),
    ("bit_xor", "bit_xor(a, b)", "The bits that one of two integers has, and not both."),
    (
        "shift_left",
        "shift_left(a, n)",
        "Integers times `2 ** n`; what is too large is the greatest number of the type.",
    ),
    ("shift_right", "shift_right(a, n)", "Integers divided by `2 ** n` and rounded down."),
    ("stop_gradient", "stop_gradient(x)", "`x` itself; no gradient goes back through it."),
    (
        "max",
        "max(a, b)",
        "The greater of two, element by element. With a spec or a shape, `max(\"b | i => b |\", x)`, or of one tensor, `max(x)`: the greatest element.",
    ),
    (
        "min",
        "min(a, b)",
        "The lesser of two, element by element. With a spec or a shape, `min(\"b | i => b |\", x)`, or of one tensor, `min(x)`: the least element.",
    ),
    ("where", "where(condition, a, b)", "`a` where the condition is not 0, and `b` elsewhere."),
    (
        "einsum",
        "einsum(spec, a, b, …, reduce = \"+\", combine = \"*\", padding = …)",
        "Tensors related by a spec, `\"i j; j k => i k\"`: operands are separated by `;`, and labels that the result does not mention are summed.",
    ),
    (
        "sum",
        "sum(spec, x, padding = …)",
        "The sum by a spec, over the axes of a shape, or of all elements: `sum(x)`.",
    ),
    (
        "product",
        "product(spec, x, padding = …)",
        "The product by a spec, over the axes of a shape, or of all elements: `product(x)`.",
    ),
    (
        "mean",
        "mean(spec, x, padding = …)",
        "The mean by a spec, over the axes of a shape, or of all elements: `mean(x)`.",
    ),
    ("split", "split(spec, x)", "The parts of a tensor by a spec, as a list: `split(\"a^b => a; b\", x)`."),
    ("transpose", "transpose(w)", "The map with input and output exchanged; also written `w.T`."),
    ("gather", "gather(table, ids)", "The columns of a table `n -> …` at whole numbers `… |`."),
    (
        "scatter",
        "scatter(x, ids, size, reduce = \"+\")",
        "The elements of `x : … | …` at whole numbers `ids : … |` along a new first batch axis of a size; elements with equal numbers are added up, or what `reduce` says.",
    ),
    (
        "take",
        "take(axis, x, ids)",
        "The elements of `x` at whole numbers `ids : … |` along the axis that a shape names, `take(\"... | t\", x, ids)`.",
    ),
    (
        "take_along",
        "take_along(axis, x, ids)",
        "The elements of `x` along the axis that a shape names, at whole numbers that `ids` has for each row.",
    ),
    (
        "positions",
        "positions(axis, x)",
        "0, 1, 2, … along a batch axis `t`, as many as `x` has elements along the axis that a shape names.",
    ),
    (
        "argsort",
        "argsort(axis, x, descending = false)",
        "The positions of the elements of `x` along the axis that a shape names, in the order of the elements; equal ones in the order of their positions, what is not a number last.",
    ),
    (
        "solve",
        "solve(a, b)",
        "The solution `x` of `a @ x = b`, for each square matrix `a : n -> n` of a batch; NaN where `a` is singular.",
    ),
    (
        "inverse",
        "inverse(a)",
        "The inverse of each square matrix `a : n -> n` of a batch; NaN where it is singular. To solve an equation, `solve(a, b)` is \
         faster and more exact.",
    ),
    ("det", "det(a)", "The determinant of each square matrix `a : n -> n` of a batch."),
    (
        "logdet",
        "logdet(a)",
        "The logarithm of the absolute value of the determinant of each square matrix `a : n -> n` of a batch, which itself may be too \
         large or too small for a number.",
    ),
    (
        "cholesky",
        "cholesky(a)",
        "The lower triangular `l` with `a = l @ transpose(l)`, for each symmetric positive matrix `a : n -> n` of a batch; NaN where `a` is \
         not positive. Only the symmetric part of `a` counts.",
    ),
    (
        "qr",
        "qr(a)",
        "Two matrices for each matrix `a : n -> m` of a batch, with m ≥ n: `q : n -> m`, whose columns have unit length and are at right \
         angles, and `r : n -> n`, upper triangular, with `a = q @ r`. As a list: `let q, r = qr(a)`.",
    ),
    (
        "eigh",
        "eigh(a)",
        "The eigenvalues of each symmetric matrix `a : n -> n` of a batch in ascending order, and its eigenvectors as columns: `let values, \
         vectors = eigh(a)`. Only the symmetric part of `a` counts. Gradients of vectors are infinite where values are equal.",
    ),
    (
        "svd",
        "svd(a)",
        "The left singular vectors, the singular values in descending order, and the right singular vectors of each matrix `a : n -> m` of a \
         batch, with m ≥ n: `let u, s, v = svd(a)`. `a` is `u @ (s * transpose(v))`, vectors are columns. Only `s` has gradients.",
    ),
    (
        "concat",
        "concat(a, b, …, along = \"output\")",
        "Tensors one after another along the first axis of a kind, `\"batch\"`, `\"input\"` or `\"output\"`, or along the axis that a shape names: `\"... | t\"`.",
    ),
    (
        "stack",
        "stack(a, b, …, along = \"output\")",
        "Tensors one after another along a new first axis of a kind, `\"batch\"`, `\"input\"` or `\"output\"`, or in the place that a shape names: `\"..., t\"`.",
    ),
    (
        "reshape",
        "reshape(x, shape)",
        "The same elements in memory order, in the shape that is written, stated, or asked for by its uses.",
    ),
    (
        "scan",
        "scan(f, first, x, …)",
        "Applies `f(element, carried)` along the last batch axis of `x`, each time to the next element and to what it made before, at first `first`: all that it made, along that axis. `scan(\"... | t\", f, first, x)` goes along another axis.",
    ),
    ("fold", "fold(f, first, x, …)", "The last value that `scan(f, first, x)` would make."),
    ("constant", "constant(number)", "A number in every place of a shape that the context asks for."),
    ("range", "range(shape)", "0, 1, 2, … along the one axis of a shape: `range(\"t ->\")`."),
    (
        "noise",
        "noise(distribution, shape)",
        "Numbers that are new in every run: uniform from 0 to 1, or from a distribution, `noise(normal(2))`; as many as are needed, or of a shape.",
    ),
    (
        "load",
        "load(path, name)",
        "Numbers from a `.npy`, `.npz`, `.safetensors` or `.csv` file; with `into = net`, weights of a model.",
    ),
    (
        "batches",
        "batches(path, size, shuffle = false, of = [])",
        "A stream of data: each repetition of the innermost loop that uses it takes the next rows of a `.npy`, `.npz`, `.safetensors` or `.csv` file, or of a list. `train.x` is one of its arrays, `len(train)` the number of batches in an epoch.",
    ),
    ("params", "params(loss)", "The parameters that a tensor depends on, or that layers have made: a list."),
    ("len", "len(list)", "The number of items of a list, or of batches in an epoch of a stream."),
    ("inference", "inference(f)", "`f` applied as after training: inside it `training` is 0."),
    ("training", "training", "1, and 0 inside of `inference(f)`."),
    ("uniform", "uniform(low, high)", "First values: uniform numbers in a range."),
    ("normal", "normal(mean, deviation)", "First values: normally distributed numbers."),
    ("kaiming", "kaiming(gain)", "First values: uniform, so that variance is kept from the inputs on."),
    (
        "kaiming_normal",
        "kaiming_normal(gain)",
        "First values: normal, so that variance is kept from the inputs on.",
    ),
    ("xavier", "xavier(gain)", "First values: uniform, for inputs and outputs alike."),
    ("xavier_normal", "xavier_normal(gain)", "First values: normal, for inputs and outputs alike."),
    ("inferred", "inferred", "For an argument that is a size: to be inferred."),
    ("zeros", "zeros", "First values: 0."),
    ("ones", "ones", "First values: 1."),
    ("pi", "pi", "3.14159…"),
    ("true", "true", "1."),
    ("false", "false", "0."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_language_is_described() {
        for name in broadloom_lang::builtins() {
            let known = builtin(name);
            assert!(known.is_some_and(|known| known.call.starts_with(name)), "{name} is not described");
        }
        for (name, ..) in BUILTINS {
            assert!(broadloom_lang::builtins().any(|known| known == *name), "there is no {name}");
        }
    }
}
