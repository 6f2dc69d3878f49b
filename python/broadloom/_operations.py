"""Pointwise operations on expressions. Those that Python has an operator for are operators: `+ - * / // ** % < <= > >=`, `-a`.

A test compares the names here with the table of operations.
"""

from __future__ import annotations

from ._graph import Expr, Operand

__all__ = [
    "abs_",
    "acos",
    "acosh",
    "and_",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bit_and",
    "bit_or",
    "bit_xor",
    "ceil",
    "cos",
    "cosh",
    "digamma",
    "equals",
    "erf",
    "exp",
    "expm1",
    "floor",
    "lgamma",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "not_",
    "not_equals",
    "or_",
    "recip",
    "relu",
    "round_",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stop_gradient",
    "tan",
    "tanh",
    "to_bf16",
    "to_bool",
    "to_f16",
    "to_f32",
    "to_f64",
    "to_i16",
    "to_i32",
    "to_i64",
    "to_i8",
    "to_u8",
    "where",
]


def _apply(name: str, *operands: Operand) -> Expr:
    """Applies an operation in the graph of the first operand that has one."""
    for operand in operands:
        if isinstance(operand, Expr):
            return operand._of._apply(name, *operands)
    raise TypeError(
        f"`bl.{name}` works on expressions of a graph, and got {', '.join(type(each).__name__ for each in operands)}: "
        "make data of an array, `graph.array(name, shape, values)`; arrays have functions of their own library"
    )


def exp(a: Expr) -> Expr:
    """The exponential."""
    return _apply("exp", a)


def log(a: Expr) -> Expr:
    """The natural logarithm."""
    return _apply("log", a)


def log1p(a: Expr) -> Expr:
    """The logarithm of `1 + a`, accurate for small numbers, too."""
    return _apply("log1p", a)


def sqrt(a: Expr) -> Expr:
    """The square root."""
    return _apply("sqrt", a)


def recip(a: Expr) -> Expr:
    """The reciprocal."""
    return _apply("recip", a)


def sin(a: Expr) -> Expr:
    """The sine."""
    return _apply("sin", a)


def cos(a: Expr) -> Expr:
    """The cosine."""
    return _apply("cos", a)


def tanh(a: Expr) -> Expr:
    """The hyperbolic tangent."""
    return _apply("tanh", a)


def sigmoid(a: Expr) -> Expr:
    """The logistic function."""
    return _apply("sigmoid", a)


def relu(a: Expr) -> Expr:
    """`a` where it is positive, else 0."""
    return _apply("relu", a)


def sign(a: Expr) -> Expr:
    """-1, 0 or 1."""
    return _apply("sign", a)


def square(a: Expr) -> Expr:
    """`a * a`, its product with itself."""
    return _apply("square", a)


def erf(a: Expr) -> Expr:
    """The error function."""
    return _apply("erf", a)


def floor(a: Expr) -> Expr:
    """The greatest integer that is not greater than `a`."""
    return _apply("floor", a)


def ceil(a: Expr) -> Expr:
    """The least integer that is not less than `a`."""
    return _apply("ceil", a)


def stop_gradient(a: Expr) -> Expr:
    """The value of `a`, through which no gradient goes back."""
    return _apply("stop_gradient", a)


def abs_(a: Expr) -> Expr:
    """The absolute value; `abs(a)` is the same."""
    return _apply("abs", a)


def round_(a: Expr) -> Expr:
    """The nearest integer. If two are equally near, the even one."""
    return _apply("round", a)


def not_(a: Expr) -> Expr:
    """1 where `a` is 0, else 0."""
    return _apply("not", a)


def maximum(a: Operand, b: Operand) -> Expr:
    """The larger of the two."""
    return _apply("max", a, b)


def minimum(a: Operand, b: Operand) -> Expr:
    """The smaller of the two."""
    return _apply("min", a, b)


def equals(a: Operand, b: Operand) -> Expr:
    """1 where `a` and `b` are equal, else 0."""
    return _apply("==", a, b)


def not_equals(a: Operand, b: Operand) -> Expr:
    """1 where `a` and `b` differ, else 0."""
    return _apply("!=", a, b)


def and_(a: Operand, b: Operand) -> Expr:
    """1 where both are true, that is, not 0; else 0."""
    return _apply("and", a, b)


def or_(a: Operand, b: Operand) -> Expr:
    """1 where at least one of them is true, that is, not 0; else 0."""
    return _apply("or", a, b)


def where(condition: Operand, a: Operand, b: Operand) -> Expr:
    """`a` where the condition holds, that is, is not 0; else `b`.

    >>> import broadloom as bl
    >>> import numpy as np
    >>> g = bl.Graph()
    >>> x = g.data("x", "3")
    >>> g.session().run(bl.where(x > 0, x, 0.1 * x), x=np.array([-1, 0, 2], "float32"))
    array([-0.1,  0. ,  2. ], dtype=float32)
    """
    return _apply("where", condition, a, b)


def lgamma(a: Expr) -> Expr:
    """The logarithm of the absolute value of the gamma function."""
    return _apply("lgamma", a)


def digamma(a: Expr) -> Expr:
    """The derivative of `lgamma`."""
    return _apply("digamma", a)


def expm1(a: Expr) -> Expr:
    """`exp(a) - 1`, accurate for small numbers, too."""
    return _apply("expm1", a)


def tan(a: Expr) -> Expr:
    """The tangent."""
    return _apply("tan", a)


def asin(a: Expr) -> Expr:
    """The angle whose sine is `a`, between -π/2 and π/2."""
    return _apply("asin", a)


def acos(a: Expr) -> Expr:
    """The angle whose cosine is `a`, between 0 and π."""
    return _apply("acos", a)


def atan(a: Expr) -> Expr:
    """The angle whose tangent is `a`, between -π/2 and π/2."""
    return _apply("atan", a)


def sinh(a: Expr) -> Expr:
    """The hyperbolic sine."""
    return _apply("sinh", a)


def cosh(a: Expr) -> Expr:
    """The hyperbolic cosine."""
    return _apply("cosh", a)


def asinh(a: Expr) -> Expr:
    """The inverse of the hyperbolic sine."""
    return _apply("asinh", a)


def acosh(a: Expr) -> Expr:
    """The inverse of the hyperbolic cosine, not negative."""
    return _apply("acosh", a)


def atanh(a: Expr) -> Expr:
    """The inverse of the hyperbolic tangent."""
    return _apply("atanh", a)


def atan2(y: Operand, x: Operand) -> Expr:
    """The angle of the point with the coordinates `x` and `y`, between -π and π."""
    return _apply("atan2", y, x)


def to_bool(a: Expr) -> Expr:
    """True where `a` is not 0."""
    return _apply("bool", a)


def to_u8(a: Expr) -> Expr:
    """`a` as 8-bit integers without a sign: towards 0, the nearest of 0 to 255.

    >>> import broadloom as bl
    >>> import numpy as np
    >>> g = bl.Graph()
    >>> x = g.data("x", "3")
    >>> g.session().run(bl.to_u8(x), x=np.array([-1.5, 2.9, 300], "float32"))
    array([  0,   2, 255], dtype=uint8)
    """
    return _apply("u8", a)


def to_i8(a: Expr) -> Expr:
    """`a` as 8-bit integers: towards 0, the nearest there is."""
    return _apply("i8", a)


def to_i16(a: Expr) -> Expr:
    """`a` as 16-bit integers: towards 0, the nearest there is."""
    return _apply("i16", a)


def to_i32(a: Expr) -> Expr:
    """`a` as 32-bit integers: towards 0, the nearest there is."""
    return _apply("i32", a)


def to_i64(a: Expr) -> Expr:
    """`a` as 64-bit integers: towards 0, the nearest there is."""
    return _apply("i64", a)


def to_bf16(a: Expr) -> Expr:
    """`a` rounded to `bf16`, which NumPy gets as 32-bit floats."""
    return _apply("bf16", a)


def to_f16(a: Expr) -> Expr:
    """`a` as 16-bit floats."""
    return _apply("f16", a)


def to_f32(a: Expr) -> Expr:
    """`a` as 32-bit floats."""
    return _apply("f32", a)


def to_f64(a: Expr) -> Expr:
    """`a` as 64-bit floats."""
    return _apply("f64", a)


def bit_and(a: Operand, b: Operand) -> Expr:
    """The bits that both integers have."""
    return _apply("bit_and", a, b)


def bit_or(a: Operand, b: Operand) -> Expr:
    """The bits that at least one of the integers has."""
    return _apply("bit_or", a, b)


def bit_xor(a: Operand, b: Operand) -> Expr:
    """The bits that one of the integers has, and not both."""
    return _apply("bit_xor", a, b)


def shift_left(a: Operand, b: Operand) -> Expr:
    """The integer `a` times 2 for each of `b` places."""
    return _apply("shift_left", a, b)


def shift_right(a: Operand, b: Operand) -> Expr:
    """The integer `a` divided by 2 for each of `b` places, rounded down."""
    return _apply("shift_right", a, b)
