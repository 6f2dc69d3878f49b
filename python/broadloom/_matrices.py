"""Linear algebra on expressions of graphs: functions of matrices, each computed for every matrix of a batch.

A matrix is a linear map, `n -> m`: its columns are the input axis, its rows the output axis, as in the weights of PyTorch.
"""

from __future__ import annotations

from ._graph import Expr
from ._places import here

__all__ = ["cholesky", "det", "eigh", "inverse", "logdet", "lstsq", "qr", "solve", "svd"]


def _matrices(name: str, *operands: Expr) -> list[Expr]:
    for operand in operands:
        if not isinstance(operand, Expr):
            raise TypeError(
                f"`bl.{name}` works on expressions of a graph, and got {type(operand).__name__}: "
                f"make data of an array, `graph.array(name, shape, values)`; NumPy has `numpy.linalg` for arrays"
            )
    graph = operands[0]._of
    return [Expr(graph, number) for number in graph._graph.matrices(name, graph._all(operands), here())]


def solve(a: Expr, b: Expr) -> Expr:
    """The `x` with `a @ x = b`, of the shape of `b`: a vector, or any number of columns. NaN where `a` is singular.

    Both have the same batch axes, or one of them has none: a matrix without batch axes serves all of `b`.

    >>> import broadloom as bl
    >>> import numpy as np
    >>> g = bl.Graph()
    >>> a, b = g.data("a", "2 -> 2"), g.data("b", "3 | 2")
    >>> matrix, sides = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 11], [1, 3], [2, 4]])
    >>> g.session().run(bl.solve(a, b), a=matrix, b=sides).round(4) + 0.0
    array([[1., 2.],
           [1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _matrices("solve", a, b)[0]


def inverse(a: Expr) -> Expr:
    """The inverse, NaN for a singular matrix. To solve an equation, `solve` is faster and more exact.

    >>> import broadloom as bl
    >>> bl.inverse(bl.Graph().data("a", "8 | 3 -> 3")).shape
    '8 | 3 -> 3'
    """
    return _matrices("inverse", a)[0]


def det(a: Expr) -> Expr:
    """The determinant.

    >>> import broadloom as bl
    >>> bl.det(bl.Graph().data("a", "8 | 3 -> 3")).shape
    '8 |'
    """
    return _matrices("det", a)[0]


def logdet(a: Expr) -> Expr:
    """The logarithm of the absolute value of the determinant, which may be too large or too small for a number."""
    return _matrices("logdet", a)[0]


def cholesky(a: Expr) -> Expr:
    """The lower triangular `l` with `l @ l.T` the symmetric part of `a`, NaN where that is not positive."""
    return _matrices("cholesky", a)[0]


def qr(a: Expr) -> tuple[Expr, Expr]:
    """The pair `q, r` with `a = q @ r`: the columns of `q` are at right angles, `r` is upper triangular.

    There are as many columns in `q`, and rows in `r`, as the lesser number of rows and columns of `a`.

    >>> import broadloom as bl
    >>> g = bl.Graph()
    >>> [part.shape for part in bl.qr(g.data("tall", "8 | 3 -> 5"))]
    ['8 | 3 -> 5', '8 | 3 -> 3']
    >>> [part.shape for part in bl.qr(g.data("wide", "8 | 5 -> 3"))]
    ['8 | 3 -> 3', '8 | 5 -> 3']
    """
    q, r = _matrices("qr", a)
    return q, r


def lstsq(a: Expr, b: Expr) -> Expr:
    """The `x` for which `a @ x` is nearest to `b`, for matrices of full rank.

    Of several, as with more columns than rows, it is the shortest.

    >>> import broadloom as bl
    >>> g = bl.Graph()
    >>> bl.lstsq(g.data("a", "3 -> 5"), g.data("b", "8 | 5")).shape
    '8 | 3'
    """
    return _matrices("lstsq", a, b)[0]


def eigh(a: Expr) -> tuple[Expr, Expr]:
    """The eigenvalues of the symmetric part of `a`, in ascending order, and the eigenvectors as columns.

    >>> import broadloom as bl
    >>> values, vectors = bl.eigh(bl.Graph().data("a", "8 | 3 -> 3"))
    >>> values.shape, vectors.shape
    ('8 | 3', '8 | 3 -> 3')
    """
    values, vectors = _matrices("eigh", a)
    return values, vectors


def svd(a: Expr) -> tuple[Expr, Expr, Expr]:
    """The triple `u, s, v` with `a = u @ (s * v.T)`, singular values in descending order. The vectors are columns, also those of `v`.

    There are as many as the lesser number of rows and columns. Gradients go back through the values alone.

    >>> import broadloom as bl
    >>> u, s, v = bl.svd(bl.Graph().data("a", "8 | 3 -> 5"))
    >>> u.shape, s.shape, v.shape
    ('8 | 3 -> 5', '8 | 3', '8 | 3 -> 3')
    """
    u, s, v = _matrices("svd", a)
    return u, s, v
