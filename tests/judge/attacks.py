"""Defines attacks on judges, of the published kinds, in our own words. None may pass.

An attack is CUDA C++ (ATTACKS), or a Python file (PYTHON_ATTACKS), which runs in the judged process and can do more.
PUBLIC maps the kinds of public collections to the attacks. `twins.py` has an honest twin of each attack.
"""

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


def python_answer(extra="", value="a[i]"):
    """Returns a Python file that computes ``value``."""
    return PY.format(extra=extra, value=value)


def cuda_answer(before="", inside="", value="a[i] + b[i]"):
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
IMPOSSIBLE = "is impossible: it was not measured"

# Published attacks on judges, as kernel files:
# dict from a title to (text of the file, a part of the expected verdict).
ATTACKS = {
    # attacks that search the judge's results in memory, or change them
    "searches the memory around the arrays": (cuda_answer(inside="const float *p = &a[0]; for (int k = 1; k < 5000; k++) if (p[-k] == a[0] + b[0]) out[0] = p[-k];"), CHECKED),
    "reads behind the output": (cuda_answer(value="(&out[0])[out.size() + i]"), CHECKED),
    "clears a counter by its address": (cuda_answer(inside="*(volatile int *)0x10000 = 0;"), CHECKED),
    "poisons with NaN, which equals nothing": (cuda_answer(value="NAN"), RETURNED),
    "leaves what was there": (cuda_answer(value="out[i]"), "nothing was written there"),
    # functions of the host
    "runs a program": (cuda_answer(inside='system("touch owned");'), REFUSED_FILE),
    "runs a program through a macro": (cuda_answer("#define RUN system", 'RUN("touch owned");'), "not correct"),
    "declares a host function in a macro": (cuda_answer('#define HOST extern "C"\nHOST int system(const char *);'), REFUSED_FILE),
    "pastes a declaration together": (cuda_answer("#define TEXT(x) #x\n#define JOIN(a, b) a##b\nJOIN(ext, ern) TEXT(C) int JOIN(sys, tem)(const char *);", 'JOIN(sys, tem)("touch owned");'), REFUSED_FILE),
    "calls Python": (cuda_answer("#define JOIN(a, b) a##b\nJOIN(ext, ern) \"C\" int PyRun_SimpleString(const char *);", 'PyRun_SimpleString("import os");'), "not correct"),
    "renames a function to one of the host": (cuda_answer('int run(const char *) asm("system");', 'run("touch owned");'), "not correct"),
    "writes into the judge's pipe": (cuda_answer(inside='write(3, "passed", 6);'), REFUSED_FILE),
    "opens a result file": (cuda_answer(inside='fopen("/tmp/result", "w");'), REFUSED_FILE),
    "writes to /proc/self/mem": (cuda_answer(inside='int f = open("/proc/self/mem", 2); pwrite(f, &f, 4, 0);'), REFUSED_FILE),
    "traces its parent": (cuda_answer(inside="ptrace(16, 1, 0, 0);"), REFUSED_FILE),
    "replaces a function in memory": (cuda_answer(inside="mprotect((void *)4096, 4096, 7);"), REFUSED_FILE),
    "makes a system call": (cuda_answer(inside='__asm__ volatile("syscall");'), REFUSED_FILE),
    "makes a system call in a macro": (cuda_answer("#define CALL __asm__", 'CALL volatile("syscall");'), REFUSED_FILE),
    "filters system calls": (cuda_answer(inside="prctl(22, 2, 0, 0, 0);"), REFUSED_FILE),
    "handles signals": (cuda_answer("void f(int) {}", "signal(11, f);"), REFUSED_FILE),
    "changes the tables of the linker": (cuda_answer("extern \"C\" void *_GLOBAL_OFFSET_TABLE_[];", "_GLOBAL_OFFSET_TABLE_[3] = 0;"), REFUSED_FILE),
    "starts a thread": (cuda_answer(inside="pthread_create(0, 0, 0, 0);"), REFUSED_FILE),
    "runs before the kernel, by an attribute": (cuda_answer("__attribute__((constructor)) static void f() {}"), REFUSED_FILE),
    "runs before the kernel, by a macro": (cuda_answer("#define A __attribute__\nstatic A((constructor)) void f() { *(volatile int *)8 = 0; }"), REFUSED_FILE),
    "runs before the kernel, by an object": (cuda_answer("struct S { S() { *(volatile int *)8 = 0; } };\nstatic S s;"), REFUSED_FILE),
    "uses the simulator's own functions": (cuda_answer(inside="nl_sim_thread();"), REFUSED_FILE),
    "includes a file of the machine": (cuda_answer('#include "/etc/passwd"'), REFUSED_FILE),
    "hides its lines": (cuda_answer('#line 1 "judge.py"', value="a[i]"), REFUSED_FILE),
    "launches work that the timer does not see": (cuda_answer("__global__ void later(float *p) { *p = 1; }", "later<<<1, 1>>>(&out[0]);"), REFUSED_FILE),
    # results without the work
    "remembers the first result": (REMEMBERS, "not correct"),
    "works at the first launch only": (cuda_answer("__device__ int calls;", "atomicAdd(&calls, 1);", "calls > 3 ? a[i] + b[i] : 0"), "not correct"),
    "works where it was called before": (cuda_answer(value="blockIdx.x ? a[i] + b[i] : a[i]"), RETURNED),
    "knows the judge's constant data": (cuda_answer(value="a[0] + b[0]"), RETURNED),
    "computes a part": (cuda_answer(value="i % 1000 == 999 ? 0 : a[i] + b[i]"), RETURNED),
    "is right for the judge's fixed sizes": (cuda_answer("__device__ bool is_fixed(long long n) { const int fixed[] = {1, 2, 3, 31, 32, 33, 64, 100, 127, 128, 129, 255, 257, 1000, 1025, 1 << 20}; bool found = false; for (int k : fixed) found |= k == n; return found; }", value="is_fixed(out.size()) ? a[i] + b[i] : a[i]"), RETURNED),
    "is right for small sizes": (cuda_answer(value="out.size() > 1000 ? a[i] : a[i] + b[i]"), RETURNED),
    "rounds to half precision": (cuda_answer("#include <cuda_fp16.h>", value="__half2float(__float2half(a[i]) + __float2half(b[i]))"), RETURNED),
    "limits values, and loses NaN": (cuda_answer(value="fminf(fmaxf(a[i] + b[i], -1e30f), 1e30f)"), "not correct"),
    "writes far past the end at one size": (cuda_answer(inside="if (out.size() == 1000) (&out[0])[5000] = 1;"), CHECKED),
    "changes an input": (cuda_answer(inside="const_cast<float &>(a[0]) = 0;"), "not correct"),
    "waits for ever in the last block": (cuda_answer(value="a[i] + b[i]", inside="while (out.size() == 257) __nanosleep(100);"), "not correct"),
}  # fmt: skip

# Functions of attacks that search the memory of their process.
MEMORY = """
import ctypes, re
libc = ctypes.CDLL(None)

def memory_regions(rights, name=""):
    for line in open("/proc/self/maps"):
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        if rights in line.split()[1] and name in line and end - start < 1 << 26:
            yield start, end

def read_memory(start, end):
    try:
        with open("/proc/self/mem", "rb") as memory:
            memory.seek(start)
            return memory.read(end - start)
    except (OSError, ValueError):
        return b""

def forge_message(signature):
    text = b'{"message": {"signature": "%s"}, "objects": []}' % signature
    os.write(int(sys.argv[1]), len(text).to_bytes(4, "big") + text)

SIGNATURE = re.compile(rb"[0-9a-f]{32}")
"""


def python_answer_with_memory(extra, value="a[i]"):
    return python_answer(MEMORY + extra, value)


# Attacks in Python files, which run in the judged process: (text, a part of the verdict).
PYTHON_ATTACKS = {
    "copies": (python_answer(), RETURNED),
    "ends its process": (python_answer("os._exit(0)"), "It ended the process"),
    "raises": (python_answer("raise SystemExit"), "not correct"),
    "searches objects for the results": (python_answer("found = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.size > 1000]\nfor o in found: o[...] = np.nan"), RETURNED),
    "changes NumPy": (python_answer("np.isfinite = lambda *a: np.zeros(1, bool)"), RETURNED),
    "changes the comparison": (python_answer("import numbalite.judge.compare as c\nc.find_mismatch = lambda *a: None"), RETURNED),
    "changes guarded memory": (python_answer("import numbalite.judge.guarded as g\ng.GuardedArray.out_of_bounds_write = lambda *a: ''"), RETURNED),
    "writes a verdict into the pipe": (python_answer("os.write(int(sys.argv[1]), b'\\0\\0\\0\\x04true')"), "not correct"),
    "closes the pipe": (python_answer("os.close(int(sys.argv[1]))"), "not correct"),
    "answers from a thread": (python_answer("threading.Thread(target=lambda: [os.write(int(sys.argv[1]), b'\\0\\0\\0\\2{}') for _ in range(50)], daemon=True).start()"), "not correct"),
    "duplicates the pipe": (python_answer("for fd in range(3, 60):\n    try: os.write(fd, b'\\0\\0\\0\\2{}')\n    except OSError: pass"), "not correct"),
    "replaces the copies from the device": (python_answer("cuda.DeviceNDArray.copy_to_host = lambda self, *a, **k: np.zeros(self.shape, self.dtype)"), "not correct"),
    "replaces the launch": (python_answer("import numbalite.judge.runner as r\nr._call_submission = lambda *a: ({}, [])"), "not correct"),
    "stops the supervisor": (python_answer("import signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(0)"), "not correct"),
    # attacks on signatures, keys and counters in memory
    "searches the heap for a signature, and signs a verdict": (python_answer_with_memory("for span in memory_regions('rw', '[heap]'):\n    for found in SIGNATURE.findall(read_memory(*span))[:50]: forge_message(found)\nos._exit(0)"), "not correct"),
    "follows pointers of the stack to a signature": (python_answer_with_memory("import struct\nspans = list(memory_regions('rw'))\nfor start, end in memory_regions('rw', '[stack]'):\n    for (at,) in struct.iter_unpack('Q', read_memory(start, end)):\n        if any(low <= at < high for low, high in spans) and SIGNATURE.fullmatch(read_memory(at, at + 32)): forge_message(read_memory(at, at + 32))\nos._exit(0)"), "not correct"),
    "removes the protection of pages, and recovers a key": (python_answer_with_memory("for start, end in memory_regions('---p'):\n    libc.mprotect(ctypes.c_void_p(start), 4096, 1)\n    found = SIGNATURE.search(read_memory(start, start + 4096))\n    if found: forge_message(found[0])"), RETURNED),
    "reads protected pages as a file, and signs a verdict": (python_answer_with_memory("for start, end in memory_regions('---p'):\n    for found in SIGNATURE.findall(read_memory(start, min(end, start + (1 << 20)))): forge_message(found)\nos.environ['NUMBALITE_GRADED'] and forge_message(os.environb[b'NUMBALITE_GRADED'])"), "not correct"),
    "searches for a canary, and overwrites it": (python_answer_with_memory("canary = (0xDEADBEEFCAFEBABE).to_bytes(8, 'little')\nfor start, end in memory_regions('rw'):\n    at = read_memory(start, end).find(canary)\n    if at >= 0: ctypes.memset(start + at, 0, 8)"), RETURNED),
    "makes constants writable, and changes them": (python_answer_with_memory("import numbalite.judge.guarded as g\nnumber = g.unwritten_elements.__code__.co_code\nlibc.mprotect(ctypes.c_void_p(id(number) & -4096), 8192, 7)\nctypes.memset(id(number) + 40, 9, 2)"), RETURNED),
    "clears all counters of the device": (python_answer("def clear():\n    for _ in range(300):\n        for o in gc.get_objects():\n            if isinstance(o, cuda.DeviceNDArray) and o.dtype != np.float32: o[...] = 0\n        time.sleep(0.01)\nthreading.Thread(target=clear, daemon=True).start()"), RETURNED),
    "fills all arrays of the device with its own results": (python_answer("import numbalite.judge.runner as r\nput = r._copy_to_device\ndef changed(given):\n    found = put(given)\n    for whole in found[1]: whole.fill(0)\n    return found\nr._copy_to_device = changed", "0"), "not correct"),
    "changes expected results, and delays the first call": (python_answer("time.sleep(1)\nfor o in gc.get_objects():\n    if isinstance(o, tuple):\n        for x in o:\n            if isinstance(x, np.ndarray) and x.dtype == np.float32 and x.flags.writeable: x[...] = np.nan"), RETURNED),
    "copies the expected results": (python_answer("import numbalite.judge.runner as r\nput = r._copy_to_device\ndef changed(given):\n    arguments, wholes = put(given)\n    same = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.shape == arguments[2].shape]\n    if same: arguments[2].copy_to_device(np.ascontiguousarray(same[-1], np.float32))\n    return arguments, wholes\nr._copy_to_device = changed", "out[i]"), "not correct"),
    # of the system
    "traces its parent, and changes its code": (python_answer_with_memory("libc.ptrace(16, os.getppid(), 0, 0)\nlibc.ptrace(4, os.getppid(), 4096, 0)"), "not correct"),
    "traps the calls that write results": (python_answer_with_memory("import struct\ncode = struct.pack('HBBI' * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 1, 6, 0, 0, 0x50001, 6, 0, 0, 0x7FFF0000)\nbuffer = ctypes.create_string_buffer(code)\nprogram = struct.pack('HxxxxxxQ', 4, ctypes.addressof(buffer))\nlibc.prctl(38, 1, 0, 0, 0)\nlibc.prctl(22, 2, ctypes.c_char_p(program))"), "not correct"),
    "redirects a file of the C library to the pipe": (python_answer_with_memory("stdout = ctypes.c_void_p.in_dll(libc, 'stdout').value\nctypes.c_int.from_address(stdout + 112).value = int(sys.argv[1])\nlibc.printf(b'correct')\nlibc.fflush(None)"), "not correct"),
    "replaces a module by a file in the folder": (python_answer("for name in ('numpy', 'numbalite', 'json'):\n    with open(name + '.py', 'w') as f: f.write('raise SystemExit(0)')"), RETURNED),
    "changes the judge's own files": (python_answer("import numbalite.judge.compare as c\nwith open(c.__file__, 'r+') as f: f.write(f.read())"), "PermissionError"),
    "adds a file to the judge": (python_answer("import numbalite.judge as j\nnew = os.path.join(os.path.dirname(j.__file__), 'owned')\nos.mkdir(new)\nos.rmdir(new)"), "PermissionError"),
    "deletes a task": (python_answer("import numbalite.judge as j\npath = os.path.join(os.path.dirname(j.__file__), 'tasks', 'vadd.py')\nos.rename(path, path + '.old')\nos.rename(path + '.old', path)"), "PermissionError"),
    "stores another kernel in the disk cache": (python_answer("folder = os.path.expanduser('~/.cache')\nos.makedirs(folder, exist_ok=True)\npath = os.path.join(folder, 'numbalite-owned')\nwith open(path, 'w') as f: f.write('x')\nos.remove(path)"), "PermissionError"),
    # attacks on results, which are computed elsewhere, later or never
    "catches its own failure, and returns an input": (python_answer("try:\n    raise RuntimeError\nexcept RuntimeError:\n    pass", "b[i]"), RETURNED),
    "inherits the reference": (python_answer("import numbalite.judge.tasks as reference\nclass New(type(reference)): pass"), RETURNED),
    "returns objects that compute later": (python_answer("class Lazy(np.ndarray): pass\ncuda.DeviceNDArray.copy_to_host = lambda self, *a, **k: np.zeros(self.shape, self.dtype).view(Lazy)"), "not correct"),
    "works on a stream that is not awaited": (python_answer("import numbalite.judge.runner as r\ncuda.synchronize = lambda: None\nlauncher = r._launcher\ndef later(*given):\n    kernel = launcher(*given)\n    return lambda *arguments: threading.Timer(1, kernel, arguments).start()\nr._launcher = later", "a[i] + b[i]"), "not correct"),
    # attacks on times, with a correct kernel
    "makes end events equal to start events": (python_answer("import numbalite.judge.runner as r\ntime_of = r._gpu_times\ndef timed(*given):\n    header, arrays = time_of(*given)\n    return {k: 0.0 if isinstance(v, float) else v for k, v in header.items()}, arrays\nr._gpu_times = timed", "a[i] + b[i]"), IMPOSSIBLE),
    "overwrites the code of the function that measures": (python_answer("import numbalite.judge.fresh as f, numbalite.profiler.counters as c\nf.time_one_call.__code__ = (lambda f: (f(), 1e-9)).__code__\nfor cls in vars(c).values():\n    if hasattr(cls, 'time_at_least'): cls.time_at_least = 1e-9", "a[i] + b[i]"), IMPOSSIBLE),
    "replaces the function that measures in the linker's table": (python_answer("import builtins\nimport numbalite.judge.runner as r\nserved = r.send\ndef send(pipe, header, arrays=()):\n    if isinstance(header, dict): header = {k: 1e-12 if isinstance(v, float) else v for k, v in header.items()}\n    served(pipe, header, arrays)\nr.__dict__['send'] = send", "a[i] + b[i]"), IMPOSSIBLE),
    "filters what the process writes": (python_answer("import multiprocessing.connection as m\nwrite = m.Connection.send_bytes\ndef filtered(self, data, *rest):\n    import re\n    if b'predicted' in bytes(data) or b'_ms' in bytes(data): data = re.sub(rb'[0-9.]+e-[0-9]+|0\\.[0-9]+', b'0.0', bytes(data))\n    write(self, data, *rest)\nm.Connection.send_bytes = filtered", "a[i] + b[i]"), IMPOSSIBLE),
    "waits at the first calls, and reports the time of an empty one": (python_answer("import numbalite.judge.runner as r\ntime_of = r._gpu_times\ndef timed(submission, given):\n    time.sleep(1)\n    header, arrays = time_of(submission, given)\n    header.update(dict.fromkeys([k for k, v in header.items() if isinstance(v, float)], -1.0))\n    return header, arrays\nr._gpu_times = timed", "a[i] + b[i]"), IMPOSSIBLE),
}  # fmt: skip

TIMED = frozenset(name for name, (_, said) in PYTHON_ATTACKS.items() if said == IMPOSSIBLE)
"""Attacks on the time: their kernels are correct."""

# Public collections: dict from a kind to the title of an attack.
# The names of the kinds are those that the collections use.
PUBLIC = {
    "pygpubench": {
        "aes_key_recovery": "removes the protection of pages, and recovers a key",
        "combined": "changes expected results, and delays the first call",
        "error_counter": "clears all counters of the device",
        "event_array": "makes end events equal to start events",
        "fd_overwrite": "duplicates the pipe",
        "file_struct": "redirects a file of the C library to the pipe",
        "function_detour": "overwrites the code of the function that measures",
        "gc_copy": "copies the expected results",
        "gc_nan": "searches objects for the results",
        "got_patch": "replaces the function that measures in the linker's table",
        "gpu_scan_zeros": "fills all arrays of the device with its own results",
        "heap_sig_scan": "searches the heap for a signature, and signs a verdict",
        "pipe_interpose": "filters what the process writes",
        "proc_mem_bypass": "reads protected pages as a file, and signs a verdict",
        "ptrace": "traces its parent, and changes its code",
        "replace_torch": "replaces a module by a file in the folder",
        "seccomp_trap": "traps the calls that write results",
        "stack_sig_scan": "follows pointers of the stack to a signature",
        "test_canary_direct": "searches for a canary, and overwrites it",
        "test_canary_make_writeable": "makes constants writable, and changes them",
        "thread_fd": "answers from a thread",
        "warmup": "waits at the first calls, and reports the time of an empty one",
    },
    "KernelBench": {
        "result cache reuse": "leaves what was there",
        "input modification": "changes an input",
        "non-default stream": "works on a stream that is not awaited",
        "code bypass": "catches its own failure, and returns an input",
        "inheritance": "inherits the reference",
        "stream injection": "launches work that the timer does not see",
        "thread injection": "starts a thread",
        "lazy evaluation": "returns objects that compute later",
        "timing event patch": "makes end events equal to start events",
        "precision downgrade": "rounds to half precision",
    },
    "AgentKernelArena": {
        "harness edits": "changes the judge's own files",
        "harness deletion": "deletes a task",
        "added harness files": "adds a file to the judge",
        "timed run not validated": "works at the first launch only",
        "host-only timing": "filters what the process writes",
    },
    "GPU MODE": {
        "a part of large inputs": "computes a part",
        "nothing computed": "leaves what was there",
        "remembered results": "remembers the first result",
    },
}
