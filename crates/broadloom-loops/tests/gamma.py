"""Makes the table `gamma.txt` beside this file: x, ln |gamma(x)|, digamma(x), trigamma(x), each as the nearest double. Needs mpmath, and knows
nothing of Broadloom:  python gamma.py > gamma.txt
"""
from mpmath import mp, mpf, fabs, gamma, log, loggamma, psi, re

mp.dps = 50
near = [1 + k / 64 for k in range(-63, 129) if k not in (0, 64)]
points = [1e-300, 1e-30, 1e-9, 1e-3, 0.1, 0.25, 0.5, *near, 3.0, 3.5, 4.25, 5.0, 7.75, 10.0, 12.5, 33.3, 100.0, 171.5, 1e3, 12345.678, 1e6, 1e10, 1e15]
points += [1.4, 1.46, 1.4616, 1.47, 1.5, 1 + 2**-30, 2 - 2**-30, 2 + 2**-30, -0.5, -0.25, -0.75, -1.5, -1.25, -2.75, -3.5, -10.5, -33.25]
for x in sorted(set(points)):
    at = mpf(x)
    value = log(fabs(gamma(at))) if abs(x) < 100 else re(loggamma(at))
    print(*(repr(float(v)) for v in (at, value, psi(0, at), psi(1, at))))
