"""Runs CUB's own tests of blocks, warps and threads on the simulator: ``python tests/programs/cub_suite.py FOLDER [FILE ...]``

FOLDER is a checkout of NVIDIA/cccl at the version of the toolkit's CUB (cub/version.cuh); FILE picks test files by parts of
their names. `cuda.module` compiles a test file without changes, except for its launches: `k<<<g,
b>>>(x)` becomes a call of this program, which launches by numbalite. The host's half of a test
(vectors, Catch2's macros, reference results) is in the same image, with the headers in cub_host in
place of those of Catch2, thrust's containers and the C++ library. Random input is drawn anew. Each
test is run with all values of its generators, each file with all of its %PARAM%s; each image has a
process of its own. A failed test is listed with its first failed assertion. --jobs N runs N files
at once; --each N runs each Nth combination of parameters; --json FILE writes all.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOST = ROOT / "tests" / "programs" / "cub_host"
FILES = (
    "catch2_test_block_*.cu",
    "catch2_test_warp_*.cu",
    "catch2_test_thread_*.cu",
    "thread_reduce/*.cu",
)
LIMIT = 1500
ENTRIES = """
__global__ void nl_suite_find(unsigned long long *out) {
    *out = reinterpret_cast<unsigned long long>(&nl_suite_entry);
}
__global__ void nl_suite_run(unsigned long long body, unsigned long long arguments) {
    reinterpret_cast<void (*)(void *)>(body)(reinterpret_cast<void *>(arguments));
}
"""
_PARAMETER = re.compile(r"^// %PARAM% (\w+) \w+ (\S+)", re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--child", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = given.folder.resolve()
    if given.child is not None:
        return run_child(folder, given.files[0], given.child)
    tests = folder / "cub" / "test"
    if not tests.is_dir():
        parser.error(f"{folder} holds no tests of CUB")
    paths = sorted(path for pattern in FILES for path in tests.glob(pattern))
    paths = [p for p in paths if not given.files or any(part in p.name for part in given.files)]
    todo = [
        (path, one) for path in paths for one in parameter_macros(path.read_text())[:: given.each]
    ]
    results = []
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        running = [pool.submit(run_image, folder, path, one, given) for path, one in todo]
        for future in concurrent.futures.as_completed(running):
            results.append(future.result())
            print(format_result(results[-1]), flush=True)
            if given.json:
                given.json.write_text(json.dumps(results, indent=1))
    return print_report(results)


def parameter_macros(text):
    """Returns the combinations of a file's parameters, as macros."""
    lists = [
        [f"{name}={value}" for value in values.split(":")]
        for name, values in _PARAMETER.findall(text)
    ]
    return list(itertools.product(*lists))


def run_image(folder, path, macros, given):
    """Runs one image in a process; returns its compile time, and a dict from tests to their first failed
    assertion."""
    name = str(path.relative_to(folder / "cub" / "test"))
    begin = time.monotonic()
    command = [sys.executable, __file__, str(folder), name, "--child", *macros]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBALITE_DRIVER": "sim"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        env=environment,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=given.limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"\nstopped after {given.limit:g} seconds"
    said = [json.loads(line[1:]) for line in out.split("\n") if line.startswith("\x1e")]
    result = {"file": name, "macros": macros, "tests": {}, "error": "", "seconds": 0}
    for one in said:
        result["tests"].update(one.get("tests", {}))
        result["error"] = one.get("error", result["error"])
    if not any("end" in one for one in said):
        result["error"] = result["error"] or err[-1500:] or f"ended with {process.returncode}"
        for test, problem in result["tests"].items():
            if problem == "begun":
                result["tests"][test] = f"the process ended in it: {result['error'][-300:]}"
    result["seconds"] = round(time.monotonic() - begin, 1)
    return result


def report_to_parent(**what):
    print("\x1e" + json.dumps(what), flush=True)


def run_child(folder, name, macros):
    """Compiles one image and runs its tests."""
    import numpy as np

    from numbalite import cuda
    from numbalite.errors import CompileError

    path = folder / "cub" / "test" / name
    includes = [HOST, folder / "c2h" / "include", path.parent, folder / "cub" / "test"]
    options = [*(f"-I{one}" for one in includes), *(f"-D{macro}" for macro in macros)]
    try:
        headers = {
            p.name: replace_launches(p.read_text()) for p in (folder / "cub" / "test").glob("*.cuh")
        }
        text = replace_launches(path.read_text()) + ENTRIES
        module = cuda.module(text, options=options, headers=headers)
        found = np.zeros(1, np.uint64)
        module.nl_suite_find[1, 1](found)
    except CompileError as problem:
        return report_to_parent(error=str(problem))
    report_to_parent(compiled=True)
    host = HostRequests(module)
    entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(
        int(found[0])
    )
    count = entry(0, 0, ctypes.addressof(host.table))
    for number in range(count):
        names = (ctypes.c_char_p * 2)()
        entry(1, number, ctypes.addressof(names))
        test = f"{names[0].decode()} {type_parameters(names[1].decode())}"
        report_to_parent(tests={test: "begun"})
        host.problem = ""
        entry(2, number, None)
        report_to_parent(tests={test: host.problem})
    return report_to_parent(end=True)


def type_parameters(text):
    return text.partition("T = ")[2].rstrip("]").replace("cuda::std::", "")


def replace_launches(text):
    """Returns the text with `k<<<g, b>>>(x)` as calls of suite::Shape."""
    while (at := text.find("<<<")) >= 0:
        begin = _begin_of_name(text, at)
        end = text.index(">>>", at)
        opening = text.index("(", end)
        closing = _closing_parenthesis(text, opening)
        arguments = text[opening + 1 : closing].strip()
        call = f"[](auto... suite_a) {{ {text[begin:at].strip()}(suite_a...); }}"
        call += f", {arguments}" if arguments else ""
        text = f"{text[:begin]}suite::Shape({text[at + 3 : end]})({call}){text[closing + 1 :]}"
    return text


def _begin_of_name(text, at):
    at = len(text[:at].rstrip())
    if text[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(text[at], 0)
            if depth == 0:
                break
    return re.search(r"[\w:]+\s*\Z", text[:at]).start()


def _closing_parenthesis(text, at):
    depth = 0
    while True:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
        at += 1


class HostRequests:
    """Requests of a test's host half (suite::Program in host.h)."""

    def __init__(self, module):
        self.kernel, self.problem = module.nl_suite_run, ""
        self.memory = {}
        pointer = ctypes.c_void_p
        self.calls = (
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_uint), ctypes.c_uint, pointer, pointer)(self.launch),
            ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)(self.fail),
            ctypes.CFUNCTYPE(pointer, ctypes.c_size_t)(self.allocate),
            ctypes.CFUNCTYPE(None, pointer)(self.release),
        )  # fmt: skip
        self.table = (pointer * 4)(*(ctypes.cast(call, pointer) for call in self.calls))

    def launch(self, shape, shared, body, arguments):
        from numbalite import cuda

        grid, block = tuple(shape[:3]), tuple(shape[3:6])
        try:
            self.kernel[grid, block, 0, shared](body, arguments)
            cuda.synchronize()
        except Exception as problem:
            self.problem = self.problem or f"{type(problem).__name__}: {problem}"[:600]
            return 999
        return 0

    def fail(self, file, line, text, values):
        where = f"{pathlib.Path(file.decode()).name}:{line}: {text.decode()} {values.decode()}"
        self.problem = self.problem or where

    def allocate(self, size):
        from numbalite import cuda

        array = cuda.device_array(max(size, 1), "uint8")
        address = array.__cuda_array_interface__["data"][0]
        self.memory[address] = array
        return address

    def release(self, address):
        self.memory.pop(address, None)


def format_result(result):
    passed = sum(not problem for problem in result["tests"].values())
    text = (
        f"{result['file']} {' '.join(result['macros'])}: {passed} of {len(result['tests'])} passed"
    )
    error = result["error"].strip().splitlines()
    return f"{text}, {result['seconds']} s{': ' + error[0] if error else ''}"


def print_report(results):
    """Prints the failures by cause, and the number of passed tests."""
    causes = collections.Counter()
    for result in results:
        for test, problem in result["tests"].items():
            if problem:
                print(
                    f"FAILED {result['file']} {' '.join(result['macros'])}: {test}\n    {problem}"
                )
                causes[f"{result['file']}: {problem.splitlines()[0][:120]}"] += 1
        if result["error"] and not result["tests"]:
            print(f"NOT COMPILED {result['file']} {' '.join(result['macros'])}\n{result['error']}")
    for cause, count in causes.most_common():
        print(f"{count:6} {cause}")
    count = sum(len(result["tests"]) for result in results)
    passed = sum(not problem for result in results for problem in result["tests"].values())
    whole = sum(not result["tests"] for result in results)
    print(f"{len(results)} images, {whole} of them without a test that ran")
    print(f"{passed} of {count} tests passed ({passed / max(count, 1):.1%})")
    return passed != count or whole > 0


if __name__ == "__main__":
    sys.exit(main())
