"""Writes the arrays that `verify` and `run` are tried on, with nothing but the standard library: python3 make.py"""

import math
import pathlib
import struct
import zipfile

FOLDER = pathlib.Path(__file__).parent
CODES = {"<f4": "f", "<f8": "d", "<i8": "q"}


def npy(dtype, *sizes):
    """The bytes of a `.npy` file that counts from 0."""
    shape = "".join(f"{size}, " for size in sizes)
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({shape}), }}"
    header = header.ljust(117) + "\n"
    count = math.prod(sizes)
    numbers = struct.pack(f"<{count}{CODES[dtype]}", *range(count))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers


def npz(name, **arrays):
    """An `.npz` file, the same bytes whenever it is made."""
    with zipfile.ZipFile(FOLDER / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(f"{key}.npy"), array, zipfile.ZIP_DEFLATED)


x, target, ids = npy("<f4", 8, 3), npy("<f8", 8, 2), npy("<i8", 8)
(FOLDER / "x.npy").write_bytes(x)
npz("rest.npz", target=target, ids=ids)
npz("good.npz", x=x, target=target, ids=ids)
# Axes in another order, a name with a mistake, integers as floats; a parameter, and something from elsewhere.
npz("wrong.npz", x=npy("<f4", 3, 8), traget=target, ids=npy("<f4", 9), w=npy("<f4", 2, 3), other=ids)
npz("disagree.npz", x=npy("<f4", 16, 3), target=npy("<f4", 17, 2))
npz("large.npz", x=npy("<f4", 65, 3), target=npy("<f4", 65, 2))
(FOLDER / "target.csv").write_text("".join(f"{row},{row + 1}\n" for row in range(8)))
(FOLDER / "points.csv").write_text("speed,height,width\n1,2,3\n4,5,6\n7,8,9\n10,11,12\n")
