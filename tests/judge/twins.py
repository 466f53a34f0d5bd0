"""Defines honest twins of the mistakes and attacks: each looks like a mistake or an attack, but the judge
must accept it.

A twin uses the same name, construct or technique for a correct kernel, or is the kernel without the mistake."""

from judge.attacks import cuda_answer, python_answer, python_answer_with_memory
from judge.corpus import HONEST, WRONG

VADD = "int i = grid<1>(); if (i < out.size()) "
SUM = "a[i] + b[i]"


def _named_task(name, text):
    return name, text, ""


def _vadd_with(statements):
    return "vadd", VADD + statements, ""


def _cuda_twin(*args, **options):
    return "vadd", cuda_answer(*args, **options), ""


def _python_twin(extra="", value=SUM):
    return "vadd", python_answer(extra, value), "py"


def _memory_twin(extra):
    return "vadd", python_answer_with_memory(extra, SUM), "py"


# Mistakes whose twin is the honest kernel of the same task.
_FIXED = (
    "no barrier", "reads unwritten elements", "updates without atomics", "exponentials that overflow",
    "loses the last column", "tile without its edge", "wrong at the edge", "wrong beyond one block", "wrong scale",
    "assumes the mean of the data", "multiplies in half precision", "attention without its maximum", "rounds a factor", "drops an odd element",
)  # fmt: skip

TWINS = {
    # mistakes
    **{name: _named_task(WRONG[name][0], HONEST[WRONG[name][0]]) for name in _FIXED},
    "writes nothing": _vadd_with("{ out[i] = a[i]; out[i] += b[i]; }"),
    "writes zeros": _vadd_with("{ out[i] = 0; out[i] = a[i] + b[i]; }"),
    "copies an input": _vadd_with("{ float t = a[i]; t += b[i]; out[i] = t; }"),
    "answers the first half": _vadd_with("if (i < (out.size() + 1) / 2) { int j = out.size() - 1 - i; out[j] = a[j] + b[j]; out[i] = a[i] + b[i]; }"),
    "only whole warps": _vadd_with("{ if (i < out.size() / 32 * 32) out[i] = a[i] + b[i]; else out[i] = b[i] + a[i]; }"),
    "gives up at large sizes": _vadd_with("{ if (i < 5000) out[i] = a[i] + b[i]; else out[i] = b[i] + a[i]; }"),
    "changes an input to suit the result": _vadd_with("{ const float &x = a[i]; out[i] = const_cast<float &>(b[i]) + x; }"),
    "writes before an array": ("vadd", "int i = grid<1>(); if (i <= out.size() && i > 0) (&out[0])[i - 1] = a[i - 1] + b[i - 1]; if (i == 0 && out.size() == gridsize<1>()) out[out.size() - 1] = a[out.size() - 1] + b[out.size() - 1];", ""),
    "no guard at the end": ("vadd", "int i = grid<1>(); if (i >= out.size()) return; out[i] = a[i] + b[i];", ""),
    "never ends": _vadd_with("{ volatile int go = 3; while (go) go = go - 1; out[i] = a[i] + b[i]; }"),
    "half precision": _vadd_with("out[i] = (float)((double)a[i] + (double)b[i]);"),
    "sums in half precision": _named_task("total", "if (threadIdx.x == 0) { double s = 0; for (int i = 0; i < x.size(); i++) s += x[i]; out[0] = (float)s; }"),
    "loses NaN": _vadd_with("out[i] = isnan(a[i] + b[i]) ? a[i] + b[i] : b[i] + a[i];"),
    # memory
    "searches the memory around the arrays": _cuda_twin(inside="const float *p = &a[0]; float most = 0; for (int k = 0; k < a.size(); k++) most = fmaxf(most, p[k]); if (most < 0) out[0] = most;"),
    "reads behind the output": _cuda_twin(value="(&a[0])[out.size() - 1 - (out.size() - 1 - i)] + b[i]"),
    "clears a counter by its address": _cuda_twin("__device__ int counter;", "*(volatile int *)&counter = 0;"),
    "poisons with NaN, which equals nothing": _cuda_twin(value="isnan(a[i]) ? NAN : a[i] + b[i]"),
    "leaves what was there": _cuda_twin(value="(out[i] = a[i], out[i] + b[i])"),
    # names of host functions
    "runs a program": _cuda_twin("__device__ float system(float x) { return x; }", value="system(a[i]) + b[i]"),
    "runs a program through a macro": _cuda_twin("#define RUN fabsf", "RUN(1.0f);"),
    "declares a host function in a macro": _cuda_twin('#define DEVICE extern "C" __device__\nDEVICE float add(float x, float y) { return x + y; }', value="add(a[i], b[i])"),
    "pastes a declaration together": _cuda_twin("#define JOIN(a, b) a##b\n__device__ float JOIN(sys, tem)(float x) { return x; }", value="JOIN(sys, tem)(a[i]) + b[i]"),
    "calls Python": _cuda_twin("__device__ float PyRun_SimpleString(float x) { return x; }", value="PyRun_SimpleString(a[i]) + b[i]"),
    "renames a function to one of the host": _cuda_twin('__device__ unsigned lane() { unsigned x; asm("mov.u32 %0, %%laneid;" : "=r"(x)); return x; }', value="a[i] + b[i] + 0 * lane()"),
    "writes into the judge's pipe": _cuda_twin("struct Pipe { float *to; __device__ void write(int i, float x) { to[i] = x; } };", "Pipe pipe{&out[0]}; pipe.write(0, 1);"),
    "opens a result file": _cuda_twin("__device__ int fopen(int x) { return x; }", "fopen(1);"),
    "writes to /proc/self/mem": _cuda_twin('__device__ const char *path = "/proc/self/mem";', "if (path[0] != '/') out[0] = 1;"),
    "traces its parent": _cuda_twin("enum { ptrace = 16 };", "if (ptrace == 0) out[0] = 1;"),
    "replaces a function in memory": _cuda_twin("__device__ float first(float x) { return x; }\n__device__ float second(float x) { return -x; }", value="(i < 0 ? second : first)(a[i]) + b[i]"),
    "makes a system call": _cuda_twin(inside='asm volatile("membar.gl;");'),
    "makes a system call in a macro": _cuda_twin("#define FENCE __threadfence", "FENCE();"),
    "filters system calls": _cuda_twin("__device__ int prctl;", "prctl = 22;"),
    "handles signals": _cuda_twin("__device__ float signal(int i, float x) { return x; }", value="signal(11, a[i]) + b[i]"),
    "changes the tables of the linker": _cuda_twin("__device__ void *table[4];", "table[3] = &table[0];"),
    "starts a thread": _cuda_twin("__device__ float thread_create(float x) { return x; }", value="thread_create(a[i]) + b[i]"),
    "runs before the kernel, by an attribute": _cuda_twin("struct alignas(16) Four { float x[4]; };", "Four four = {}; if (four.x[3] != 0) out[0] = 1;"),
    "runs before the kernel, by a macro": _cuda_twin("#define A __device__ __noinline__\nstatic A float f(float x) { return x; }", value="f(a[i]) + b[i]"),
    "runs before the kernel, by an object": _cuda_twin("struct S { int n; constexpr __device__ S() : n(3) {} };\n__device__ constexpr S s;", "if (s.n != 3) out[0] = 1;"),
    "uses the simulator's own functions": _cuda_twin("namespace sim { __device__ float thread(float x) { return x; } }", value="sim::thread(a[i]) + b[i]"),
    "includes a file of the machine": _cuda_twin("#include <cuda_fp16.h>\n#include <math_constants.h>"),
    "hides its lines": _cuda_twin("#pragma nv_diag_suppress 177\n#define LINE __LINE__", "if (LINE == 0) out[0] = 1;"),
    "launches work that the timer does not see": _cuda_twin("__global__ void later(float *p) { *p = 1; }"),
    # results
    "remembers the first result": _cuda_twin("__device__ int calls;", "if (threadIdx.x == 0) calls = 1;"),
    "works at the first launch only": _cuda_twin("__device__ int calls;", "atomicAdd(&calls, 1);"),
    "works where it was called before": _cuda_twin(value="blockIdx.x ? a[i] + b[i] : b[i] + a[i]"),
    "knows the judge's constant data": _cuda_twin(value="a[i] == a[0] && b[i] == b[0] ? a[0] + b[0] : a[i] + b[i]"),
    "computes a part": _cuda_twin(value="i % 1000 == 999 ? b[i] + a[i] : a[i] + b[i]"),
    "is right for the judge's fixed sizes": _cuda_twin("__device__ bool is_even(long long n) { return n % 2 == 0; }", value="is_even(out.size()) ? a[i] + b[i] : b[i] + a[i]"),
    "writes far past the end at one size": _cuda_twin(inside="if (out.size() == 1000) (&out[0])[0] = 1;"),
    "is right for small sizes": _cuda_twin(value="out.size() > 1000 ? b[i] + a[i] : a[i] + b[i]"),
    "limits values, and loses NaN": _cuda_twin(value="fminf(fmaxf(a[i], -1e38f), 1e38f) == a[i] ? a[i] + b[i] : b[i] + a[i]"),
    "rounds to half precision": _cuda_twin("#include <cuda_fp16.h>", value="__half2float(__float2half(0.0f)) + a[i] + b[i]"),
    "changes an input": _cuda_twin(inside="float &first = const_cast<float &>(a[0]); if (first != a[0] && !isnan(first)) out[0] = 1;"),
    "waits for ever in the last block": _cuda_twin(inside="for (int k = 0; out.size() == 257 && k < 3; k++) __nanosleep(100);"),
    # Python files
    "copies": _python_twin(),
    "ends its process": _python_twin("import atexit\natexit.register(lambda: os._exit(0))"),
    "raises": _python_twin("try:\n    raise SystemExit\nexcept SystemExit:\n    pass"),
    "searches objects for the results": _python_twin("found = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.size > 1000]"),
    "changes NumPy": _python_twin("old = np.geterr()\nnp.seterr(**old)"),
    "changes the comparison": _python_twin("import numbalite.judge.compare as c\nc.find_mismatch"),
    "changes guarded memory": _python_twin("import numbalite.judge.guarded as g\ng.GuardedArray.out_of_bounds_write"),
    "writes a verdict into the pipe": _python_twin("print('correct')\nsys.stderr.write('correct')"),
    "closes the pipe": _python_twin("os.close(os.open(os.devnull, os.O_RDONLY))"),
    "answers from a thread": _python_twin("threading.Thread(target=lambda: print('ready'), daemon=True).start()"),
    "duplicates the pipe": _python_twin("ends = os.pipe()\nos.write(ends[1], b'true')\nassert os.read(ends[0], 4) == b'true'"),
    "replaces the copies from the device": _python_twin("class Array(np.ndarray):\n    copy_to_host = lambda self: self"),
    "replaces the launch": _python_twin("def _called(*arguments):\n    return {}, []"),
    "stops the supervisor": _python_twin("os.kill(os.getpid(), 0)"),
    "searches the heap for a signature, and signs a verdict": _memory_twin("spans = list(regions('rw', '[heap]'))"),
    "follows pointers of the stack to a signature": _memory_twin("sizes = [len(read(*span)) for span in regions('rw', '[stack]')]"),
    "removes the protection of pages, and recovers a key": _memory_twin("page = ctypes.create_string_buffer(64)\nassert not SIGNATURE.search(page.raw)"),
    "reads protected pages as a file, and signs a verdict": _memory_twin("assert len(list(regions('rw'))) > 3"),
    "searches for a canary, and overwrites it": _memory_twin("own = ctypes.create_string_buffer(b'canary')\nctypes.memset(own, 0, 6)"),
    "makes constants writable, and changes them": _memory_twin("own = ctypes.create_string_buffer(8192)\nctypes.memset(own, 9, 2)"),
    "clears all counters of the device": _python_twin("counters = cuda.to_device(np.ones(4, np.int32))\ncounters[...] = 0"),
    "fills all arrays of the device with its own results": _python_twin("mine = cuda.device_array(100, np.float32)\nmine.fill(0)"),
    "changes expected results, and delays the first call": _python_twin("time.sleep(0.1)\nx = np.ones(3, np.float32)\nx[...] = np.nan"),
    "copies the expected results": _python_twin("x = cuda.device_array(3, np.float32)\nx.copy_to_device(np.ones(3, np.float32))"),
    "traces its parent, and changes its code": _memory_twin("libc.getpid()"),
    "traps the calls that write results": _memory_twin("libc.prctl(38, 1, 0, 0, 0)"),
    "redirects a file of the C library to the pipe": _memory_twin("libc.printf(b'correct')\nlibc.fflush(None)"),
    "replaces a module by a file in the folder": _python_twin("with open('notes.txt', 'w') as f: f.write('n = 1')"),
    "changes the judge's own files": _python_twin("import numbalite.judge.compare as c\nwith open(c.__file__) as f: f.read()"),
    "adds a file to the judge": _python_twin("with open(os.path.join(os.environ['TMPDIR'], 'mine.py'), 'x') as f: f.write('')"),
    "deletes a task": _python_twin("with open('old', 'x') as f: pass\nos.remove('old')"),
    "stores another kernel in the disk cache": _python_twin("os.path.exists(os.path.expanduser('~/.cache'))"),
    "catches its own failure, and returns an input": _python_twin("try:\n    import no_such_module\nexcept ImportError:\n    pass"),
    "inherits the reference": _python_twin("class Base: pass\nclass New(Base): pass"),
    "returns objects that compute later": _python_twin("class Lazy(np.ndarray): pass"),
    "works on a stream that is not awaited": _python_twin("stream = cuda.stream()\nstream.synchronize()"),
    "makes end events equal to start events": _python_twin("start, end = cuda.event(), cuda.event()\nstart.record()\nend.record()\ncuda.synchronize()"),
    "overwrites the code of the function that measures": _python_twin("def once(): pass\nonce.__code__ = (lambda: None).__code__"),
    "replaces the function that measures in the linker's table": _python_twin("import numbalite.judge.runner as r\nr.__dict__['send']"),
    "filters what the process writes": _python_twin("import multiprocessing.connection as m\nm.Connection.send_bytes"),
    "waits at the first calls, and reports the time of an empty one": _python_twin("time.sleep(0.2)"),
}  # fmt: skip
