"""Broadloom infers the shapes of tensor programs, explains them, and runs them.

>>> import broadloom as bl
>>> bl.__version__
'0.1.0'
"""

from ._broadloom import __version__

__all__ = ["__version__"]
