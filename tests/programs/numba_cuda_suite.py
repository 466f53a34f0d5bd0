"""Runs numba-cuda's own tests on numbalite: ``python tests/programs/numba_cuda_suite.py FOLDER [FILE ...]``

FOLDER is a checkout of numba-cuda, or the folder `numba/cuda` in it; FILE picks test files by parts of their
names. Each file is run in a process of its own, with numbalite under numba's name. numba's
internals (typing, intermediate representation) exist only as names, so that the files can be
imported; tests that use internals fail with a message. At the end each test that did not pass is
listed with its reason, by file; then the groups of tests that do not concern users' programs
(numba_cuda_groups.py), and how many of the others passed. --json FILE writes all of that; --jobs N
runs N files at once; --limit S stops a file after so many seconds. --report FILE prints the report
of an earlier --json file again.
"""

import argparse
import concurrent.futures
import importlib.abc
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest

from numba_cuda_groups import GROUPS, irrelevance_reason

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 600


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=pathlib.Path())
    parser.add_argument("files", nargs="*")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.report:
        return print_report(json.loads(given.report.read_text()))
    folder = next(
        (
            f
            for f in (given.folder / "numba_cuda/numba/cuda", given.folder)
            if (f / "tests").is_dir()
        ),
        None,
    )
    if folder is None:
        parser.error(f"{given.folder} holds no tests of numba-cuda")
    if given.child:
        return run_child(folder, given.files[0])
    names = sorted(str(f.relative_to(folder / "tests")) for f in folder.glob("tests/**/test_*.py"))
    names = [n for n in names if not given.files or any(part in n for part in given.files)]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        found = dict(zip(names, pool.map(lambda name: run_file(folder, name, given.limit), names)))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
    return print_report(found)


def run_file(folder, name, limit):
    """Runs one file in a process; returns test -> (outcome, reason)."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, __file__, "--child", str(folder), name],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"\nstopped after {limit:g} seconds"
    found = dict(json.loads(line[1:]) for line in out.split("\n") if line.startswith("\x1e"))
    if "end" not in found:  # the process died in the last test that had begun
        begun = [name for name, (how, _) in found.items() if how == "begun"]
        found[begun[-1] if begun else "file"] = ("died", (err.strip().splitlines() or ["?"])[-1])
    found.pop("end", None)
    passed = sum(how == "passed" for how, _ in found.values())
    print(
        f"{name}: {passed} of {len(found)}, {time.monotonic() - begin:.0f} s",
        file=sys.stderr,
        flush=True,
    )
    return found


def print_report(found):
    groups = {reason: [0, 0] for reason in (*GROUPS, None)}
    sides = {"with kernels": [0, 0], "of the host's side": [0, 0]}
    skipped = 0
    for name, tests in found.items():
        bad = {}
        for test, (how, why) in tests.items():
            if how == "skipped":
                skipped += 1
                continue
            counts = groups[irrelevance_reason(name, name_of_test(test))]
            added = [counts]
            if counts is groups[None]:
                has_kernels = name.startswith(("cudapy/", "doc_examples/"))
                added.append(sides["with kernels" if has_kernels else "of the host's side"])
            for column in added:
                column[0] += how == "passed"
                column[1] += 1
            if how != "passed" and counts is groups[None]:
                bad[test] = how, why
        if bad:
            print(f"\n{name}")
        for test, (how, why) in bad.items():
            print(f"  {name_of_test(test)}: {how}: {why}")
    print("\nThese say nothing of programs (passed / all):")
    for reason in GROUPS:
        print(f"  {groups[reason][0]:4} / {groups[reason][1]:4}  {reason}")
    passed, applicable = groups[None]
    everything = [sum(column) for column in zip(*groups.values(), strict=True)]
    print(f"\n{passed} of the {applicable} that apply passed: {passed / max(applicable, 1):.1%}")
    for side, (good, count) in sides.items():
        print(f"  {good} of {count} {side}: {good / max(count, 1):.1%}")
    print(f"{everything[0]} of all {everything[1]}; {skipped} were skipped")


def name_of_test(test):
    """Returns the class and the name of a test."""
    return ".".join(test.split(".")[-2:])


# --- runs one file in a separate process


# Variables of numba.config that numba's own code reads.
INSIDE_SETTINGS = {
    "ENABLE_CUDASIM": False,  # this simulator has the features of a GPU
    "CUDA_ENABLE_NRT": False,
    "CUDA_NRT_STATS": False,
    "CUDA_DEBUGINFO_DEFAULT": False,
    "CUDA_DEBUG_POLY": False,
    "CUDA_DEALLOCS_COUNT": 10,
    "CUDA_DEALLOCS_RATIO": 0.2,
    "IS_WIN32": False,
    "ALWAYS_WARN_UNINIT_VAR": 0,
    "_OptLevel": lambda level: level,
    **{
        f"DUMP_{what}": False for what in ("ASSEMBLY", "BYTECODE", "CFG", "IR", "LLVM", "OPTIMIZED")
    },
}


class InternalNamesType(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return private_class(name)


def private_class(name):
    """Returns a stand-in class for a class of numba's internals; for an exception, an exception class."""
    if name.endswith("Error"):
        return type(name, (Exception,), {})
    return InternalNamesType(name, (NumbaInternal,), {"SUPPORTED": False})


class NumbaInternal(metaclass=InternalNamesType):
    """A stand-in for numba's internals: it can be imported, subclassed and called, without
    effect."""

    def __init_subclass__(cls, **_):
        pass

    def __init__(self, *args, **_):
        pass

    def __call__(self, *args, **_):  # as a decorator
        return args[0] if args else self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return NumbaInternal()

    def __class_getitem__(cls, _):
        return cls


# Internal modules and names that numba-cuda's test files import from modules that also exist in numbalite.
INSIDE_NAMES = {
    "numba.cuda": ("cgutils", "descriptor", "extending", "launchconfig", "typing", "utils"),
    "numba.cuda.compiler": ("run_frontend",),
    "numba.cuda.cudadrv.libs": ("check_static_lib",),
    "numba.cuda.core": ("ir", "ir_utils", "tracing"),
    "numba.cuda.cudadrv": ("nvrtc",),
    "numba.cuda.cudadrv.driver": ("_Linker", "binding"),
    "numba.cuda.types": ("Float", "Integer", "Number", "bfloat16", "range_iter32_type"),
    "numba.cuda.typing": ("cffi_utils", "templates", "typeof"),
}


class InternalModule(types.ModuleType):
    """A stand-in for an internal module of numba."""

    __path__ = ()
    PYVERSION = sys.version_info[:2]
    HAS_NUMBA = False

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return private_class(name)


class InternalModuleFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Tests out of numbalite's scope: a test file, or numba's internals."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, fullname, path=None, target=None):
        from numbalite.numba import names

        top, *rest = fullname.split(".")
        if top == "cuda" and rest and rest[0] == "core":
            return importlib.util.spec_from_loader(fullname, self, is_package=True)
        if top not in ("numba", "filecheck", "llvmlite") or fullname in names.FOLDERS:
            return None
        own = self.folder.joinpath(*rest[1:])
        if rest[:2] == ["cuda", "tests"] or rest == ["cuda", "testing"]:
            for file in (own / "__init__.py", own.with_suffix(".py")):
                if file.is_file():
                    where = [str(own)] if own.is_dir() else None
                    return importlib.util.spec_from_file_location(
                        fullname, file, submodule_search_locations=where
                    )
        if fullname in names.MODULES:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec):
        return InternalModule(spec.name)

    def exec_module(self, module):
        pass


OUT = os.dup(1)  # tests capture what is printed


def write_result(test, how, why):
    os.write(OUT, f"\n\x1e{json.dumps([test, (how, why)])}\n".encode())


class PrintingResult(unittest.TestResult):
    """Prints the outcome of each test as soon as it ends."""

    def report_outcome(self, test, how, why=""):
        write_result(test.id().removeprefix("numba.cuda.tests."), how, why)

    def startTest(self, test):
        super().startTest(test)
        self.report_outcome(test, "begun")

    def addSuccess(self, test):
        self.report_outcome(test, "passed")

    def addSkip(self, test, reason):
        self.report_outcome(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.report_outcome(test, "passed", "fails as numba does")

    def addUnexpectedSuccess(self, test):
        self.report_outcome(test, "passed", "fails in numba")

    def addFailure(self, test, err):
        self.report_outcome(test, "failed", reason_of_exception(err))

    def addError(self, test, err):
        self.report_outcome(test, *outcome_of_exception(err))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.report_outcome(test, "failed", reason_of_exception(err))


def outcome_of_exception(err):
    """Returns the outcome of a test that an exception ended, and the reason."""
    return "skipped" if err[0].__name__ == "Skipped" else "failed", reason_of_exception(
        err
    )  # by importorskip


def reason_of_exception(err):
    """Returns the first informative lines of an exception, or the last line of a failed import."""
    lines = [line for line in str(err[1]).splitlines() if line.strip()]
    if str(err[1]).startswith("Failed to import test module"):
        lines = lines[-1:]
    return f"{err[0].__name__}: " + " | ".join(lines[:3])[:400]


SITE = """
import sys
import numbalite
numbalite.install_as_numba()
if "--multiprocessing-fork" in sys.orig_argv:  # it imports the test file
    sys.path.insert(0, {here!r})
    import pathlib
    import numba_cuda_suite
    numba_cuda_suite.install_stand_ins(pathlib.Path({folder!r}))
"""


def write_site_customization(site, folder):
    """Processes that the tests start also have numbalite under numba's name."""
    here, folder = str(pathlib.Path(__file__).resolve().parent), str(folder.resolve())
    pathlib.Path(site, "sitecustomize.py").write_text(SITE.format(here=here, folder=folder))
    paths = [site, str(ROOT), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def run_child(folder, name):
    with tempfile.TemporaryDirectory() as site:
        write_site_customization(site, folder)
        return run_tests(folder, name)


def add_missing_internal_names():
    for place, names in INSIDE_NAMES.items():
        module = importlib.import_module(place)
        for name in names:
            if not hasattr(module, name):
                setattr(module, name, private_class(name))


def install_stand_ins(folder):
    """Installs numbalite under numba's name, and stand-ins for other modules that the test files
    import."""
    sys.path.insert(0, str(ROOT))
    import numbalite

    numbalite.install_as_numba()
    sys.meta_path.insert(0, InternalModuleFinder(folder))
    has_cffi = importlib.util.find_spec("cffi") is not None
    for name in ("cffi", "ml_dtypes"):
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = InternalModule(name)
    from numbalite import cuda

    cuda.HAS_NUMBA = False
    cuda.cudadrv.driver._have_nvjitlink = lambda: True
    vars(numbalite.config).update(INSIDE_SETTINGS)
    add_missing_internal_names()
    importlib.import_module("numba.cuda.typing").cffi_utils.SUPPORTED = has_cffi
    testing = importlib.import_module("numba.cuda.testing")
    testing.skip_on_cudasim = lambda reason: (
        lambda test: test
    )  # the simulator supports all features of a GPU
    support = importlib.import_module("numba.cuda.tests.support")
    support.MemoryLeak.assert_no_memory_leak = lambda _: (
        None
    )  # memory that numbalite's kernels do not allocate


def run_tests(folder, name):
    install_stand_ins(folder)
    module = "numba.cuda.tests." + name.removesuffix(".py").replace("/", ".")
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName(module)
    except BaseException as problem:
        write_result("file", *outcome_of_exception((type(problem), problem, None)))
    else:
        suite.run(PrintingResult())
    write_result("end", "", "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
