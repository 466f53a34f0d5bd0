"""Tests the thread pool of the parallel target alone, under the sanitizers."""

import os
import shutil
import subprocess

import pytest

BUILDS = {
    "plain": ["-O2"],
    "address": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-O1", "-fsanitize=thread"],
}


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_host_loop_stress_program_passes(checkout_root, tmp_path, name):
    compiler = next((c for c in ("gcc", "cc", "clang") if shutil.which(c)), None)
    if compiler is None:
        pytest.skip("no C compiler")
    cext, program = checkout_root / "cext", tmp_path / "stress"
    # Under `make sanitize` another sanitizer is preloaded, with which these programs cannot run.
    alone = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    sources = [
        checkout_root / "tests" / "threads" / "hostloop_stress.c",
        *(cext / "core" / f"{noun}.c" for noun in ("hostloop", "hostrandom")),
    ]
    sources += sorted((cext / "base").glob("*.c"))
    flags = [
        "-std=gnu11",
        "-g",
        "-pthread",
        *BUILDS[name],
        f"-I{cext}",
        f"-I{checkout_root / 'cuda_src'}",
    ]
    command = [compiler, *flags, *map(str, sources), "-ldl", "-o", str(program)]
    if subprocess.run(command, capture_output=True, env=alone).returncode:
        if name == "plain":
            pytest.fail("does not compile")
        pytest.skip("the compiler has no such sanitizer")
    arguments = [] if name == "thread" else ["fork"]  # ThreadSanitizer does not support fork
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=200, env=alone
    )
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr
