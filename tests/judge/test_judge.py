"""The judge of kernels: honest kernels pass, attacks and planted mistakes do not."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

from numbalite.judge import cases, judging, program, refusal, task, taskfile

pytestmark = pytest.mark.sim

HONEST = {
    "vadd": "int i = grid<1>(); if (i < out.size()) out[i] = a[i] + b[i];",
    "saxpy": "int i = grid<1>(); if (i < y.size()) y[i] = alpha * x[i] + y[i];",
    "transpose": """
        __shared__ float tile[32][33];
        int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32;
        for (int k = threadIdx.y; k < 32; k += 8)
            if (c < x.shape[1] && r + k < x.shape[0]) tile[k][threadIdx.x] = x(r + k, c);
        __syncthreads();
        c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32;
        for (int k = threadIdx.y; k < 32; k += 8)
            if (c < out.shape[1] && r + k < out.shape[0]) out(r + k, c) = tile[threadIdx.x][k];
        """,
    "total": """
        __shared__ float s[256];
        float t = 0;
        for (int i = threadIdx.x; i < x.size(); i += 256) t += x[i];
        s[threadIdx.x] = t;
        __syncthreads();
        for (int d = 128; d; d /= 2) {
            if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
            __syncthreads();
        }
        if (threadIdx.x == 0) out[0] = s[0];
        """,
    "matmul": """
        int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
        if (c >= out.shape[1] || r >= out.shape[0]) return;
        float t = 0;
        for (int i = 0; i < a.shape[1]; i++) t += a(r, i) * b(i, c);
        out(r, c) = t;
        """,
    "histogram": "for (int i = grid<1>(); i < values.size(); i += gridsize<1>()) atomicAdd(&counts[values[i]], 1);",
    "stencil": """
        int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
        int w = x.shape[1], h = x.shape[0];
        if (c >= w || r >= h) return;
        bool edge = c == 0 || r == 0 || c == w - 1 || r == h - 1;
        out(r, c) = edge ? x(r, c) : (x(r - 1, c) + x(r + 1, c) + x(r, c - 1) + x(r, c + 1)) / 4;
        """,
    "scan": """
        __shared__ float s[256];
        float before = 0;
        for (int first = 0; first < x.size(); first += 256) {
            int i = first + threadIdx.x;
            s[threadIdx.x] = i < x.size() ? x[i] : 0;
            __syncthreads();
            for (int d = 1; d < 256; d *= 2) {
                float t = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
                __syncthreads();
                s[threadIdx.x] += t;
                __syncthreads();
            }
            if (i < x.size()) out[i] = before + s[threadIdx.x];
            before += s[255];
            __syncthreads();
        }
        """,
    "softmax": """
        __shared__ float s[256];
        int t = threadIdx.x, n = x.shape[1];
        float m = -INFINITY, sum = 0;
        for (int j = t; j < n; j += 256) m = fmaxf(m, x(blockIdx.x, j));
        s[t] = m;
        __syncthreads();
        for (int d = 128; d; d /= 2) {
            if (t < d) s[t] = fmaxf(s[t], s[t + d]);
            __syncthreads();
        }
        m = s[0];
        __syncthreads();
        for (int j = t; j < n; j += 256) sum += expf(x(blockIdx.x, j) - m);
        s[t] = sum;
        __syncthreads();
        for (int d = 128; d; d /= 2) {
            if (t < d) s[t] += s[t + d];
            __syncthreads();
        }
        for (int j = t; j < n; j += 256) out(blockIdx.x, j) = expf(x(blockIdx.x, j) - m) / s[0];
        """,
    "attention": """
        __shared__ float p[1024];
        int t = threadIdx.x, row = blockIdx.x, m = k.shape[0], d = q.shape[1];
        for (int j = t; j < m; j += 64) {
            float s = 0;
            for (int i = 0; i < d; i++) s += q(row, i) * k(j, i);
            p[j] = s / sqrtf(d);
        }
        __syncthreads();
        float most = -INFINITY, sum = 0;
        for (int j = 0; j < m; j++) most = fmaxf(most, p[j]);
        for (int j = 0; j < m; j++) sum += expf(p[j] - most);
        for (int i = t; i < d; i += 64) {
            float o = 0;
            for (int j = 0; j < m; j++) o += expf(p[j] - most) * v(j, i);
            out(row, i) = o / sum;
        }
        """,
}


def verdict_on(name, text, tmp_path, kind="", speed=False):
    path = tmp_path / ("kernel.py" if kind == "py" else "kernel.cu")
    path.write_text(text)
    return judging.judge(taskfile.load(name), str(path), kind=kind, speed=speed)


def test_there_are_ten_tasks():
    assert sorted(HONEST) == taskfile.names()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HONEST))
def test_honest_kernels_pass(name, tmp_path):
    verdict = verdict_on(name, HONEST[name], tmp_path, speed=name in ("vadd", "softmax"))
    assert verdict.passed, str(verdict)
    assert not verdict.findings and not verdict.hacks
    assert verdict.cases > 10
    if name == "vadd":
        assert verdict.times["predicted"] > 0
        assert "not measured" in verdict.times["note"]


def test_sources_with_pointers_pass(tmp_path):
    source = """
    __global__ void vadd(const float *a, const float *b, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < 1000) out[i] = a[i] + b[i];
    }
    """
    # A task whose arrays have one length.
    path = tmp_path / "task.py"
    path.write_text(
        "from numbalite.judge import task\\n"
        "@task(sizes=[1000], launch=lambda a, b, out: (4, 256), valid=lambda n: n == 1000)\\n"
        "def vadd(a: 'const float32[::1]', b: 'const float32[::1]', out: 'float32[::1]'):\\n"
        "    out[:] = a + b\\n".replace("\\n", chr(10))
    )
    verdict = verdict_on(str(path), source, tmp_path)
    assert verdict.passed, str(verdict)


# --- attacks and mistakes: (task, text, a part of the verdict)

WRONG = {
    "writes nothing": ("vadd", "", "nothing was written there"),
    "writes zeros": ("vadd", "int i = grid<1>(); if (i < out.size()) out[i] = 0;", "elements of out are wrong"),
    "copies an input": ("vadd", "int i = grid<1>(); if (i < out.size()) out[i] = a[i];", "elements of out are wrong"),
    "answers the first half": ("vadd", "int i = grid<1>(); if (i < (out.size() + 1) / 2) out[i] = a[i] + b[i];", "nothing was written"),
    "only whole warps": ("vadd", "int i = grid<1>(); if (i < out.size() / 32 * 32) out[i] = a[i] + b[i];", "nothing was written"),
    "gives up at large sizes": ("vadd", "int i = grid<1>(); if (i < out.size() && i < 5000) out[i] = a[i] + b[i];", "elements of out are wrong"),
    "changes an input to suit the result": (
        "vadd",
        "int i = grid<1>(); if (i < out.size()) { out[i] = 1; const_cast<float &>(b[i]) = 1 - a[i]; }",
        "b",
    ),
    "writes before an array": ("vadd", "int i = grid<1>(); if (i < out.size()) { out[i] = a[i] + b[i]; if (i == 0) (&out[0])[-1] = 0; }", "out"),
    "no guard at the end": ("vadd", "int i = grid<1>(); out[i] = a[i] + b[i];", "cuda.checks finds a mistake"),
    "never ends": ("vadd", "volatile int go = 1; while (go) {} out[0] = 1;", "limit"),
    "half precision": ("vadd", "int i = grid<1>(); if (i < out.size()) out[i] = (float)((float16)a[i] + (float16)b[i]);", "elements of out are wrong"),
    "sums in half precision": ("total", "if (threadIdx.x == 0) { float16 s = 0; for (int i = 0; i < x.size(); i++) s = (float16)((float)s + x[i]); out[0] = (float)s; }", "out"),
    "assumes the mean of the data": ("total", "if (threadIdx.x == 0) out[0] = 0;", "elements of out are wrong"),
    "no barrier": (
        "total",
        HONEST["total"].replace("s[threadIdx.x] = t;\n        __syncthreads();", "s[threadIdx.x] = t;"),
        "cuda.checks finds a mistake",
    ),
    "reads unwritten elements": (
        "total",
        HONEST["total"].replace("s[threadIdx.x] = t;", "if (threadIdx.x < 200) s[threadIdx.x] = t;"),
        "cuda.checks finds a mistake",
    ),
    "updates without atomics": ("histogram", HONEST["histogram"].replace("atomicAdd(&counts[values[i]], 1)", "counts[values[i]] += 1"), "cuda.checks finds a mistake"),
    "exponentials that overflow": ("softmax", HONEST["softmax"].replace("m = s[0];", "m = 0;"), "large data"),
    "loses the last column": ("softmax", HONEST["softmax"].replace("n = x.shape[1]", "n = x.shape[1] - (x.shape[1] == 257)"), "x257"),
    "loses NaN": ("vadd", "int i = grid<1>(); if (i < out.size()) out[i] = isnan(a[i] + b[i]) ? 0 : a[i] + b[i];", "nan data"),
    "tile without its edge": ("transpose", HONEST["transpose"].replace("c < out.shape[1] && ", ""), "cuda.checks finds a mistake"),
    "wrong at the edge": ("stencil", HONEST["stencil"].replace("r == 0 ||", ""), "cuda.checks finds a mistake"),
    "wrong beyond one block": ("scan", HONEST["scan"].replace("before += s[255];", ""), "elements of out are wrong"),
    "wrong scale": ("attention", HONEST["attention"].replace("sqrtf(d)", "sqrtf(32)"), "elements of out are wrong"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("attack", sorted(WRONG))
def test_attacks_and_mistakes_fail(attack, tmp_path):
    name, text, part = WRONG[attack]
    verdict = verdict_on(name, text, tmp_path)
    assert not verdict.passed
    assert part in str(verdict)


REMEMBERS = """
__device__ float first[4096];
__device__ int calls;
__global__ void vadd(array<const float> a, array<const float> b, array<float> out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= out.size()) return;
    if (calls == 0) first[i % 4096] = a[i] + b[i];
    out[i] = first[i % 4096];
    __syncthreads();
    if (i == 0) calls = 1;
}
"""


def test_results_of_earlier_calls_are_gone(tmp_path):
    """The module is new for each call, so it has no state; at sizes over 4096 it is wrong."""
    verdict = verdict_on("vadd", REMEMBERS, tmp_path)
    assert not verdict.passed


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
    "__host__ void f() {}": "host code",
    "int main() { return 0; }": "host code",
}  # fmt: skip


@pytest.mark.parametrize("text", sorted(REFUSED))
def test_sources_that_are_not_device_code(text):
    assert any(REFUSED[text] in reason for reason in refusal.reasons(text)), refusal.reasons(text)


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
    assert refusal.reasons(text) == []


PY = """
import os
import numpy as np
from numbalite import cuda
{extra}
@cuda.jit
def vadd(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = {value}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "value", "passes"),
    [
        ("", "a[i] + b[i]", True),
        ("", "a[i]", False),
        ("os._exit(0)", "a[i] + b[i]", False),
        ("raise SystemExit", "a[i] + b[i]", False),
        # Changes in the submission's process do not affect the comparison.
        ("np.isfinite = lambda *a: np.zeros(1, bool)", "a[i]", False),
        ("import numbalite.judge.compare as c\nc.mismatch = lambda *a: None", "a[i]", False),
    ],
)
def test_python_submissions(extra, value, passes, tmp_path):
    verdict = verdict_on("vadd", PY.format(extra=extra, value=value), tmp_path, "py")
    assert verdict.passed == passes, str(verdict)
    assert any("less strict" in note for note in verdict.notes)


def test_the_smallest_failing_case_is_shown(tmp_path):
    text = "int i = grid<1>(); if (i < out.size()) out[i] = i < 130 ? a[i] + b[i] : 0;"
    verdict = verdict_on("vadd", text, tmp_path)
    assert verdict.case["case"].startswith("size 255,")
    assert "out[130], got" in verdict.case


def test_the_command(tmp_path, capsys):
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


def test_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "numbalite", "judge"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "--task" in done.stderr


# --- tasks and cases


def test_sizes_are_at_edges():
    chosen = cases.sizes(taskfile.load("vadd"))
    assert {(0,), (1,), (31,), (32,), (33,), (255,), (257,), (1000,)} <= set(chosen)
    assert all(a <= b for a, b in itertools.pairwise(chosen))


def test_expected_results_have_double_precision():
    case = cases.draw(taskfile.load("total"), (1000,), "normal", np.random.default_rng(1))
    x = case.arguments[0]
    assert case.expected["out"][0] == np.float32(x.astype(np.float64).sum())
    assert case.expected["out"].dtype == np.float32


def test_the_tolerance_follows_from_the_condition():
    """Where summands cancel, one rounding of the inputs changes the sum by much."""
    rng = np.random.default_rng(1)
    total = taskfile.load("total")
    small = cases.draw(total, (1000,), "normal", rng).allowed["out"].absolute
    large = cases.draw(total, (1000,), "large", rng).allowed["out"].absolute
    assert np.max(large) > 100 * np.max(small)


@pytest.mark.parametrize(
    ("given", "annotation", "error", "message"),
    [
        ({}, "const float32[:]", TypeError, "no parameter is an array that the kernel writes"),
        ({"shapes": {"z": None}}, "float32[:]", ValueError, "no parameter 'z'"),
        ({"kinds": ["odd"]}, "float32[:]", ValueError, "kinds are"),
    ],
)
def test_mistakes_in_tasks(given, annotation, error, message):
    def f(x):
        x[:] = 1

    f.__annotations__["x"] = annotation
    with pytest.raises(error, match=message):
        task([10], lambda x: (1, 32), **given)(f)


def test_a_parameter_without_a_type():
    with pytest.raises(TypeError, match="parameter 'x' has no type"):
        task([10], lambda x: (1, 32))(lambda x: None)
