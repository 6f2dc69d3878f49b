//! Suggestions for an unknown name: a similar name,
//! or the equivalent of a name from another library.

mod template;

pub use template::{as_operand, called, filled};

/// The number of letters of a name that are compared: the work grows with their square.
const LONGEST: usize = 40;

/// The name that is nearest to another one, if any is near: one letter wrong, or two in a long name. Of very short names
/// any is near any other, which helps nobody.
pub fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let allowed = match wanted.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    // The same letters in another style: `LayerNorm`, `layernorm`.
    let by = |name: &str| if plain(name) == plain(wanted) { 0 } else { distance(wanted, name) };
    let near = known.filter(|name| *name != wanted).map(|name| (by(name), name));
    let near = near.filter(|(by, name)| *by <= allowed.max(usize::from(plain(name) == plain(wanted))));
    // Among equally similar names the first by name,
    // so that the answer does not depend on an order.
    near.min().map(|(_, name)| name.to_string())
}

/// The number of letters to insert, leave out, change or exchange with their neighbour; of names that are far
/// too long to be mistyped, only the beginnings are compared.
fn distance(a: &str, b: &str) -> usize {
    let beginning = |name: &str| name.chars().take(LONGEST).collect::<String>();
    let (a, b) = (beginning(a), beginning(b));
    match a.chars().count().abs_diff(b.chars().count()) {
        0..=2 => strsim::osa_distance(&a, &b),
        _ => usize::MAX,
    }
}

/// The way to write something that other libraries
/// have a name for: `$1`, `$2`, … are its arguments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Replacement {
    /// An expression to write.
    Write(&'static str),
    /// A sentence of advice.
    Say(&'static str),
    /// A sentence, and the expression to write.
    Because(&'static str, &'static str),
}

use Replacement::{Because, Say, Write};
use broadloom_diagnostics::{Help, Setting};

use crate::front::naming_setting;

/// A function that applies others one after another.
const IN_A_ROW: Replacement = Because("a list of layers is a layer", "[$*]");

/// For functions that change the order or the number of axes.
pub const BY_SPEC: Replacement = Say(
    "a spec has the axes of its result in the order that is wanted: `einsum(\"... | p, q => ... | q, p\", x)` exchanges the last two, and `reshape(x, \"2 | 10, 8, 8\")` merges and splits them",
);
/// For functions that merge several axes.
const ALL_AXES: Replacement = Say(
    "leave it out: `linear`, `@` and sums take all output axes; another shape is `reshape(x, \"32 | 28, 28\")`",
);
/// For functions that add or remove axes of size one.
const UNITS: Replacement = Say("leave it out: axes that are missing broadcast, and a spec names the others");
/// For functions that move or copy numbers.
const KEPT: Replacement = Say("leave it out: where numbers are kept is decided for the whole program");
/// For the type of numbers.
const TYPES: Replacement = Say("the type is part of the declaration: `data x : 32 | as i64`");
/// For functions that convert types of numbers.
const CASTS: Replacement = Say(
    "a type is a function that casts: `i64(x)`, `f32(x)`, `bool(x)`; in a declaration it follows the shape, `as i64`",
);

/// For functions that add up what has the same number.
const SEGMENTS: Replacement = Say(
    "elements with the same number are added up by `segment_sum(count)(x, ids)`, and `scatter(x, ids, size)` puts elements at their places",
);
/// For functions whose number of results depends on the numbers.
const BY_NUMBERS: Replacement = Say(
    "the number of its results depends on the numbers, so it has no shape before the program runs; `where(condition, a, b)` keeps the shape",
);
/// For statistics of numbers in their order.
const BY_RANK: Replacement =
    Say("`sort(\"... | v\")(x)` puts the numbers in order, and an index takes one of them");
/// For functions that compile others.
const COMPILED: Replacement = Say("leave it out: every program is compiled as a whole");
/// For what switches gradients off.
const UNASKED: Replacement = Say(
    "leave it out: gradients are computed for `minimise` and `backward` only, and `stop_gradient(x)` ends them at `x`",
);

/// For functions that make gradients shorter.
const CLIPPED: Replacement = Say(
    "a rule is given shorter gradients: `minimise loss by clip_norm(1, net, adam(0.001))`; `clip_values(0.5, …)` limits each element",
);

/// Normal numbers that are new in every repetition.
const NORMAL_NOISE: &str = "noise(normal)";

/// `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => items.concat(),
    }
}

/// For sizes that are read from a tensor.
pub const NAMED_SIZES: &str = "a size has a name where it is declared: `dim n = 32`, `data x : n | 784`, and `n` is the number; or it is a label of a spec, `y.h`; `broadloom check` shows all shapes";

/// Names from other libraries or languages.
const FOREIGN: &[(&str, Replacement)] = &[
    ("log10", Write("log($1) / log(10)")),
    ("log2", Write("log($1) / log(2)")),
    ("ln", Write("log($1)")),
    ("exp2", Write("2 ** $1")),
    ("pow", Write("$1 ** $2")),
    ("power", Write("$1 ** $2")),
    ("rsqrt", Write("1 / sqrt($1)")),
    ("reciprocal", Write("recip($1)")),
    ("arcsin", Write("asin($1)")),
    ("arccos", Write("acos($1)")),
    ("arctan", Write("atan($1)")),
    ("arctan2", Write("atan2($1, $2)")),
    ("arcsinh", Write("asinh($1)")),
    ("arccosh", Write("acosh($1)")),
    ("arctanh", Write("atanh($1)")),
    ("mod", Write("$1 % $2")),
    ("fmod", Write("$1 % $2")),
    ("remainder", Write("$1 % $2")),
    ("add", Write("$1 + $2")),
    ("sub", Write("$1 - $2")),
    ("subtract", Write("$1 - $2")),
    ("mul", Write("$1 * $2")),
    ("multiply", Write("$1 * $2")),
    ("div", Write("$1 / $2")),
    ("matmul", Write("$1 @ $2")),
    ("mm", Write("$1 @ $2")),
    ("bmm", Write("$1 @ $2")),
    ("dot", Write("einsum(\"i; i =>\", $1, $2)")),
    ("outer", Write("einsum(\"i; j => i j\", $1, $2)")),
    ("tensordot", Say("a spec says what is contracted: `einsum(\"i j; j k => i k\", a, b)`")),
    ("clip", Write("clamp($1, $2, $3)")),
    ("maximum", Write("max($1, $2)")),
    ("minimum", Write("min($1, $2)")),
    ("amax", Write("max($1)")),
    ("amin", Write("min($1)")),
    ("prod", Write("product($1)")),
    ("average", Write("mean($1)")),
    ("std", Write("sqrt(mean(square($1 - mean($1))))")),
    ("var", Write("mean(square($1 - mean($1)))")),
    ("norm", Write("sqrt(sum(square($1)))")),
    ("trace", Write("einsum(\"i -> i =>\", $1)")),
    ("diagonal", Write("einsum(\"i -> i => i\", $1)")),
    (
        "diag",
        Say(
            "the diagonal of a map `m` is `einsum(\"i -> i => i\", m)`, and the map with the diagonal `x` is `einsum(\"i => i -> i\", x)`",
        ),
    ),
    ("any", Write("max($1 != 0)")),
    ("all", Write("min($1 != 0)")),
    ("count_nonzero", Write("sum($1 != 0)")),
    ("isnan", Write("$1 != $1")),
    ("isinf", Write("abs($1) == 1/0")),
    ("isfinite", Write("abs($1) < 1/0")),
    ("nan_to_num", Write("where($1 == $1, $1, 0)")),
    ("masked_fill", Write("where($2, $3, $1)")),
    ("hypot", Write("sqrt($1 ** 2 + $2 ** 2)")),
    ("deg2rad", Write("$1 * pi / 180")),
    ("radians", Write("$1 * pi / 180")),
    ("rad2deg", Write("$1 * 180 / pi")),
    ("degrees", Write("$1 * 180 / pi")),
    ("scatter_add", SEGMENTS),
    ("index_add", SEGMENTS),
    ("bincount", SEGMENTS),
    ("histogram", SEGMENTS),
    ("unique", BY_NUMBERS),
    ("nonzero", BY_NUMBERS),
    ("argwhere", BY_NUMBERS),
    ("masked_select", BY_NUMBERS),
    ("median", BY_RANK),
    ("quantile", BY_RANK),
    ("percentile", BY_RANK),
    (
        "interpolate",
        Say("`upsample(2)(x)` repeats elements of images, and `upsample_bilinear(2)(x)` fills in between"),
    ),
    (
        "scaled_dot_product_attention",
        Say("`attention(8)` is the layer with 8 heads and its weights: `attention(8)(x)`"),
    ),
    ("vmap", Say("leave it out: a function takes batches, because axes that it does not mention broadcast")),
    ("pmap", Say("leave it out: `mesh(data = 4, shard = [\"batch=data\"])` divides a program over devices")),
    ("jit", COMPILED),
    ("compile", COMPILED),
    (
        "map",
        Say(
            "leave it out: a function of numbers acts on every element, `relu(x)`; over a list it is `[f(x) for x in xs]`",
        ),
    ),
    ("value_and_grad", Say("after `backward loss`, the gradient of `w` is `w.grad`")),
    ("no_grad", UNASKED),
    ("inference_mode", UNASKED),
    (
        "checkpoint",
        Because("what is inside of a block is computed once more for its gradients", "checkpointed($1)($2)"),
    ),
    ("logsumexp", Write("log_sum_exp(\"... | v\")($1)")),
    (
        "chunk",
        Say(
            "a spec takes an axis apart: `split(\"... | a^b^c => ... | a; ... | b; ... | c\", x)`, with sizes `set`; or write three layers",
        ),
    ),
    ("absolute", Write("abs($1)")),
    ("fabs", Write("abs($1)")),
    ("negative", Write("-$1")),
    ("logical_and", Write("$1 and $2")),
    ("logical_or", Write("$1 or $2")),
    ("logical_not", Write("not $1")),
    ("greater", Write("$1 > $2")),
    ("less", Write("$1 < $2")),
    ("equal", Write("$1 == $2")),
    ("clip_grad_norm_", CLIPPED),
    ("clip_grad_norm", CLIPPED),
    ("clip_by_global_norm", CLIPPED),
    ("clip_grad_value_", CLIPPED),
    ("swish", Write("silu($1)")),
    ("relu6", Write("min(6, relu($1))")),
    ("cat", Write("concat($*$along)")),
    ("concatenate", Write("concat($*$along)")),
    ("hstack", Write("concat($*)")),
    ("vstack", Write("concat($*, along = \"batch\")")),
    ("index_select", Write("take(\"... | t\", $1, $2)")),
    ("take_along_axis", Write("take_along(\"... | t\", $1, $2)")),
    ("fliplr", Write("flip(\"..., t\")($1)")),
    ("flipud", Write("flip(\"t, ...\")($1)")),
    ("reverse", Write("flip(\"... | t\")($1)")),
    ("zeros_like", Write("0 * $1")),
    ("ones_like", Write("0 * $1 + 1")),
    ("rand_like", Because("numbers are drawn as many as are needed", "noise()")),
    ("randn_like", Because("numbers are drawn as many as are needed", NORMAL_NOISE)),
    ("full_like", Write("0 * $1 + $2")),
    ("empty_like", Write("0 * $1")),
    ("full", Say("a number is as large as it has to be: write the number, or `constant(0.5)`")),
    ("eye", Say("write `range(\"n ->\") == range(\"n\")`, the identity of the size that is asked for")),
    ("iota", Say("numbers along an axis are `range(\"10 |\")`, a list of numbers is `0..10`")),
    ("arange", Say("numbers along an axis are `range(\"10 |\")`, a list of numbers is `0..10`")),
    ("linspace", Say("numbers along an axis are `range(\"10 |\")`: multiply and add what is needed")),
    ("rand", Write("noise()")),
    ("empty", Say("first values are `zeros`, of the shape that is declared: `data x : 3, 4 = zeros`")),
    ("randn", Say("draw numbers where they are declared: `data x : 100 | 2 = normal(1)`")),
    ("xavier_uniform", Write("xavier")),
    ("glorot_uniform", Write("xavier")),
    ("glorot_normal", Write("xavier_normal")),
    ("kaiming_uniform", Write("kaiming")),
    ("he_uniform", Write("kaiming")),
    ("he_normal", Write("kaiming_normal")),
    ("flatten", ALL_AXES),
    ("ravel", ALL_AXES),
    ("view", ALL_AXES),
    ("reshape", ALL_AXES),
    ("resize", ALL_AXES),
    ("squeeze", UNITS),
    ("unsqueeze", UNITS),
    ("expand_dims", UNITS),
    ("expand", UNITS),
    ("broadcast_to", UNITS),
    ("tile", UNITS),
    ("permute", BY_SPEC),
    ("swapaxes", BY_SPEC),
    ("moveaxis", BY_SPEC),
    ("swapdims", BY_SPEC),
    ("movedim", BY_SPEC),
    ("rearrange", BY_SPEC),
    ("reduce", Say("a spec leaves out what is reduced: `sum(\"b | i => i\", x)`, `max(…)`, `mean(…)`")),
    ("Sequential", IN_A_ROW),
    ("Chain", IN_A_ROW),
    ("Dense", Say("write `linear(64)`: the input size is inferred")),
    ("dense", Say("write `linear(64)`: the input size is inferred")),
    ("MSELoss", Write("mse(y, target)")),
    ("mse_loss", Write("mse($1, $2)")),
    ("mean_squared_error", Write("mse($1, $2)")),
    ("L1Loss", Write("mae(y, target)")),
    ("l1_loss", Write("mae($1, $2)")),
    ("CrossEntropyLoss", Write("mean(cross_entropy(logits, targets))")),
    ("nll_loss", Write("mean(cross_entropy(logits, targets))")),
    ("BCEWithLogitsLoss", Write("mean(binary_cross_entropy(logits, targets))")),
    ("BCELoss", Write("mean(binary_cross_entropy(logits, targets))")),
    ("Parameter", Say("a parameter stands in braces where it is used first: `{w : 784 -> 10}`")),
    ("Variable", Say("a parameter stands in braces where it is used first: `{w : 784 -> 10}`")),
    ("param", Say("a parameter stands in braces where it is used first: `{w : 784 -> 10}`")),
    ("array", Say("a list of numbers is a tensor: `[[1, 2], [3, 4]]`")),
    ("tensor", Say("a list of numbers is a tensor: `[[1, 2], [3, 4]]`")),
    ("Tensor", Say("a list of numbers is a tensor: `[[1, 2], [3, 4]]`")),
    ("asarray", Say("a list of numbers is a tensor: `[[1, 2], [3, 4]]`")),
    ("grad", Say("after `backward loss`, the gradient of `w` is `w.grad`")),
    ("detach", Write("stop_gradient($1)")),
    ("inv", Write("inverse($1)")),
    ("slogdet", Write("logdet($1)")),
    ("enumerate", Say("write `for i in 0..len(list):`, and `list[i]`")),
    ("zip", Say("write `for i in 0..len(list):`, and `list[i]` of each")),
    ("str", Say("a text is filled in by `\"{name}\"`")),
    ("int", Write("i64($1)")),
    ("int8", Write("i8($1)")),
    ("int16", Write("i16($1)")),
    ("int32", Write("i32($1)")),
    ("int64", Write("i64($1)")),
    ("uint8", Write("u8($1)")),
    ("float", Write("f32($1)")),
    ("float16", Write("f16($1)")),
    ("float32", Write("f32($1)")),
    ("float64", Write("f64($1)")),
    ("bfloat16", Write("bf16($1)")),
    ("long", Write("i64($1)")),
    ("half", Write("f16($1)")),
    ("double", Write("f64($1)")),
    ("astype", CASTS),
    ("type", CASTS),
    ("cast", CASTS),
    ("bitwise_and", Write("bit_and($1, $2)")),
    ("bitwise_or", Write("bit_or($1, $2)")),
    ("bitwise_xor", Write("bit_xor($1, $2)")),
    ("left_shift", Write("shift_left($1, $2)")),
    ("right_shift", Write("shift_right($1, $2)")),
    ("bitwise_left_shift", Write("shift_left($1, $2)")),
    ("bitwise_right_shift", Write("shift_right($1, $2)")),
    ("floor_divide", Write("$1 // $2")),
    ("floor_div", Write("$1 // $2")),
    ("optimizer", Say("write `minimise loss by sgd(0.1)`")),
    (
        "None",
        Say(
            "leave the argument out; `inferred` is a size to be inferred, and `identity` a function that changes nothing",
        ),
    ),
    ("inf", Say("infinity is `1/0`")),
    ("infinity", Say("infinity is `1/0`")),
    ("nan", Say("what is not a number is `0/0`")),
    ("self", Say("a function sees the names around it, and its parameters: leave `self` out")),
];

/// The arguments of a layer of another library that its configuration here has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Configured {
    /// The same ones.
    Same,
    /// All but the first, the width of its input.
    InputFirst,
    /// None of them.
    Nothing,
}

/// Layers of other libraries that are configured otherwise, or have another name.
const LAYERS: &[(&str, &str, Configured)] = &[
    ("Linear", "linear", Configured::InputFirst),
    ("Dense", "linear", Configured::Same),
    ("Conv1D", "conv1d", Configured::Same),
    ("Conv2D", "conv2d", Configured::Same),
    ("Conv1d", "conv1d", Configured::InputFirst),
    ("Conv2d", "conv2d", Configured::InputFirst),
    ("Conv3D", "conv3d", Configured::Same),
    ("Conv3d", "conv3d", Configured::InputFirst),
    ("ConvTranspose2d", "transposed_conv2d", Configured::InputFirst),
    ("Conv2DTranspose", "transposed_conv2d", Configured::Same),
    ("LSTM", "lstm", Configured::InputFirst),
    ("GRU", "gru", Configured::InputFirst),
    ("MultiheadAttention", "attention", Configured::InputFirst),
    ("MaxPool2d", "max_pool", Configured::Same),
    ("MaxPooling2D", "max_pool", Configured::Same),
    ("AvgPool2d", "avg_pool", Configured::Same),
    ("AveragePooling2D", "avg_pool", Configured::Same),
    ("MaxPool1d", "max_pool1d", Configured::Same),
    ("AvgPool1d", "avg_pool1d", Configured::Same),
    ("AdaptiveAvgPool2d", "adaptive_avg_pool", Configured::Same),
    ("AdaptiveMaxPool2d", "adaptive_max_pool", Configured::Same),
    ("GlobalAveragePooling2D", "global_avg_pool", Configured::Nothing),
    ("LayerNorm", "layer_norm", Configured::Nothing),
    ("LayerNormalization", "layer_norm", Configured::Nothing),
    ("RMSNorm", "rms_norm", Configured::Nothing),
    ("BatchNorm", "batch_norm", Configured::Nothing),
    ("BatchNorm1d", "batch_norm", Configured::Nothing),
    ("BatchNorm2d", "batch_norm", Configured::Nothing),
    ("BatchNormalization", "batch_norm", Configured::Nothing),
    ("InstanceNorm1d", "instance_norm", Configured::Nothing),
    ("InstanceNorm2d", "instance_norm", Configured::Nothing),
    ("Dropout", "dropout", Configured::Same),
    ("Dropout1d", "channel_dropout", Configured::Same),
    ("Dropout2d", "channel_dropout", Configured::Same),
    ("Dropout3d", "channel_dropout", Configured::Same),
    ("Softmax", "softmax", Configured::Nothing),
    ("LogSoftmax", "log_softmax", Configured::Nothing),
    ("SiLU", "silu", Configured::Nothing),
    ("Swish", "silu", Configured::Nothing),
];

/// The layer here for one of another library, and what of its configuration it takes.
pub fn layer(name: &str) -> Option<(&'static str, Configured)> {
    let exact = LAYERS.iter().find(|(known, ..)| *known == name);
    let found = exact.or_else(|| LAYERS.iter().find(|(known, ..)| is_same(known, name)));
    found.map(|(_, here, configured)| (*here, *configured))
}

/// Returns true if a layer of another library merges axes, for which there is no need here.
pub fn is_flatten(name: &str) -> bool {
    name == "Flatten"
}

/// Returns true if a function of another library applies layers one after another.
pub fn is_in_a_row(name: &str) -> bool {
    foreign(name) == Some(IN_A_ROW)
}

/// Returns true if two names differ in their style alone.
pub fn is_same(name: &str, other: &str) -> bool {
    plain(name) == plain(other)
}

/// Methods of other libraries, beyond the names above.
const METHODS: &[(&str, Replacement)] = &[
    ("backward", Write("backward $1")),
    ("item", Write("$1")),
    ("tolist", Write("$1")),
    ("t", Write("$1.T")),
    ("transpose", Write("$1.T")),
    ("size", Say(NAMED_SIZES)),
    ("shape", Say(NAMED_SIZES)),
    ("ndim", Say(NAMED_SIZES)),
    ("dim", Say(NAMED_SIZES)),
    ("dtype", TYPES),
    ("device", KEPT),
    ("data", KEPT),
    ("cuda", KEPT),
    ("cpu", KEPT),
    ("to", KEPT),
    ("numpy", KEPT),
    ("clone", KEPT),
    ("copy", KEPT),
    ("contiguous", KEPT),
    ("requires_grad_", Say("a parameter stands in braces: `{w : 784 -> 10}`")),
    ("zero_grad", Say("leave it out: gradients begin afresh with every `minimise` and `backward`")),
    ("step", Say("write `minimise loss by sgd(0.1)`")),
    (
        "append",
        Say(
            "a list stays as it is: `append(list, item)` is a list with one item more, and `[f(x) for x in list]` one of all",
        ),
    ),
    ("extend", Say("a list stays as it is: write all of its items, or `[f(x) for x in list]`")),
    ("format", Say("a text is filled in by `\"{name}\"`")),
    ("mH", Write("$1.T")),
    ("mT", Write("$1.T")),
];

/// The equivalent of a function of another library.
pub fn foreign(name: &str) -> Option<Replacement> {
    let exact = FOREIGN.iter().find(|(known, _)| *known == name);
    exact.or_else(|| FOREIGN.iter().find(|(known, _)| plain(known) == plain(name))).map(|(_, way)| *way)
}

/// A name without its style: `LayerNorm` and `layer_norm` are `layernorm`.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

/// The equivalent of a method of another library; its first argument is the receiver.
pub fn method(name: &str) -> Option<Replacement> {
    METHODS.iter().find(|(known, _)| *known == name).map(|(_, way)| *way).or_else(|| foreign(name))
}

/// The names here for an argument of other libraries; the first one that the function has is meant.
pub fn argument(name: &str) -> &'static [&'static str] {
    match name {
        "lr" | "learning_rate" | "p" | "step_size" => &["rate"],
        "kernel_size" | "kernel" | "window" | "pool_size" => &["height", "size"],
        "strides" => &["stride"],
        "out_features" | "features" | "units" | "hidden_size" | "n_out" => &["size", "hidden", "width"],
        "out_channels" | "filters" => &["channels"],
        "num_heads" | "n_heads" | "n_head" | "nhead" => &["heads"],
        "num_embeddings" | "vocab_size" | "vocab" => &["vocabulary"],
        "embedding_dim" | "embed_dim" | "d_model" | "dim" => &["width"],
        "weight_decay" => &["decay"],
        "eps" => &["epsilon"],
        "axis" | "axes" | "dims" => &["axes", "along"],
        "betas" => &["beta1"],
        "alpha" => &["smoothing", "slope", "rate"],
        "negative_slope" => &["slope"],
        "is_causal" => &["causal"],
        "gain" | "scale" => &["deviation"],
        _ => &[],
    }
}

/// Advice for `save(what, "file")`.
pub fn saved(arguments: &str) -> Help {
    let parts = arguments.rsplit_once(',').map(|(what, file)| (what.trim(), file.trim().trim_matches('"')));
    // The order of the two differs from library to library.
    let parts = parts.map(|(what, file)| match what.starts_with('"') {
        true => (file, what.trim_matches('"')),
        false => (what, file),
    });
    match parts {
        Some((what, file)) if file.ends_with(".npy") || file.ends_with(".csv") => {
            format!("write `save {what} to \"{file}\"`: `save` is a word of the language").into()
        }
        Some((what, file))
            if what.chars().all(|letter| letter.is_alphanumeric() || "_.()".contains(letter)) =>
        {
            saved_parameters(file, "; one tensor is saved by `save x to \"x.npy\"`")
        }
        _ => "write `save x to \"x.npy\"`: `save` is a word of the language".into(),
    }
}

/// Advice for saving all parameters of a model to a file, and what is said behind it.
pub fn saved_parameters(file: &str, behind: &str) -> Help {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let stem = if stem.is_empty() { "model" } else { stem };
    naming_setting(
        "all parameters are saved when the program has run: leave out this line, and ask for it by ",
        Setting::Save(stem.to_string()),
        behind,
    )
}

/// The type of numbers here for a name that other libraries use.
pub fn number_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "int" | "Int" | "long" | "int64" | "Int64" | "LongTensor" | "isize" | "usize" | "uint32" | "u32"
        | "uint64" | "u64" => "i64",
        "int32" | "uint16" | "u16" => "i32",
        "int16" | "short" => "i16",
        "int8" => "i8",
        "uint8" | "byte" | "char" => "u8",
        "boolean" | "bool_" | "Bool" => "bool",
        "float" | "Float" | "float32" | "Float32" | "FloatTensor" | "single" => "f32",
        "float64" | "double" => "f64",
        "float16" | "half" => "f16",
        "bfloat16" => "bf16",
        _ => return None,
    })
}

/// The expression for a number that has no digits, as Python reads it in a text.
pub fn special_number(text: &str) -> Option<&'static str> {
    Some(match text.to_lowercase().as_str() {
        "inf" | "+inf" | "infinity" => "1/0",
        "-inf" | "-infinity" => "-1/0",
        "nan" => "0/0",
        _ => return None,
    })
}

/// The type of numbers here for a name that other libraries or this one use.
pub fn number_type_or_own(name: &str) -> Option<&str> {
    const OWN: [&str; 10] = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"];
    let name = if OWN.contains(&name) { name } else { number_type(name)? };
    Some(name)
}

/// Returns true if Python programs commonly call a library by this name.
pub fn is_library(name: &str) -> bool {
    const LIBRARIES: &[&str] = &[
        "np",
        "numpy",
        "torch",
        "nn",
        "F",
        "functional",
        "jax",
        "jnp",
        "lax",
        "flax",
        "optax",
        "tf",
        "tensorflow",
        "keras",
        "layers",
        "math",
        "einops",
        "optim",
        "scipy",
        "random",
        "os",
        "sys",
        "time",
        "matplotlib",
        "plt",
        "pandas",
        "pd",
        "torchvision",
        "mx",
        "tinygrad",
        "Flux",
        "Lux",
        "hk",
        "haiku",
        "eqx",
        "equinox",
    ];
    LIBRARIES.contains(&name)
}

/// The first values here that a function of another library makes a tensor of.
pub fn first_values(name: &str) -> Option<&'static str> {
    Some(match name {
        "zeros" | "empty" => "zeros",
        "ones" => "ones",
        "randn" | "normal" | "standard_normal" => "normal(1)",
        "rand" | "uniform" => "uniform(0, 1)",
        _ => return None,
    })
}

/// Sizes as they stand in a shape, with arithmetic in parentheses.
pub fn sizes(written: &[String]) -> Vec<String> {
    let is_plain = |size: &str| size.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let size = |size: &String| if is_plain(size) { size.clone() } else { format!("({size})") };
    written.iter().map(size).collect()
}

/// Advice on how to declare a tensor of some sizes and first values, under the name that it is bound to.
pub fn declared(name: Option<&str>, sizes: &[String], values: &str) -> String {
    let all = sizes.join(", ");
    let Some(name) = name else {
        return format!("shapes are declared: `data x : {all} = {values}`; a number broadcasts by itself");
    };
    let data = format!("shapes are declared: `data {name} : {all} = {values}`");
    match sizes {
        [size] => format!("{data}, and what is learned is `{{{name} : {size} = {values}}}`"),
        [from, to] => format!(
            "{data}; a map is `data {name} : {from} -> {to} = {values}`, and one that is learned `{{{name} : {from} -> {to} = {values}}}`"
        ),
        _ => data,
    }
}

/// The name that a line binds, from the text before a place in it, and what stands between the sign and that place.
pub fn bound_name(before: &str) -> Option<(&str, &str)> {
    let line = before.rsplit(['\n', '\r']).next()?.trim();
    let (name, rest) = line.split_once('=')?;
    let name = name.trim().strip_prefix("let ").unwrap_or(name).trim();
    let is_name = |name: &str| name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    (is_name(name) && name.starts_with(|letter: char| !letter.is_numeric())).then_some((name, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near() {
        let known = ["hidden", "relu", "x", "y"];
        let nearest = |wanted| nearest(wanted, known.into_iter());
        assert_eq!(nearest("hiden").as_deref(), Some("hidden"));
        assert_eq!(nearest("rleu").as_deref(), Some("relu"));
        assert_eq!(nearest("z"), None);
        assert_eq!(nearest("attention"), None);
        assert_eq!(nearest("ReLU").as_deref(), Some("relu"));
    }

    #[test]
    fn what_others_call_it() {
        let x = ["x".to_string()];
        assert_eq!(foreign("log10"), Some(Write("log($1) / log(10)")));
        assert_eq!(filled("log($1) / log(10)", &x), "log(x) / log(10)");
        assert_eq!(filled("$1 ** $2", &x), "x ** y");
        assert_eq!(method("item"), Some(Write("$1")));
        assert_eq!(method("log10"), foreign("log10"));
    }
}
