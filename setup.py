"""Packages, and build of the compiled library (``miner/kernels/library.py``).

All else is in setup.cfg. It cannot find the packages of ``train/``, which is installed as
``miner_train``: a source distribution has no link of that name.
"""

import os
import shutil
import sys
from glob import glob

from setuptools import Extension, find_packages, setup

# Another machine to build for, by zig's name: `make wheels`.
TARGET = os.environ.get("MINER_TARGET")
# Python's headers name the compiler that Python was built with; the machine may have another one.
COMPILER = os.environ.get("CC", "cc")
MISSING = sys.platform != "win32" and shutil.which(COMPILER.split()[0]) is None
if TARGET or MISSING:  # the compiler of the package ziglang, which pip then installs for the build
    # By default it would make code for this very processor.
    machine = f"-target {TARGET}" if TARGET else "-mcpu=baseline"
    os.environ["CC"] = f"{sys.executable} -m ziglang cc {machine}"
    # Python's own functions are found when it opens the library.
    rest = "-undefined dynamic_lookup" if "macos" in (TARGET or sys.platform) else "-s"
    os.environ["LDSHARED"] = f"{os.environ['CC']} -shared {rest}"

# Sets of instructions: each file includes all families of loops.
LEVELS = "generic", "avx2", "vnni", "dotprod"

setup(
    packages=[
        *find_packages(include=["miner", "miner.*"]),
        *("miner_train", *(f"miner_train.{name}" for name in find_packages("train"))),
    ],
    ext_modules=[
        Extension(
            "miner.kernels._library",
            [f"miner/kernels/{name}.c" for name in ("module", *LEVELS)],
            depends=sorted(glob("miner/kernels/*.[ch]")),
            # No option here may change the order of sums, or join a product with a sum.
            extra_compile_args=[
                *("-O3", "-std=gnu11", "-fvisibility=hidden", "-ffp-contract=off"),
                *("-fno-math-errno", "-fno-trapping-math", "-g0"),
            ],
            libraries=["m"],
            py_limited_api=True,
        )
    ],
    setup_requires=["ziglang"] if TARGET or MISSING else [],
)
