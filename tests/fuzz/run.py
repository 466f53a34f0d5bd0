"""Fuzzing:   python tests/fuzz/run.py [TARGET...] [--seconds 60 | --inputs 1000] [--seed 1] [--engine libfuzzer]

Each target (tests/fuzz/targets.py) runs in a process of its own. The engine `random` makes inputs
from a seed, half of them by changing earlier ones, and has no dependencies; `libfuzzer` builds an
instrumented extension and lets clang's libFuzzer choose inputs by the C code that they reach. An
input that kills the process, hangs, or leaks objects is stored in the folder --keep and can be run
again:

    python tests/fuzz/run.py TARGET --again FILE
"""

import argparse
import faulthandler
import mmap
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import sysconfig
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SLOW = 20  # seconds that one input may take
MEMORY = 400 << 20  # bytes that a process may grow by


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def make_inputs(seed):
    """Yields inputs endlessly: new inputs and mutations of earlier inputs."""
    r = random.Random(seed)
    kept = []
    while True:
        if kept and r.random() < 0.5:
            data = bytearray(r.choice(kept))
            for _ in range(r.randrange(1, 8)):
                data[r.randrange(len(data))] = r.choice((r.randrange(256), 0, 1, 255))
            if r.random() < 0.2:
                data += r.randbytes(r.randrange(1, 32))
        else:
            data = bytearray(r.randbytes(r.choice((4, 16, 64, 256, 1024))))
        data = bytes(data[:4096])
        if len(kept) < 256:
            kept.append(data)
        else:
            kept[r.randrange(256)] = data
        yield data


def run_inputs(name, seconds, inputs, seed, current):
    """Runs inputs in the process of a target until the time or the count reaches its limit."""
    sys.path.insert(0, str(HERE))
    import targets

    faulthandler.enable()
    targets.prepare_process()
    function = targets.TARGETS[name]
    note = mmap.mmap(os.open(current, os.O_RDWR), 8192)
    source = make_inputs(seed)

    def run_input(data):
        note[: 4 + len(data)] = len(data).to_bytes(4, "little") + data
        faulthandler.dump_traceback_later(SLOW, exit=True)
        begun = time.monotonic()
        function(data)
        return time.monotonic() - begun

    first = []
    for _ in range(min(100, max(10, inputs // 4))):
        data = next(source)
        first.append(data)
        run_input(data)
    memory = resident_bytes()
    start, count, worst = time.monotonic(), 0, 0.0
    while count < inputs and time.monotonic() - start < seconds:
        worst = max(worst, run_input(next(source)))
        count += 1
    # Objects that inputs create are partly cached (kernels); repeated inputs create no more.
    before = targets.live_objects()
    for data in first:
        run_input(data)
    faulthandler.cancel_dump_traceback_later()
    after = targets.live_objects()
    leaked = {k: (before.get(k, 0), n) for k, n in after.items() if n > before.get(k, 0)}
    grown = resident_bytes() - memory
    print(f"{name}: {count} inputs in {time.monotonic() - start:.1f} s, the slowest {worst:.2f} s, "
          f"{grown >> 20} MiB more", flush=True)  # fmt: skip
    if leaked:
        sys.exit(f"{name} leaks: {leaked}")
    if grown > MEMORY:
        sys.exit(f"{name} grows: {grown >> 20} MiB")


def run_random(name, given):
    """Returns a process over a target; True if all was well."""
    given.keep.mkdir(parents=True, exist_ok=True)
    current = given.keep / f"{name}.current"
    current.write_bytes(bytes(8192))
    command = [sys.executable, __file__, name, "--inside", str(current), "--seed", str(given.seed)]
    command += ["--seconds", str(given.seconds), "--inputs", str(given.inputs)]
    status = subprocess.run(command, env=fuzz_environment(), check=False).returncode
    if status:
        raw = current.read_bytes()
        found = given.keep / f"{name}-{time.time_ns()}"
        found.write_bytes(raw[4 : 4 + int.from_bytes(raw[:4], "little")])
        print(f"{name}: status {status}; the last input is in {found}", flush=True)
    current.unlink()
    return status == 0


def fuzz_environment(**more):
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "NUMBALITE_DRIVER": "sim",
        **more,
    }


# ---- libFuzzer -----------------------------------------------------------------------------------------------

PURE = {"elf": ["cext/sim/debuginfo/elf.c"]}  # targets in C alone: tests/fuzz/NAME.c


def build_folder():
    return ROOT / "build-fuzz"


def run_command(command):
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT)


def build_extension(clang):
    """Returns the package with an extension that counts its branches, and the program that embeds
    Python."""
    import numpy

    folder = build_folder()
    package = folder / "lib" / "numbalite"
    if package.is_symlink() or package.exists():
        shutil.rmtree(package)
    shutil.copytree(
        ROOT / "numbalite", package, ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    if not (folder / "lib" / "cuda_src").exists():
        (folder / "lib" / "cuda_src").symlink_to(ROOT / "cuda_src")
    flags = ["-std=gnu11", "-O1", "-g", "-fPIC", "-pthread", "-fvisibility=hidden", "-Icext", "-Icuda_src",
             f"-I{sysconfig.get_path('include')}", f"-I{numpy.get_include()}", "-w",
             "-DNPY_NO_DEPRECATED_API=NPY_1_22_API_VERSION", "-fno-omit-frame-pointer"]  # fmt: skip
    instrument = ["-fsanitize=address,fuzzer-no-link"]
    objects = []
    for path in sorted((ROOT / "cext").rglob("*.c")):
        made = folder / path.relative_to(ROOT).with_suffix(".o")
        objects.append(made)
        headers = max(h.stat().st_mtime for h in (ROOT / "cext").rglob("*.h"))
        if made.exists() and made.stat().st_mtime > max(path.stat().st_mtime, headers):
            continue
        made.parent.mkdir(parents=True, exist_ok=True)
        run_command([clang, *flags, *instrument, "-c", path, "-o", made])
    name = package / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    # The program itself contains the sanitizer's functions.
    run_command([clang, "-shared", "-pthread", *objects, "-o", name, "-ldl"])
    library = sysconfig.get_config_var("LIBDIR")
    program = folder / "fuzz_python"
    run_command([clang, *flags[:3], f"-I{sysconfig.get_path('include')}", "-fsanitize=address,fuzzer",
          "-rdynamic", HERE / "embed.c", "-o", program, f"-L{library}", f"-Wl,-rpath,{library}",
          f"-lpython{sysconfig.get_config_var('LDVERSION')}", "-lm"])  # fmt: skip
    return program


def build_pure(clang, name):
    folder = build_folder()
    folder.mkdir(exist_ok=True)
    program = folder / f"fuzz_{name}"
    run_command([clang, "-std=gnu11", "-O1", "-g", "-Icext", "-Icuda_src", "-fsanitize=address,undefined,fuzzer",
          "-fno-sanitize-recover=undefined", HERE / f"{name}.c", *PURE[name], "-o", program])  # fmt: skip
    return program


def run_libfuzzer(name, given):
    clang = os.environ.get("CLANG", "clang")
    program = build_pure(clang, name) if name in PURE else build_extension(clang)
    corpus = given.keep / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    if name in PURE:
        seed_elf(corpus)
    options = "detect_leaks=0:use_sigaltstack=0:allocator_may_return_null=1:detect_stack_use_after_return=0"
    env = fuzz_environment(
        FUZZ_TARGET=name,
        FUZZ_HERE=str(HERE),
        PYTHONMALLOC="malloc",
        PYTHONHOME=sys.base_prefix,
        GLIBC_TUNABLES="glibc.rtld.optional_static_tls=65536",
        ASAN_OPTIONS=options + ":handle_segv=0:handle_sigfpe=0:handle_sigbus=0:handle_sigill=0",
    )
    env["PYTHONPATH"] = os.pathsep.join(
        [str(build_folder() / "lib"), *(p for p in sys.path if "site-packages" in p)]
    )
    limits = [
        f"-max_total_time={given.seconds}",
        f"-runs={given.inputs if given.inputs < 1 << 40 else -1}",
    ]
    command = [program, *limits, f"-seed={given.seed}", "-max_len=4096", f"-timeout={SLOW}", "-rss_limit_mb=4096",
               "-print_final_stats=1",
               f"-artifact_prefix={given.keep}/{name}-", corpus]  # fmt: skip
    return subprocess.run([str(part) for part in command], env=env, check=False).returncode == 0


def seed_elf(corpus):
    for path in (sys.executable, *(ROOT / "numbalite").glob("_core*.so")):
        (corpus / pathlib.Path(path).name).write_bytes(pathlib.Path(path).read_bytes()[:4096])


# ---- the command line ------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--inputs", type=int, default=1 << 62)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=("random", "libfuzzer"), default="random")
    parser.add_argument("--keep", type=pathlib.Path, default=build_folder() / "found")
    parser.add_argument("--again", type=pathlib.Path)
    parser.add_argument("--inside")
    given = parser.parse_args()
    if given.inside:
        return run_inputs(given.targets[0], given.seconds, given.inputs, given.seed, given.inside)
    sys.path[:0] = [str(HERE), str(ROOT)]
    os.environ.setdefault("NUMBALITE_DRIVER", "sim")
    import targets

    if given.again:
        targets.prepare_process()
        return targets.TARGETS[given.targets[0]](given.again.read_bytes())
    known = [*targets.TARGETS, *(PURE if given.engine == "libfuzzer" else ())]
    unknown = set(given.targets) - set(known)
    if unknown:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(known)}")
    runner = run_libfuzzer if given.engine == "libfuzzer" else run_random
    failed = [name for name in given.targets or known if not runner(name, given)]
    return f"findings: {', '.join(failed)}" if failed else None


if __name__ == "__main__":
    sys.exit(main())
