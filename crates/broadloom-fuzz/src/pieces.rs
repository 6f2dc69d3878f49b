//! Pieces of text that mutations insert: words of the languages, and unusual sizes.

/// Sizes at which arithmetic is most likely to fail.
pub(crate) const SIZES: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "-1",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "1e-400",
    "0.5",
];

/// Words of systems of constraints.
#[rustfmt::skip]
pub(crate) const ROWS: &[&str] = &[
    "\n", "\n", "\n[", "[", "]", "] <= [", "] ~ [", " <= ", " = ", " ~ ", ", ", ", ", ", ", "..r..",
    "..s..", "..t..", "..u..", "..r..", "..s..", "<>", "a", "b", "c", "d", "_", "1", "2", "3", "5", "3:rgb",
    "2:rgb", "leaf ", "param ", "\nleaf ..r..", "\nleaf ..s.., a", "\nparam ..t.., b", "# ", "..", "'",
    "18446744073709551615",
];

/// Words of programs.
#[rustfmt::skip]
pub(crate) const LOOM: &[&str] = &[
    "\n", "\n", "\n", "\n  ", "\n  ", "\n    ", " ", "(", ")", "(", ")", "[", "]", "{", "}", "\"", "#", ", ", ", ", ": ", ";", ".", "..", "...", " | ",
    " -> ", " |> ", "_", " = ", " = ", " =+ ", " =: ", " =:max ", " == ", " < ", " + ", " - ", " * ", " ** ", " @ ", " / ", " % ", "let ", "let ",
    "let ", "def f(x) =", "def g(n)(x) =", "data x : ", "data y : ", "state s : ", "set ", "for i in ", "repeat ", "repeat i in ", "backward ", "minimise ",
    " by ", "print ", " every ", "if ", " then ", " else ", " and ", " or ", "not ", "op h(a):", "dim n = ", "dim m in ", " as f64", "{w}", "{v : ... -> 4}",
    "{b : n}", "x", "x", "y", "y", "z", "s", "n", "i", "f", "f(x)", "g(4)", "h(x)", "w.grad", "x.T", "y.h", "x[0]", "x[i]", "x[1..2]", "0", "1", "2", "3", "2.5",
    "-1", "0..3", "1:unit", "3:rgb", "..r..", "\"i j => j\"", "\"... | i => ... | h\"", "\"... | a^b => ... | a\"", "\"o<+k; k => o\"", "\"{n}*i => i\"",
    "einsum(", "sum(", "mean(", "split(", "relu(", "max(", "where(", "linear(4)", "attention(2)", "sgd(0.1)", "constant(1)", "range(\"t ->\")", "inference(",
    "training", "inferred", "\u{e9}", "\u{feff}", "\r", "\t", "\u{0}", "let x = x + x\n", "def f(x) = f(x)\n", "x =+ 1\n", "let x = [x, x]\n",
    "\ndim n in 1..8 = 4\n", "concat(", "reshape(", "along = \"", "argmax(", "normal(1)", "uniform(", "for i in 0..4]", "\nlet loss = mean(\"... | ... => 0\", y)\n",
];

/// Words of files of arrays.
#[rustfmt::skip]
pub(crate) const DATA: &[&str] = &[
    "\u{93}NUMPY", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "'<f8'", "'>i4'", "'|b1'", "'<u8'", "'<c8'", "True", "False", "(", ")", "(,)",
    "shape", "descr", "PK\u{3}\u{4}", "PK\u{1}\u{2}", "PK\u{5}\u{6}", "PK\u{6}\u{6}", "x.npy", "{", "}", "\"dtype\":\"F32\"", "\"BF16\"", "\"shape\":[2,2]",
    "\"data_offsets\":[0,16]", "__metadata__", ",", "\n", "\r\n", "\"", "\"\"", ";", "nan", "inf", "-0.0", "1e400", "x,y", "#",
];
