"""The whole engine at once, from several threads, under the sanitizers and with the portable switch."""

import os
import subprocess

import pytest
import sim_driver as sim

BUILDS = {
    "plain": ["-O2"],
    "ucontext": ["-O1", "-DNL_SIM_UCONTEXT"],
    "address": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-O1", "-fsanitize=thread"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_stress(build, tmp_path, name):
    program = tmp_path / "stress"
    flags = ["-std=gnu11", "-g", "-pthread", *BUILDS[name], *sim.INCLUDES]
    sources = [sim.HERE / "stress.c", *sim.SOURCES]
    command = [sim.c_compiler(), *flags, *map(str, sources), "-ldl", "-o", str(program)]
    if subprocess.run(command, capture_output=True).returncode:
        if name in ("address", "thread"):
            pytest.skip("the compiler has no such sanitizer")
        pytest.fail("does not compile")
    rounds = "10" if name == "thread" else "40"
    # What a library's own constructors keep (a C++ library linked into the image) is not the engine's.
    suppressions = tmp_path / "leaks"
    suppressions.write_text("leak:ld-linux\n")
    done = subprocess.run(
        [str(program), str(build[1]), "4", rounds],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0"},
    )
    report = [line for line in done.stderr.splitlines() if "Assertion" not in line]
    assert (done.returncode, report) == (0, ["done"]), done.stderr
