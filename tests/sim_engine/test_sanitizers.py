"""Runs the whole engine from several threads, under the sanitizers and with the portable context switch:
checked and unchecked launches of correct and faulty kernels."""

import os
import re
import subprocess

import pytest
import sim_driver as sim

from numbalite import config
from numbalite.compilers import Source, compile_source

BUILDS = {
    "plain": [],
    "ucontext": ["-O1", "-DNL_SIM_UCONTEXT"],
    "address": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-O1", "-fsanitize=thread"],
}


@pytest.fixture(scope="module")
def checked_images(tmp_path_factory):
    """Returns the files of two images of checked.cu: one plain, and one instrumented for all checks."""
    source = sim.HERE / "checked.cu"
    kernels = re.findall(r"__global__ void (\w+)", source.read_text())
    text = f'#line 1 "{source}"\n{source.read_text()}'
    unit = Source(text, kernels=tuple(kernels), describe=False)
    folder = tmp_path_factory.mktemp("checked")
    for name, checks in ("plain", ()), ("instrumented", config.check_names(config.ALL_CHECKS)):
        (folder / name).write_bytes(compile_source(unit, ("sim", *checks)).data)
    return [str(folder / "plain"), str(folder / "instrumented")]


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_engine_stress_program_passes_under_sanitizers(
    engine_build, checked_images, tmp_path, name
):
    program = tmp_path / "stress"
    flags = ["-std=gnu11", "-g", "-pthread", *BUILDS[name], *sim.INCLUDES]
    # Other tests use a library of the engine without sanitizers or special options.
    engine = [engine_build[0]] if name == "plain" else sim.SOURCES
    sources = [sim.HERE / "stress.c", *engine]
    command = [sim.c_compiler(), *flags, *map(str, sources), "-ldl", "-lm", "-o", str(program)]
    if subprocess.run(command, capture_output=True).returncode:
        if name in ("address", "thread"):
            pytest.skip("the compiler has no such sanitizer")
        pytest.fail("does not compile")
    rounds = "4" if name == "thread" else "12"
    # Suppresses two leaks: memory that constructors of a linked C++ library allocate,
    # and memory to which only worker threads have references, which the tool does not search.
    suppressions = tmp_path / "leaks"
    suppressions.write_text("leak:ld-linux\nleak:nl_mem_alloc_permanent\n")
    # Bytes of the shadow memory are set and read without a lock (cext/sim/engine/shadow.c),
    # because threads only mark memory as initialized.
    meant = tmp_path / "meant"
    meant.write_text("race:nl_sim_shadow_set\nrace:nl_sim_shadow_copy\nrace:is_written_word\n")
    done = subprocess.run(
        [str(program), str(engine_build[1]), "4", rounds, *checked_images],
        capture_output=True,
        text=True,
        timeout=200,
        env={
            **os.environ,
            # With glibc 2.36, the sanitizer computes a wrong size of
            # the thread-local memory of loaded images.
            "ASAN_OPTIONS": "intercept_tls_get_addr=0",
            "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0",
            "TSAN_OPTIONS": f"suppressions={meant}:print_suppressions=0",
        },
    )
    report = [line for line in done.stderr.splitlines() if "Assertion" not in line]
    assert (done.returncode, report) == (0, ["done"]), done.stderr
