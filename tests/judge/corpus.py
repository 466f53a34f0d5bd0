"""Submissions that the judge must accept, and attacks and mistakes that it must reject.

The honest kernels are one kernel for each task of numbalite, and the correct kernels of
tests/pairs, each with its own task. `PYTHONPATH=.:tests python tests/judge/corpus.py` judges all submissions;
the tests judge a sample.
"""

import inspect
import pathlib
import re
import sys
import tempfile

import numpy as np
from pairs.themes import PAIRS

from numbalite.judge import judging, taskfile

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


# --- the corrected kernels of tests/pairs


def _arguments_of_corrected(pair):
    """Returns the arguments of the corrected kernel."""
    return {k: pair.right.get(k, v) for k, v in pair.parameters.items()}


def is_task(pair):
    """Returns whether NumPy computes the kernel's results, from arrays and numbers alone."""
    plain = all(
        isinstance(v, (int, float, np.generic))
        or (isinstance(v, np.ndarray) and v.dtype.kind in "fciub")
        for v in _arguments_of_corrected(pair).values()
    )
    return plain and not pair.is_alone and "options" not in pair.right and not pair.key


def text_of(pair, right=True):
    """Returns the text of a submission, with its constants and without #line."""
    return pair.constant_lines() + pair.source(right).partition("\n")[2]


def task_of(pair):
    """Returns a task whose only case has the pair's arguments."""
    given = _arguments_of_corrected(pair)
    launch = {**pair.launch, **{k: v for k, v in pair.right.items() if k in pair.launch}}
    after = pair.run(True)
    names = list(given)

    def function(*arguments):
        known = dict(zip(names, arguments, strict=True))
        wanted = pair.expect(
            *(np.copy(known[name]) for name in inspect.signature(pair.expect).parameters)
        )
        if not isinstance(wanted, dict):
            wanted = {[n for n in names if isinstance(given[n], np.ndarray)][-1]: wanted}
        for name in written:
            known[name][...] = wanted.get(name, after[name])

    written = [
        name
        for name, value in given.items()
        if isinstance(value, np.ndarray)
        and (after[name].tobytes() != value.tobytes() or _is_parameter_written(text_of(pair), name))
    ]
    function.__name__ = pair.name
    function.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    function.__annotations__ = {
        name: _type(value, name in written) for name, value in given.items()
    }
    return taskfile.task(
        sizes=[1],
        valid=lambda n: n == 1,
        kinds=["normal"],
        launch=lambda *arguments: (launch["grid"], launch["block"], launch.get("shared", 0)),
        values={name: lambda rng, n, value=value: value for name, value in given.items()},
        inout=written,
    )(function)


def _is_parameter_written(text, name):
    """Returns whether a text assigns to elements of an array, or takes their address."""
    return re.search(rf"&{name}\b|\b{name}\[[^]]*\]\s*([-+*/|&^]?=[^=]|\+\+|--)", text)


def _type(value, is_written):
    if not isinstance(value, np.ndarray):
        return np.result_type(value).name
    axes = ", ".join([":"] * (value.ndim - 1) + ["::1"])
    return f"{'' if is_written else 'const '}{value.dtype.name}[{axes}]"


TASKS = {name: pair for name, pair in PAIRS.items() if is_task(pair)}

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

PY = """
import gc, json, os, sys, threading, time
import numpy as np
from numbalite import cuda
{extra}
@cuda.jit
def vadd(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = {value}
"""


def python(extra="", value="a[i]"):
    """Returns a Python file that computes ``value``."""
    return PY.format(extra=extra, value=value)


def source(before="", inside="", value="a[i] + b[i]"):
    """Returns a source with a correct kernel, with a text before the kernel and a text that one thread
    runs."""
    return f"""
{before}
__global__ void vadd(array<const float> a, array<const float> b, array<float> out) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) {{ {inside} }}
    if (i < out.size()) out[i] = {value};
}}
"""


REFUSED_FILE = "The file is not only device code."
CHECKED = "cuda.checks finds a mistake"
RETURNED = "elements of out are wrong"

# Publicly known attacks on judges, as kernel files: dict from a title to (text of the file, a part of the
# expected verdict).
ATTACKS = {
    # attacks that search the judge's results in memory, or change them
    "searches the memory around the arrays": (source(inside="const float *p = &a[0]; for (int k = 1; k < 5000; k++) if (p[-k] == a[0] + b[0]) out[0] = p[-k];"), CHECKED),
    "reads behind the output": (source(value="(&out[0])[out.size() + i]"), CHECKED),
    "clears a counter by its address": (source(inside="*(volatile int *)0x10000 = 0;"), CHECKED),
    "poisons with NaN, which equals nothing": (source(value="NAN"), RETURNED),
    "leaves what was there": (source(value="out[i]"), "nothing was written there"),
    # functions of the host
    "runs a program": (source(inside='system("touch owned");'), REFUSED_FILE),
    "runs a program through a macro": (source("#define RUN system", 'RUN("touch owned");'), "not correct"),
    "declares a host function in a macro": (source('#define HOST extern "C"\nHOST int system(const char *);'), REFUSED_FILE),
    "pastes a declaration together": (source("#define TEXT(x) #x\n#define JOIN(a, b) a##b\nJOIN(ext, ern) TEXT(C) int JOIN(sys, tem)(const char *);", 'JOIN(sys, tem)("touch owned");'), REFUSED_FILE),
    "calls Python": (source("#define JOIN(a, b) a##b\nJOIN(ext, ern) \"C\" int PyRun_SimpleString(const char *);", 'PyRun_SimpleString("import os");'), "not correct"),
    "renames a function to one of the host": (source('int run(const char *) asm("system");', 'run("touch owned");'), "not correct"),
    "writes into the judge's pipe": (source(inside='write(3, "passed", 6);'), REFUSED_FILE),
    "opens a result file": (source(inside='fopen("/tmp/result", "w");'), REFUSED_FILE),
    "writes to /proc/self/mem": (source(inside='int f = open("/proc/self/mem", 2); pwrite(f, &f, 4, 0);'), REFUSED_FILE),
    "traces its parent": (source(inside="ptrace(16, 1, 0, 0);"), REFUSED_FILE),
    "replaces a function in memory": (source(inside="mprotect((void *)4096, 4096, 7);"), REFUSED_FILE),
    "makes a system call": (source(inside='__asm__ volatile("syscall");'), REFUSED_FILE),
    "makes a system call in a macro": (source("#define CALL __asm__", 'CALL volatile("syscall");'), REFUSED_FILE),
    "filters system calls": (source(inside="prctl(22, 2, 0, 0, 0);"), REFUSED_FILE),
    "handles signals": (source("void f(int) {}", "signal(11, f);"), REFUSED_FILE),
    "changes the tables of the linker": (source("extern \"C\" void *_GLOBAL_OFFSET_TABLE_[];", "_GLOBAL_OFFSET_TABLE_[3] = 0;"), REFUSED_FILE),
    "starts a thread": (source(inside="pthread_create(0, 0, 0, 0);"), REFUSED_FILE),
    "runs before the kernel, by an attribute": (source("__attribute__((constructor)) static void f() {}"), REFUSED_FILE),
    "runs before the kernel, by a macro": (source("#define A __attribute__\nstatic A((constructor)) void f() { *(volatile int *)8 = 0; }"), REFUSED_FILE),
    "runs before the kernel, by an object": (source("struct S { S() { *(volatile int *)8 = 0; } };\nstatic S s;"), REFUSED_FILE),
    "uses the simulator's own functions": (source(inside="nl_sim_thread();"), REFUSED_FILE),
    "includes a file of the machine": (source('#include "/etc/passwd"'), REFUSED_FILE),
    "hides its lines": (source('#line 1 "judge.py"', value="a[i]"), REFUSED_FILE),
    "launches work that the timer does not see": (source("__global__ void later(float *p) { *p = 1; }", "later<<<1, 1>>>(&out[0]);"), REFUSED_FILE),
    # results without the work
    "remembers the first result": (REMEMBERS, "not correct"),
    "works at the first launch only": (source("__device__ int calls;", "atomicAdd(&calls, 1);", "calls > 3 ? a[i] + b[i] : 0"), "not correct"),
    "works where it was called before": (source(value="blockIdx.x ? a[i] + b[i] : a[i]"), RETURNED),
    "knows the judge's constant data": (source(value="a[0] + b[0]"), RETURNED),
    "computes a part": (source(value="i % 1000 == 999 ? 0 : a[i] + b[i]"), RETURNED),
    "is right for small sizes": (source(value="out.size() > 1000 ? a[i] : a[i] + b[i]"), RETURNED),
    "rounds to half precision": (source("#include <cuda_fp16.h>", value="__half2float(__float2half(a[i]) + __float2half(b[i]))"), RETURNED),
    "loses NaN": (source(value="fminf(fmaxf(a[i] + b[i], -1e30f), 1e30f)"), "not correct"),
    "changes an input": (source(inside="const_cast<float &>(a[0]) = 0;"), "not correct"),
    "waits for ever in the last block": (source(value="a[i] + b[i]", inside="while (out.size() == 257) __nanosleep(100);"), "not correct"),
}  # fmt: skip

# Attacks in Python files, which run in the judged process: (text, a part of the verdict).
PYTHON_ATTACKS = {
    "copies": (python(), RETURNED),
    "ends its process": (python("os._exit(0)"), "It ended the process"),
    "raises": (python("raise SystemExit"), "not correct"),
    "searches objects for the results": (python("found = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.size > 1000]\nfor o in found: o[...] = np.nan"), RETURNED),
    "changes NumPy": (python("np.isfinite = lambda *a: np.zeros(1, bool)"), RETURNED),
    "changes the comparison": (python("import numbalite.judge.compare as c\nc.mismatch = lambda *a: None"), RETURNED),
    "changes guarded memory": (python("import numbalite.judge.guarded as g\ng.Guarded.problem = lambda *a: ''"), RETURNED),
    "writes a verdict into the pipe": (python("os.write(int(sys.argv[1]), b'\\0\\0\\0\\x04true')"), "not correct"),
    "closes the pipe": (python("os.close(int(sys.argv[1]))"), "not correct"),
    "answers from a thread": (python("threading.Thread(target=lambda: [os.write(int(sys.argv[1]), b'\\0\\0\\0\\2{}') for _ in range(50)], daemon=True).start()"), "not correct"),
    "duplicates the pipe": (python("for fd in range(3, 60):\n    try: os.write(fd, b'\\0\\0\\0\\2{}')\n    except OSError: pass"), "not correct"),
    "replaces the copies from the device": (python("cuda.DeviceNDArray.copy_to_host = lambda self, *a, **k: np.zeros(self.shape, self.dtype)"), "not correct"),
    "replaces the launch": (python("import numbalite.judge.runner as r\nr._called = lambda *a: ({}, [])"), "not correct"),
    "stops the supervisor": (python("import signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(0)"), "not correct"),
}  # fmt: skip


def verdict_on(name, text, folder, kind="", speed=False):
    """Returns the Verdict on a text. ``name`` is the name of a task, or a Task."""
    path = pathlib.Path(folder, "kernel.py" if kind == "py" else "kernel.cu")
    path.write_text(text)
    task = taskfile.load(name) if isinstance(name, str) else name
    return judging.judge(task, str(path), kind=kind, speed=speed)


def main():
    """Judges all: `corpus.py [honest|attacks] [PART OF]`; prints the submissions that are judged wrongly."""
    which = sys.argv[1:2] or ["honest", "attacks"]
    part, parts = map(int, sys.argv[2:4]) if len(sys.argv) > 3 else (0, 1)
    work = []
    if "honest" in which:
        work += [("honest", n, n, text, "", "") for n, text in HONEST.items()]
        work += [("honest", n, pair, text_of(pair), "", "") for n, pair in TASKS.items()]
    if "attacks" in which:
        work += [("attack", n, task, text, "", said) for n, (task, text, said) in WRONG.items()]
        work += [("attack", n, "vadd", text, "", said) for n, (text, said) in ATTACKS.items()]
        work += [
            ("attack", n, "vadd", text, "py", said) for n, (text, said) in PYTHON_ATTACKS.items()
        ]
    failures, slowest, work = [], (0, ""), work[part::parts]
    for kind, name, task, text, form, message in work:
        with tempfile.TemporaryDirectory() as folder:
            verdict = verdict_on(
                task if isinstance(task, str) else task_of(task), text, folder, form
            )
        slowest = max(slowest, (verdict.seconds, name))
        if verdict.passed != (kind == "honest") or message not in str(verdict):
            failures.append(name)
            print(f"--- {kind}: {name}\n{verdict}", flush=True)
    print(
        f"{len(work)} judged, {len(failures)} wrongly; the slowest in {slowest[0]} s: {slowest[1]}"
    )
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
