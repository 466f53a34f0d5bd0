"""Lists submissions that the judge must accept, and mistakes that it must reject.

The honest kernels are one kernel for each task of numbalite, the correct kernels of tests/pairs, each with its own
task, and the honest twins of attacks and mistakes (twins.py). `PYTHONPATH=.:tests python tests/judge/corpus.py`
judges all submissions; the tests judge a sample.
"""

import inspect
import pathlib
import re
import sys
import tempfile

import numpy as np
from judge.attacks import ATTACKS, PYTHON_ATTACKS, TIMED
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


def submission_text(pair, right=True):
    """Returns the text of a submission, with its constants and without #line."""
    return pair.constant_lines() + pair.source(right).partition("\n")[2]


def task_of_pair(pair):
    """Returns a task whose only case has the pair's arguments."""
    given = _arguments_of_corrected(pair)
    launch = {**pair.launch, **{k: v for k, v in pair.right.items() if k in pair.launch}}
    after = pair.run(True)
    names = list(given)

    def reference_function(*arguments):
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
        and (
            after[name].tobytes() != value.tobytes()
            or _is_parameter_written(submission_text(pair), name)
        )
    ]
    reference_function.__name__ = pair.name
    reference_function.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    reference_function.__annotations__ = {
        name: _type_name(value, name in written) for name, value in given.items()
    }
    return taskfile.task(
        sizes=[1],
        valid=lambda n: n == 1,
        kinds=["normal"],
        launch=lambda *arguments: (launch["grid"], launch["block"], launch.get("shared", 0)),
        values={name: lambda rng, n, value=value: value for name, value in given.items()},
        inout=written,
    )(reference_function)


def _is_parameter_written(text, name):
    """Returns whether a text assigns to elements of an array, or takes their address."""
    return re.search(rf"&{name}\b|\b{name}\[[^]]*\]\s*([-+*/|&^]?=[^=]|\+\+|--)", text)


def _type_name(value, is_written):
    if not isinstance(value, np.ndarray):
        return np.result_type(value).name
    axes = ", ".join([":"] * (value.ndim - 1) + ["::1"])
    return f"{'' if is_written else 'const '}{value.dtype.name}[{axes}]"


TASKS = {name: pair for name, pair in PAIRS.items() if is_task(pair)}

# --- mistakes: (task, text, a part of the verdict)

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
    "multiplies in half precision": ("matmul", HONEST["matmul"].replace("t += a(r, i) * b(i, c)", "t += (float)(float16)(a(r, i) * b(i, c))"), "elements of out are wrong"),
    "attention without its maximum": ("attention", HONEST["attention"].replace("most = fmaxf(most, p[j])", "most = 0"), "elements of out are wrong"),
    "rounds a factor": ("saxpy", HONEST["saxpy"].replace("alpha *", "(float)(float16)alpha *"), "elements of y are wrong"),
    "drops an odd element": ("total", HONEST["total"].replace("i < x.size(); i += 256", "i < (x.size() > 999 ? x.size() & ~1 : x.size()); i += 256"), "elements of out are wrong"),
    "wrong scale": ("attention", HONEST["attention"].replace("sqrtf(d)", "sqrtf(32)"), "elements of out are wrong"),
}  # fmt: skip

PRECISION = (
    "half precision", "sums in half precision", "multiplies in half precision", "rounds a factor", "loses NaN",
    "exponentials that overflow", "attention without its maximum",
)  # fmt: skip
BOUNDARY = (
    "only whole warps", "no guard at the end", "loses the last column", "tile without its edge", "wrong at the edge",
    "wrong beyond one block", "gives up at large sizes", "drops an odd element",
)  # fmt: skip
"""Planted mistakes of WRONG: of precision, and of boundaries."""


def judge_submission(name, text, folder, kind="", speed=False):
    """Returns the Verdict on a text. ``name`` is the name of a task, or a Task."""
    path = pathlib.Path(folder, "kernel.py" if kind == "py" else "kernel.cu")
    path.write_text(text)
    task = taskfile.load_task(name) if isinstance(name, str) else name
    return judging.judge(task, str(path), kind=kind, speed=speed)


def select_submissions(which):
    """Returns (title, task, text, kind, part of the verdict, is the time judged) of "honest" kernels, "twins" or
    "attacks"."""
    from judge.twins import TWINS

    if which == "honest":
        kernels = [(n, n, text, "", "correct", False) for n, text in HONEST.items()]
        return kernels + [
            (n, task_of_pair(pair), submission_text(pair), "", "correct", False)
            for n, pair in TASKS.items()
        ]
    if which == "twins":
        return [(n, *twin, "correct", n in TIMED) for n, twin in TWINS.items()]
    return [
        *((n, task, text, "", said, False) for n, (task, text, said) in WRONG.items()),
        *((n, "vadd", text, "", said, False) for n, (text, said) in ATTACKS.items()),
        *((n, "vadd", text, "py", said, n in TIMED) for n, (text, said) in PYTHON_ATTACKS.items()),
    ]


def main():
    """Judges all: `corpus.py [honest|twins|attacks] [PART OF]`; prints the submissions that are judged
    wrongly."""
    which = sys.argv[1:2] or ["honest", "twins", "attacks"]
    part, parts = map(int, sys.argv[2:4]) if len(sys.argv) > 3 else (0, 1)
    work = [(kind, *each) for kind in which for each in select_submissions(kind)][part::parts]
    wrong, slowest = 0, (0, "")
    for kind, name, task, text, form, message, speed in work:
        with tempfile.TemporaryDirectory() as folder:
            verdict = judge_submission(task, text, folder, form, speed)
        slowest = max(slowest, (verdict.seconds, name))
        if verdict.passed == (kind == "attacks") or message not in str(verdict):
            wrong += 1
            print(f"--- {kind}: {name}\n{verdict}", flush=True)
    print(f"{len(work)} judged, {wrong} wrongly; the slowest in {slowest[0]} s: {slowest[1]}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
