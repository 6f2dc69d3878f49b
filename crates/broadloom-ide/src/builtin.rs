//! The functions of the language itself in words: how each is called, and what it gives.

use broadloom::Pointwise;

/// A name of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Builtin {
    pub name: &'static str,
    /// A call of it: `einsum(spec, a, b, …)`; the name alone if it is not a function.
    pub call: &'static str,
    /// Its result, in a sentence.
    pub about: &'static str,
}

/// The description of a name of the language.
pub(crate) fn builtin(name: &str) -> Option<Builtin> {
    if let Some(&(name, call, about)) = BUILTINS.iter().find(|(known, ..)| *known == name) {
        return Some(Builtin { name, call, about });
    }
    // Pointwise operations have it in their table.
    let operation = Pointwise::named(name)?;
    let (call, about) = operation.documented();
    Some(Builtin { name: operation.name(), call, about })
}

/// A call of a function of the language, and its result in a sentence.
///
/// ```
/// assert_eq!(broadloom_ide::of_language("relu"), Some(("relu(x)", "Each element, or 0 if it is negative.")));
/// ```
pub fn of_language(name: &str) -> Option<(&'static str, &'static str)> {
    builtin(name).map(|found| (found.call, found.about))
}

const BUILTINS: &[(&str, &str, &str)] = &[
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
        "Tensors related by a spec, `\"i j; j k => i k\"`: operands are separated by `;`, and labels that the result does not mention are summed. `(h w)` is one axis that goes through `h` and `w`; sizes that nothing else says are given by name, `h = 4`.",
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
        "argmax",
        "argmax(axis, x)",
        "The place of the greatest element of `x` along the axis that a shape names, `\"... | t, ...\"`, or that a spec leaves out, `\"i j => i\"`; \
         without either, the last output axis. Of equals, the first; of what is not a number, the first, too.",
    ),
    (
        "argmin",
        "argmin(axis, x)",
        "The place of the least element of `x` along the axis that a shape names, `\"... | t, ...\"`, or that a spec leaves out, `\"i j => i\"`; \
         without either, the last output axis. Of equals, the first; of what is not a number, the first, too.",
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
        "Two matrices for each matrix `a : n -> m` of a batch, with k the lesser of n and m: `q : k -> m`, whose columns have unit length and \
         are at right angles, and `r : n -> k`, upper triangular, with `a = q @ r`. As a list: `let q, r = qr(a)`.",
    ),
    (
        "lstsq",
        "lstsq(a, b)",
        "The `x` for which `a @ x` is nearest to `b`, for each matrix `a : n -> m` of a batch: the least sum of squares of `a @ x - b`. Of \
         several, as with more columns than rows, the shortest. `a` is of full rank.",
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
         batch, as many as the lesser of n and m: `let u, s, v = svd(a)`. `a` is `u @ (s * transpose(v))`, vectors are columns. Only `s` has \
         gradients.",
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
        "Applies `f(element, carried)` along the last batch axis of `x`, each time to the next element and to what it made before, at first `first`: all that it made, along that axis. `scan(\"... | t\", f, first, x)` goes along another axis. With `checkpoint_every = 20`, gradients note what is carried in every twentieth turn.",
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
    (
        "mesh",
        "mesh(data = 4, model = 2, shard = [], fsdp = \"data\")",
        "The devices that the program is divided over where XLA runs it: the names of the axes of a grid, with the number of devices along each. \
         Each rule of `shard` divides axes over one of them: a named size (`\"batch=data\"`), a label (`\"*.heads=model\"`) or a place \
         (`\"w[output, 0]=model\"`). `fsdp` divides parameters and states over an axis as well.",
    ),
    ("params", "params(loss)", "The parameters that a tensor depends on, or that layers have made: a list."),
    ("len", "len(list)", "The number of items of a list, or of batches in an epoch of a stream."),
    ("append", "append(list, item)", "The items of a list, and another one behind them."),
    ("sum_of", "sum_of(list)", "The sum of the items of a list: of tensors, element by element."),
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
