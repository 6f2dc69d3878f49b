"""Makes the table `functions.txt` beside this file: the name of a function, its arguments, its value as the nearest double. Arguments are 32-bit
floats, so that they are the same in both types. Needs mpmath, and knows nothing of Broadloom:  python functions.py > functions.txt
"""
import struct

from mpmath import acos, acosh, asin, asinh, atan, atan2, atanh, cosh, erf, exp, expm1, log, log1p, mp, mpf, sinh, tan, tanh

mp.dps = 60


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


tiny = [1e-30, 1e-12, 1e-6, 1e-4, 1e-3]
small = [k / 32 for k in range(1, 33)] + [0.2**k for k in range(2, 6)] + [0.3, 0.7, 0.99, 0.999, 0.99999]
large = [1.0001, 1.01, *(1 + k / 8 for k in range(1, 40)), 7.3, 9.9, 12.5, 20.0, 33.3]
huge = [88.5, 123.0, 1e3, 12345.678, 1e6, 1e10, 1e30]


def both(points):
    return [sign * x for x in points for sign in (1, -1)]


def sigmoid(x):
    return 1 / (1 + exp(-x))


domains = {
    "exp": (exp, both(tiny + small + large) + [80.0, -80.0]),
    "log": (log, tiny + small + large + huge),
    "sigmoid": (sigmoid, both(tiny + small + large) + [80.0, -80.0]),
    "log1p": (log1p, (both(tiny) + [-x for x in small if x < 1] + small + large + huge)),
    "expm1": (expm1, both(tiny + small + large) + [-x for x in huge if x < 700] + [80.0]),
    "tan": (tan, both(tiny + small + large) + [123.0, 12345.678]),
    "asin": (asin, both(tiny + small)),
    "acos": (acos, both(tiny + small)),
    "atan": (atan, both(tiny + small + large + huge)),
    "sinh": (sinh, both(tiny + small + large) + [80.0, -80.0]),
    "cosh": (cosh, both(tiny + small + large) + [80.0, -80.0]),
    "tanh": (tanh, both(tiny + small + large)),
    "asinh": (asinh, both(tiny + small + large + huge)),
    "acosh": (acosh, [1.0, *large, *huge]),
    "atanh": (atanh, both(tiny + [x for x in small if x < 1])),
    "erf": (erf, both(tiny + small + large[:20])),
}
for name, (function, points) in domains.items():
    for x in sorted({single(x) for x in points}):
        print(name, repr(x), repr(float(function(mpf(x)))))
sides = [single(x) for x in both([1e-6, 0.01, 0.3, 0.5, 0.99, 1.0, 1.7, 3.0, 12.5, 1e3, 1e10])]
for y in sides:
    for x in sides:
        print("atan2", repr(y), repr(x), repr(float(atan2(mpf(y), mpf(x)))))
