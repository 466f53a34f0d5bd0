"""Counts the files in a folder of CUDA projects that NVRTC and the simulator's compiler accept.

    python tests/programs/acceptance.py FOLDER [--each 50] [--results results.json]

Each .cu file with a kernel is one unit. A unit is compiled as by `cuda.module(path)`, without host
code, with the kernels that are not templates and the instances of templates in the file's launches.
A project's include folders and macros are those of the nearest compile_flags.txt above the unit,
one option per line, as clangd reads it, and the usual folders above the unit. Of the units that
NVRTC accepts, the table counts those that the simulator accepts, and groups the others by the
compiler's message. The script downloads nothing and runs no program. With --results, NVRTC's
results are kept from one run to the next, as long as the text is the same.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import re
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator

ARCHITECTURE = 9, 0
_SECONDS = 240
_INSTANCE = re.compile(r"\b([A-Za-z_]\w*)\s*<([\w\s,:*]+)>\s*<<<")
_PLAIN = re.compile(
    r"(?:const|unsigned|signed|float|double|int|char|short|long|bool|half|__half|true|false|u?int\d+_t|\d+u?|[\s,*])+"
)


def kernel_files(root: str, each: int) -> list:
    """Returns the .cu files with kernels: at most `each` files of a project, evenly chosen."""
    found = []
    for project in sorted(os.listdir(root)):
        folder = os.path.join(root, project)
        paths = sorted(
            os.path.join(where, name)
            for where, _, names in os.walk(folder)
            for name in names
            if name.endswith(".cu")
        )
        paths = [path for path in paths if "__global__" in _read_text(path)]
        step = max(1, len(paths) / each) if each else 1
        found += [paths[int(i * step)] for i in range(int(len(paths) / step))]
    return found


def _read_text(path):
    from numbalite.compilers import files

    return files.read_text(path, "replace")


def source_for_compilers(path: str):
    """Returns the text of a file that the compilers get."""
    from numbalite.cxx import scanner
    from numbalite.cxx.linemap import consecutive_text
    from numbalite.kernels import module, options

    text = _read_text(path)
    kernels = {
        scanner.last_name(k.name): k.name for k in scanner.scan_source(text)[0] if k.template
    }
    names = [
        f"{kernels[name]}<{arguments}>"
        for name, arguments in _INSTANCE.findall(text)
        if name in kernels and _PLAIN.fullmatch(arguments)
    ]
    folders = [os.path.dirname(path), *include_folders(path)]
    flags = [*_compile_flags(path), *(f"-I{folder}" for folder in folders)]
    parsed = options.parse_options({"options": flags})
    given, parsed, _ = module.device_code(consecutive_text(text, path), parsed, names)
    made = module.Module(given, parsed, sorted(set(names)), "unit")
    return made._images.source._replace(describe=False, opt=0)


def _compile_flags(path):
    """-I and -D of the nearest compile_flags.txt, with absolute folders."""
    folder = os.path.dirname(path)
    while not os.path.exists(listed := os.path.join(folder, "compile_flags.txt")):
        above, folder = folder, os.path.dirname(folder)
        if above == folder:
            return []
    lines = [line.strip() for line in _read_text(listed).splitlines()]
    return [
        "-I" + os.path.normpath(os.path.join(folder, line[2:])) if line[:2] == "-I" else line
        for line in lines
        if line
    ]


def include_folders(path):
    """Returns the include folders that exist in up to six parent folders of a file, and its
    grandparent folder."""
    found, folder = [], os.path.dirname(path)
    for _ in range(6):
        folder = os.path.dirname(folder)
        found += [
            f"{folder}/{n}"
            for n in ("include", "common", "Common", "common/inc", "src", "utils", "Utilities")
            if os.path.isdir(f"{folder}/{n}")
        ]
    return [*found, *(os.path.dirname(os.path.dirname(path)),)]


def compile_with_both_compilers(path: str, known: dict) -> dict:
    """Returns {"nvrtc": "" or the error, "sim": "" or the error, "key": hash of the text}."""
    from numbalite.compilers import hostbuild, nvrtc
    from numbalite.errors import CompileError

    result = {"path": path}
    try:
        source = source_for_compilers(path)
    except CompileError as problem:
        return {**result, "nvrtc": str(problem), "sim": str(problem)}
    except TypeError as problem:
        return {**result, "nvrtc": f"not read: {problem}", "sim": ""}
    result["key"] = hashlib.sha256(repr(source).encode("utf-8", "replace")).hexdigest()
    if known.get("key") == result["key"]:
        result["nvrtc"] = known["nvrtc"]
    else:
        fast = source._replace(
            options=(*source.options, f"-arch=compute_{ARCHITECTURE[0]}0"), opt=True
        )
        result["nvrtc"] = _error_text_of(lambda: nvrtc.compile(fast, ARCHITECTURE), CompileError)
    if not result["nvrtc"]:
        begun = time.perf_counter()
        result["sim"] = _error_text_of(lambda: hostbuild.compile(source), CompileError)
        result["seconds"] = round(time.perf_counter() - begun, 1)
        if "not defined" in result["sim"]:  # PTX may contain such functions, machine code may not
            whole = source._replace(opt=True)
            result["nvrtc"] = _error_text_of(
                lambda: nvrtc.compile(whole, ARCHITECTURE), CompileError
            )
    return result


def _error_text_of(compile, error):
    try:
        compile()
    except error as problem:
        return str(problem) or "failed"
    return ""


_QUOTED = re.compile(r'"[^"]*"|‘[^’]*’|\'[^\']*\'')


def first_error(text: str) -> str:
    """Returns the first error, without its position."""
    for line in text.splitlines():
        if "error" in line:
            return re.sub(r"^.*?error:? ?(?:#\d+(?:-D)?:)?", "", line).strip()[:150]
    return (text.splitlines() or [""])[0][:150]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--each", type=int, default=0, help="most units of a project; 0: all")
    parser.add_argument("--results", help="a file of results, read and written")
    parser.add_argument("--only", default="", help="units whose path has this in it")
    parser.add_argument("--refused", action="store_true", help="again only what was refused")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    known = {}
    if given.results and os.path.exists(given.results):
        with open(given.results, encoding="utf-8") as file:
            known = {one["path"]: one for one in json.load(file)}
    paths = [path for path in kernel_files(given.folder, given.each) if given.only in path]
    results = dict(known)
    todo = [p for p in paths if not given.refused or not known.get(p) or known[p].get("sim")]
    work = lambda path: _compile_file(path, known.get(path, {}))
    for path, done in run_in_parallel(todo, work, given.jobs):
        if isinstance(done, str):
            done = {"path": path, "nvrtc": done, "sim": ""}
        results[done["path"]] = done
        if given.results and len(results) % 10 == 0:
            _write_results(given.results, results)
    if given.results:
        _write_results(given.results, results)
    print_report([results[path] for path in paths if path in results], given.folder)


def _write_results(path, results):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(list(results.values()), file, indent=1)


def run_in_parallel(items: list, work: Callable, jobs: int) -> Iterator[tuple]:
    """Yields (item, result of work) in the order of completion; each item runs in a separate process, forked
    from a process that has imported all modules. If a process dies, the result is the reason as a string."""
    import numbalite.compilers.hostbuild
    import numbalite.compilers.nvrtc  # noqa: F401
    from numbalite import cuda  # noqa: F401

    running, todo = {}, items[::-1]
    while todo or running:
        while todo and len(running) < jobs:
            item = todo.pop()
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                _run_worker(work, item, reading, writing)
            os.close(writing)
            running[child] = item, reading
        ready = select.select([reading for _, reading in running.values()], (), ())[0]
        child = next(child for child, (_, reading) in running.items() if reading in ready)
        item, reading = running.pop(child)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            said = pipe.read()
        _, status = os.waitpid(child, 0)
        yield item, json.loads(said) if said else f"the process ended with {status}"


def _run_worker(work, item, reading, writing):
    os.close(reading)
    signal.alarm(_SECONDS)
    try:
        result = work(item)
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            json.dump(result, pipe)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _compile_file(path, known):
    try:
        return compile_with_both_compilers(path, known)
    except Exception as problem:  # any other exception is a bug of numbalite
        return {"path": path, "nvrtc": "", "sim": f"error: {type(problem).__name__}: {problem}"}


def print_report(results: list, root: str) -> None:
    """Prints the table, and the reasons."""
    rows = collections.defaultdict(lambda: [0, 0, 0])
    refused = collections.defaultdict(list)
    by_nvrtc = collections.Counter()
    for one in results:
        project = os.path.relpath(one["path"], root).split(os.sep)[0]
        rows[project][0] += 1
        if one["nvrtc"]:
            by_nvrtc[_QUOTED.sub("...", first_error(one["nvrtc"]))] += 1
            continue
        rows[project][1] += 1
        rows[project][2] += not one["sim"]
        if one["sim"]:
            refused[first_error(one["sim"])].append(one["path"])
    print(f"{'project':44} {'units':>6} {'NVRTC':>6} {'simulator':>10}")
    for project, (count, taken, both) in rows.items():
        print(f"{project[:44]:44} {count:6} {taken:6} {both:10}")
    count, taken, both = (sum(row[i] for row in rows.values()) for i in range(3))
    share = f"{100 * both / taken:.1f} %" if taken else ""
    print(f"{'all':44} {count:6} {taken:6} {both:10} {share}")
    print("\nNVRTC takes it, the simulator does not:")
    for why, paths in sorted(refused.items(), key=lambda item: -len(item[1])):
        print(f"{len(paths):5}  {why}  ({os.path.relpath(paths[0], root)})")
    slow = sorted((one for one in results if "seconds" in one), key=lambda one: -one["seconds"])
    print("\nslowest on the simulator:")
    for one in slow[:5]:
        print(f"{one['seconds']:5.1f} s  {os.path.relpath(one['path'], root)}")
    print("\nNVRTC does not take it:")
    for why, number in by_nvrtc.most_common(25):
        print(f"{number:5}  {why}")


if __name__ == "__main__":
    sys.exit(main())
