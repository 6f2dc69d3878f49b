"""Makes the files beside this one, which the tests read: `python make.py`.

Needs numpy, ml_dtypes and safetensors; made with numpy 2.4.6 and safetensors 0.8.0. What each file
holds is said in `../files.rs` too: the two are compared by the tests.
"""

import os
import zipfile

import ml_dtypes
import numpy as np
from numpy.lib import format as npy_format
from safetensors.numpy import save_file

os.chdir(os.path.dirname(os.path.abspath(__file__)))

grid = np.arange(6).reshape(2, 3)

# Every type, both orders of bytes.
for name in ["f2", "f4", "f8", "i2", "u2", "i4", "u4", "i8", "u8"]:
    low = -2 if name[0] != "u" else 0
    for order, word in [("<", "little"), (">", "big")]:
        np.save(f"{word}_{name}.npy", (grid + low).astype(order + name))
np.save("i1.npy", (grid - 2).astype("i1"))
np.save("u1.npy", (grid + 250).astype("u1"))
np.save("b1.npy", grid % 2 == 1)
np.save("large_u8.npy", np.array([1, 2**64 - 1], "u8"))

# Orders of axes, ranks, versions.
np.save("fortran.npy", np.asfortranarray(np.arange(24, dtype="<f4").reshape(2, 3, 4)))
np.save("scalar.npy", np.float64(2.5))
np.save("empty.npy", np.zeros((0, 3), "<f4"))
for version in [2, 3]:
    with open(f"version_{version}.npy", "wb") as file:
        npy_format.write_array(file, grid.astype("<i4"), version=(version, 0))

# What is not read.
np.save("complex.npy", np.array([1j]))
np.save("text.npy", np.array(["a"]))
np.save("record.npy", np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f4")]))
np.save("bf16.npy", np.array([1.5], dtype=ml_dtypes.bfloat16))

# Archives.
arrays = {"w": grid.astype("<f4"), "größe": np.array([7], "<i8"), "layer/b": np.zeros(40, "<f8")}
np.savez("stored.npz", **arrays)
np.savez_compressed("deflated.npz", **arrays)
# The records of archives beyond 4 GiB, in a small one.
limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 10
np.savez_compressed("wide.npz", **arrays)
zipfile.ZIP64_LIMIT = limit
with zipfile.ZipFile("bzip2.npz", "w", zipfile.ZIP_BZIP2) as archive:
    archive.write("scalar.npy", "a.npy")
with zipfile.ZipFile("other.npz", "w") as archive:
    archive.comment = b"a comment at the end"
    archive.write("scalar.npy", "a.npy")
    archive.writestr("readme.txt", "not an array")

# Safetensors.
save_file(
    {
        "w": grid.astype("f4"),
        "half": np.array([0.5, -1.5], "f2"),
        "brain": np.array([1.5, -3.0], dtype=ml_dtypes.bfloat16),
        "double": np.array(2.5),
        "long": np.array([2**40, -1], "i8"),
        "int": np.array([[7]], "i4"),
        "byte": np.array([250, 255], "u1"),
        "small": np.array([-128, 127], "i1"),
        "short": np.array([-300, 300], "i2"),
        "flag": np.array([True, False]),
        "none": np.zeros((2, 0), "f4"),
    },
    "types.safetensors",
    metadata={"made by": "numpy"},
)
save_file({"a": np.array([1], "f4")}, "plain.safetensors")
save_file({"a": np.array([1.0], dtype=ml_dtypes.float8_e4m3fn)}, "eight.safetensors")
