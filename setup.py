"""Build of the compiled library (``miner/kernels/library.py``). All else is in setup.cfg."""

import os
import shutil
import sys
from glob import glob

from setuptools import Extension, setup

# Python's headers name the compiler that Python was built with; the machine may have another one.
COMPILER = os.environ.get("CC", "cc")
MISSING = sys.platform != "win32" and shutil.which(COMPILER.split()[0]) is None
if MISSING:  # the compiler of the package ziglang, which pip then installs for the build
    # By default it would make code for this very processor.
    os.environ["CC"] = f"{sys.executable} -m ziglang cc -mcpu=baseline"
    os.environ["LDSHARED"] = f"{os.environ['CC']} -shared -s"

setup(
    ext_modules=[
        Extension(
            "miner.kernels._library",
            # These include the families of loops, once for each set of instructions.
            [f"miner/kernels/{name}.c" for name in ("module", "generic", "avx2", "vnni")],
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
    setup_requires=["ziglang"] if MISSING else [],
)
