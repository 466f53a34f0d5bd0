"""Builds numbalite._core from every C file under cext/; everything else is in pyproject.toml.

NUMBALITE_SANITIZE=address,undefined (or thread) builds an instrumented extension;
NUMBALITE_GCOV=1 builds an extension that counts its lines and branches (make coverage);
NUMBALITE_WERROR=1 turns warnings into errors.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

sanitize = os.environ.get("NUMBALITE_SANITIZE", "")
flags = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-fvisibility=hidden", "-pthread"]
# Debug information does not contain the folder of the build, so that equal sources produce equal files.
flags.append(f"-ffile-prefix-map={Path.cwd()}=.")
link = ["-pthread", "-ldl"]
if os.environ.get("NUMBALITE_WERROR"):
    flags.append("-Werror")
if sanitize:
    flags += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-O1"]
    link.append(f"-fsanitize={sanitize}")
if os.environ.get("NUMBALITE_GCOV"):
    # The counters are atomic, because calls run in several threads.
    flags += ["--coverage", "-fprofile-update=atomic", "-O1"]
    link.append("--coverage")


def files(folder, pattern):
    return sorted(str(path) for path in Path(folder).rglob(pattern))


class Build(build_ext):
    """Compiles the files of the extension in parallel, on all cores."""

    def build_extensions(self):
        compile_some = self.compiler.compile

        def compile_all(sources, **options):
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                made = pool.map(lambda source: compile_some([source], **options), sources)
                return [name for names in made for name in names]

        self.compiler.compile = compile_all
        try:
            super().build_extensions()
        except Exception as problem:
            hint = self.missing_component()
            if hint:
                raise PlatformError(hint) from problem
            raise

    def missing_component(self):
        """Returns what must be installed to build the extension; None if the compiler and Python.h exist."""
        compiler = getattr(self.compiler, "compiler_so", None)
        if compiler and not shutil.which(compiler[0]):
            return f"the C compiler {compiler[0]} was not found: apt install gcc, or name another one in $CC"
        if not any(Path(folder, "Python.h").exists() for folder in self.include_dirs):
            return "Python.h was not found: apt install python3-dev (or python3.14-dev, for that version)"
        return None


setup(
    cmdclass={"build_ext": Build},
    packages=[*find_packages(include=["numbalite", "numbalite.*"]), "numbalite._cuda_src"],
    ext_modules=[
        Extension(
            "numbalite._core",
            sources=files("cext", "*.c"),
            depends=[*files("cext", "*.h"), *files("cuda_src", "*abi.h")],
            include_dirs=["cext", "cuda_src", numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION")],
            extra_compile_args=flags,
            extra_link_args=link,
        )
    ],
)
