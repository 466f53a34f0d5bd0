"""The judge of kernels: honest kernels pass, attacks and planted mistakes do not."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from judge.attacks import (
    ATTACKS,
    PUBLIC,
    PYTHON_ATTACKS,
    RETURNED,
    TIMED,
    cuda_answer,
    python_answer,
)
from judge.corpus import (
    BOUNDARY,
    HONEST,
    PRECISION,
    TASKS,
    WRONG,
    judge_submission,
    submission_text,
    task_of_pair,
)
from judge.twins import TWINS

from numbalite import cuda
from numbalite.compilers import host
from numbalite.judge import (
    cases,
    isolation,
    judging,
    process,
    program,
    refusal,
    runner,
    task,
    taskfile,
)
from numbalite.judge.verdict import printable_text

pytestmark = pytest.mark.sim


WAVE = """
import numpy as np
from numbalite.judge import task

@task(sizes=[100], launch=lambda x, out: (-(-x.size // 32), 32), kinds=["normal"], shapes={"out": lambda n: (n, 2)})
def wave(x: "const float32[::1]", out: "float32[:, ::1]"):
    out[:, 0], out[:, 1] = np.sin(x), np.cos(x)
"""
WAVE_KERNEL = """
int i = grid<1>();
float p[64], q[64];
for (int k = 0; k < 64; k++) p[k] = 0;
for (int k = 0; k < 64; k++) q[k] = p[k];
if (i < x.size()) out(i, 0) = sinf(x[i]) + q[i % 64], out(i, 1) = cosf(x[i]);
"""


def test_every_task_has_an_honest_kernel():
    assert sorted(HONEST) == taskfile.task_names()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HONEST))
def test_honest_kernels_pass(name, tmp_path):
    verdict = judge_submission(name, HONEST[name], tmp_path)
    assert verdict.passed, str(verdict)
    assert not verdict.findings and not verdict.hacks
    assert verdict.cases > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_corrected_kernels_of_other_tests_pass(name, tmp_path):
    pair = TASKS[name]
    verdict = judge_submission(task_of_pair(pair), submission_text(pair), tmp_path)
    assert verdict.passed, str(verdict)


def test_kernel_corpora_are_large():
    assert len(HONEST) + len(TASKS) >= 200
    assert len(ATTACKS) + len(PYTHON_ATTACKS) >= 50
    assert len({*PRECISION, *BOUNDARY} & set(WRONG)) >= 10


def test_every_attack_has_an_honest_twin():
    titles = [*WRONG, *ATTACKS, *PYTHON_ATTACKS]
    assert sorted(titles) == sorted(TWINS)


def test_public_kinds_of_attacks_have_an_attack():
    assert len(PUBLIC["pygpubench"]) == 22
    for kinds in PUBLIC.values():
        assert set(kinds.values()) <= {*ATTACKS, *PYTHON_ATTACKS}


@pytest.mark.slow
@pytest.mark.parametrize("attack", sorted(TWINS))
def test_honest_twins_of_attacks_pass(attack, tmp_path):
    name, text, kind = TWINS[attack]
    verdict = judge_submission(name, text, tmp_path, kind, speed=attack in TIMED)
    assert verdict.passed, str(verdict)


def test_source_filter_accepts_honest_kernels():
    for pair in TASKS.values():
        assert refusal.refusal_reasons(submission_text(pair)) == [], pair.name


def test_sources_with_pointers_pass(tmp_path):
    source = """
    __global__ void vadd(const float *a, const float *b, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < 1000) out[i] = a[i] + b[i];
    }
    """
    # Defines a task whose arrays have one length.
    path = tmp_path / "task.py"
    path.write_text(
        "from numbalite.judge import task\\n"
        "@task(sizes=[1000], launch=lambda a, b, out: (4, 256), valid=lambda n: n == 1000)\\n"
        "def vadd(a: 'const float32[::1]', b: 'const float32[::1]', out: 'float32[::1]'):\\n"
        "    out[:] = a + b\\n".replace("\\n", chr(10))
    )
    verdict = judge_submission(str(path), source, tmp_path)
    assert verdict.passed, str(verdict)


# --- attacks and mistakes


@pytest.mark.slow
@pytest.mark.parametrize("mistake", sorted(WRONG))
def test_kernels_with_mistakes_fail(mistake, tmp_path):
    name, text, part = WRONG[mistake]
    verdict = judge_submission(name, text, tmp_path)
    assert not verdict.passed
    assert part in str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_attacking_kernels_fail(attack, tmp_path):
    text, part = ATTACKS[attack]
    verdict = judge_submission("vadd", text, tmp_path)
    assert not verdict.passed
    assert part in str(verdict)
    assert not list(tmp_path.glob("owned"))


@pytest.mark.slow
@pytest.mark.parametrize("attack", sorted(PYTHON_ATTACKS))
def test_attacking_python_code_fails(attack, tmp_path):
    text, part = PYTHON_ATTACKS[attack]
    if part == "PermissionError" and isolation.landlock_version() < 1:
        pytest.skip("without Landlock, this attack would change other files")
    verdict = judge_submission("vadd", text, tmp_path, "py", speed=attack in TIMED)
    assert not verdict.passed
    assert part in str(verdict)
    assert any("less strict" in note for note in verdict.notes)


@pytest.mark.parametrize(
    ("limit", "value", "extra", "part"),
    [
        ("_PATIENCE", 5, "os.write(int(sys.argv[1]), b'\\0\\0\\1\\0{')\ntime.sleep(1000)", "was ended"),
        ("MEMORY_LIMIT", 700 << 20, "x = np.ones(1 << 27)\ntime.sleep(1000)", "GiB of memory"),
    ],
)  # fmt: skip
def test_limits_end_a_submission(limit, value, extra, part, tmp_path, monkeypatch):
    """An incomplete message of a submission, or its use of too much memory, ends the submission with the
    reason."""
    monkeypatch.setattr(judging if limit == "_PATIENCE" else process, limit, value)
    verdict = judge_submission("vadd", python_answer(extra), tmp_path, "py")
    assert not verdict.passed and part in str(verdict), str(verdict)


@pytest.mark.slow
def test_functions_that_compilers_call_are_accepted(tmp_path, monkeypatch):
    """Compilers call sincosf in place of sinf and cosf, and memset and memcpy in place of loops. The defaults of
    some distributions add calls that check the stack and the sizes of buffers."""
    defaults = "-fstack-protector-all -D_FORTIFY_SOURCE=2"
    monkeypatch.setenv("NUMBALITE_CXX", f"{' '.join(host.find_compiler().command)} {defaults}")
    path = tmp_path / "task.py"
    path.write_text(WAVE)
    verdict = judge_submission(str(path), WAVE_KERNEL, tmp_path)
    assert verdict.passed, str(verdict)


def test_harmless_variants_of_attacks_pass(tmp_path):
    """Without the attacks around a kernel, the judge accepts the kernel."""
    verdict = judge_submission("vadd", cuda_answer("#define BLOCK 256"), tmp_path, speed=True)
    assert verdict.passed, str(verdict)
    assert verdict.times["predicted"] > 0
    assert "not measured" in verdict.times["note"]
    assert judge_submission("vadd", python_answer(value="a[i] + b[i]"), tmp_path, "py").passed


REFUSED = {
    "#include <cstdlib>": "only headers",
    "#include <unistd.h>": "only headers",
    '#include "/etc/passwd"': "only headers",
    "out[0] = system(\"id\");": "system() is a function of the host",
    "fopen(\"/tmp/x\", \"w\");": "fopen() is a function of the host",
    "::socket(2, 1, 0);": "socket() is a function of the host",
    "__asm__(\"syscall\");": "assembly of the host",
    "k<<<1, 1>>>(out);": "launch nothing",
    "__attribute__((constructor)) static void f() {}": "attributes of the host",
    'extern "C" long write_(int, const void *, unsigned long); __global__ void k(float *x) {}': 'extern "C"',
    "nl_sim_write_field(out);": "name of the simulator",
    "numbalite_sim::thread();": "name of the simulator",
    "#line 1 \"other.cu\"": "#line hides",
    "#pragma GCC poison float": "pragma for the host",
    '_Pragma("GCC poison float")': "pragma for the host",
    "#define RUN system(": "system() is a function of the host",
    '#define HOST extern "C"': 'extern "C"',
    "__host__ void f() {}": "host code",
    "int main() { return 0; }": "host code",
}  # fmt: skip


@pytest.mark.parametrize("text", sorted(REFUSED))
def test_host_code_in_sources_is_rejected(text):
    assert any(REFUSED[text] in reason for reason in refusal.refusal_reasons(text)), (
        refusal.refusal_reasons(text)
    )


@pytest.mark.parametrize(
    "text",
    [
        *HONEST.values(),
        "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n__global__ void k(float *x) {}",
        'extern "C" __global__ void k(float *x) { extern __shared__ float s[]; }',
        "__device__ float read(float *x) { return *x; } __global__ void k(float *x) { *x = read(x); }",
        '__global__ void k(unsigned *x) { asm volatile("mov.u32 %0, %%laneid;" : "=r"(*x)); }',
        "struct S { float close(int i) { return i; } }; __global__ void k(float *x) { S s; *x = s.close(1); }",
    ],
)
def test_device_code_is_accepted(text):
    assert refusal.refusal_reasons(text) == []


def test_the_smallest_failing_case_is_shown(tmp_path):
    text = "int i = grid<1>(); if (i < out.size()) out[i] = i < 130 ? a[i] + b[i] : 0;"
    verdict = judge_submission("vadd", text, tmp_path)
    size = int(verdict.case["case"].removeprefix("size ").partition(",")[0])
    assert 131 <= size <= 255  # a random size may be smaller than 255
    assert "out[130], got" in verdict.case


def test_judge_command_prints_json(tmp_path, capsys):
    path = tmp_path / "kernel.cu"
    path.write_text(HONEST["vadd"])
    assert program.main([str(path), "--task", "vadd", "--no-speed", "--json", "-"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["correct"] and shown["task"] == "vadd" and shown["cases"] > 10
    path.write_text("out[0] = 1;")
    assert program.main([str(path), "--task", "vadd", "--json", str(tmp_path / "v.json")]) == 1
    assert not json.loads((tmp_path / "v.json").read_text())["correct"]
    assert "not correct" in capsys.readouterr().out
    assert program.main([]) == 2
    assert program.main([str(path), "--task", "nothing"]) == 2
    assert program.main([str(tmp_path / "none.cu"), "--task", "vadd"]) == 2
    (tmp_path / "k.py").write_text("")
    assert program.main([str(tmp_path / "k.py"), "--task", "vadd"]) == 2
    assert "less strict" in capsys.readouterr().err


def test_judge_command_without_a_task_prints_usage():
    done = subprocess.run(
        [sys.executable, "-m", "numbalite", "judge"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "--task" in done.stderr


# --- tasks and cases


def test_case_sizes_include_block_edges():
    chosen = cases.sizes(taskfile.load_task("vadd"))
    assert {(0,), (1,), (31,), (32,), (33,), (255,), (257,), (1000,)} <= set(chosen)
    assert all(a <= b for a, b in itertools.pairwise(chosen))


def test_random_sizes_have_all_remainders():
    """The sizes differ from judge to judge, and do not exceed what the task accepts."""
    task = taskfile.load_task("vadd")
    one, two = (cases.random_sizes(task, np.random.default_rng(seed)) for seed in (1, 2))
    assert one != two and len(one) >= 20
    assert {n % 8 for (n,) in one} == set(range(8))
    scan = taskfile.load_task("scan")
    assert all(n <= 4096 for (n,) in cases.random_sizes(scan, np.random.default_rng(3)))
    fixed = taskfile.Task(task.function, sizes=[5], launch=task.launch, valid=lambda n: n == 5)
    assert cases.random_sizes(fixed, np.random.default_rng(4)) == [(5,)]


def test_checks_begin_with_a_small_a_medium_and_a_large_size():
    task = taskfile.load_task("vadd")
    chosen = judging._checked_sizes(task, np.random.default_rng(1))
    assert chosen[:3] == sorted(chosen[:3]) and chosen[2] == max(chosen)
    assert {s for s in cases.sizes(task) if 0 < s[0] <= 1 << 14} <= set(chosen)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n\tb", "a\n\tb"),
        ("\x1b[2Jx.cu: correct\r\x9b", r"\x1b[2Jx.cu: correct\r\x9b"),
        ("a\u2028b\u202ec", r"a\u2028b\u202ec"),
        ("x" * 5000, "x" * 2000 + "... (3,000 more characters)"),
    ],
)
def test_verdicts_show_control_characters_as_escapes(text, shown):
    """A submission's messages must not change how a terminal or notebook shows the verdict."""
    assert printable_text(text) == shown
    shown_verdict = judging.Verdict("vadd", "x.cu")
    shown_verdict.reason = shown_verdict.case = text
    shown_verdict.notes = shown_verdict.warnings = (text,)
    assert not set("\x1b\r\x9b\u2028\u202e") & set(str(shown_verdict) + shown_verdict._repr_html_())
    assert len(str(shown_verdict)) < 9000


REMEMBERS_ELEMENTS = """
__device__ float results[4096];
__device__ int known[4096];
__global__ void vadd(array<const float> a, array<const float> b, array<float> out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= out.size()) return;
    if (!known[i]) results[i] = a[i] + b[i];
    known[i] = 1;
    out[i] = results[i];
}
"""


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        (REMEMBERS_ELEMENTS, False),
        (REMEMBERS_ELEMENTS.replace("if (!known[i])", "if (known[i] < 2)"), True),
        (REMEMBERS_ELEMENTS.replace("known[i] = 1;", "known[i]++;").replace("(!known[i])", "(known[i] == 40)"), False),
    ],
)  # fmt: skip
def test_timed_launches_of_a_gpu_cannot_use_earlier_results(text, passes):
    """The code that measures on a GPU runs on the simulator."""
    task, rng = taskfile.load_task("vadd"), np.random.default_rng(1)
    submission = {
        "kind": "source", "text": text, "path": "x.cu", "name": task.name,
        "parameters": [p.name for p in task.parameters], "signature": task.signature,
    }  # fmt: skip
    with judging.SubmissionProcess(submission, simulated=True) as runner:
        runner.simulated = False
        case = cases.draw_case(task, (1000,), "normal", rng)
        times, returned = runner.time_case(task, case, None, rng)
        assert times.keys() == {"cold_ms", "warm_ms"}
        if passes:
            judging._compare_results(task, case, returned)
        else:
            with pytest.raises(judging.Failed, match="elements of out are wrong"):
                judging._compare_results(task, case, returned)


STATIC_BODY = "static __device__ int known[4096]; int i = grid<1>(); if (i < out.size()) { out[i] = known[i]; known[i] = 7; }"


@pytest.mark.parametrize(("kind", "text"), [("source", REMEMBERS_ELEMENTS), ("body", STATIC_BODY)])
def test_modules_of_submissions_are_loaded_again(kind, text):
    task = taskfile.load_task("vadd")
    submission = runner.Submission({
        "kind": kind, "text": text, "path": "x.cu", "name": task.name,
        "parameters": [p.name for p in task.parameters], "signature": task.signature,
    })  # fmt: skip

    def results(new):
        found = set()
        for value in range(1, 20):
            a, out = cuda.to_device(np.full(8, value, np.float32)), cuda.device_array(8, np.float32)
            kernel = submission.kernel(new=new)
            kernel[1, 8](a, a, out)
            found.add(float(out.copy_to_host()[0]))
        return found

    of_new = {2.0 * value for value in range(1, 20)} if kind == "source" else {0.0}
    assert results(True) == of_new
    assert results(False) != of_new


def test_kernels_that_remember_results_fail(tmp_path):
    """Some launches use the module of an earlier launch, as programs do."""
    verdict = judge_submission("vadd", REMEMBERS_ELEMENTS.replace("4096", "1 << 21"), tmp_path)
    assert not verdict.passed and RETURNED in str(verdict)
    assert "checks" not in verdict.reason


def test_long_last_lines_of_a_submission_are_shortened(tmp_path):
    text = python_answer("sys.stderr.write('x' * 10_000_000)\nsys.stderr.flush()\nos._exit(1)")
    verdict = judge_submission("vadd", text, tmp_path, "py")
    assert "with the exit status 1: xxx" in verdict.reason
    assert len(verdict.reason) < 5000


def test_expected_results_have_double_precision():
    case = cases.draw_case(taskfile.load_task("total"), (1000,), "normal", np.random.default_rng(1))
    x = case.arguments[0]
    assert case.expected["out"][0] == np.float32(x.astype(np.float64).sum())
    assert case.expected["out"].dtype == np.float32


def test_tolerance_follows_from_the_condition_number():
    """If summands cancel, one rounding of the inputs changes the sum considerably."""
    rng = np.random.default_rng(1)
    total = taskfile.load_task("total")
    small = cases.draw_case(total, (1000,), "normal", rng).allowed["out"].absolute
    large = cases.draw_case(total, (1000,), "large", rng).allowed["out"].absolute
    assert np.max(large) > 100 * np.max(small)


@pytest.mark.parametrize(
    ("given", "annotation", "error", "message"),
    [
        ({}, "const float32[:]", TypeError, "no parameter is an array that the kernel writes"),
        ({"shapes": {"z": None}}, "float32[:]", ValueError, "no parameter 'z'"),
        ({"kinds": ["odd"]}, "float32[:]", ValueError, "kinds are"),
    ],
)
def test_invalid_task_definitions_raise(given, annotation, error, message):
    def assign_one(x):
        x[:] = 1

    assign_one.__annotations__["x"] = annotation
    with pytest.raises(error, match=message):
        task([10], lambda x: (1, 32), **given)(assign_one)


def test_task_parameter_without_a_type_raises():
    with pytest.raises(TypeError, match="parameter 'x' has no type"):
        task([10], lambda x: (1, 32))(lambda x: None)
