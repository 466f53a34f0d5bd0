"""A child forked after the use of a device: operations that need a device raise an error with the
reason, the child neither hangs nor crashes, other operations work, and the parent continues."""

import os

import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBALITE_SANITIZED") == "thread",
    reason="ThreadSanitizer cannot follow threads that are started after a fork",
)

SETUP = """
import faulthandler, os, pickle, sys, threading, warnings
warnings.simplefilter("ignore")
faulthandler.enable()
import numpy as np
import numbalite
from numbalite import cuda, vectorize, guvectorize, jit

@vectorize(["float64(float64, float64)"], target="cuda")
def plus(x, y):
    "return x + y;"

@vectorize(["float64(float64)"])
def halved(x):
    "return x / 2;"

@vectorize(["float64(float64)"], target="parallel")
def thirds(x):
    "return x / 3;"

@jit("float64(float64)")
def squared(x):
    "return x * x;"

@guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target="cuda")
def copied(x, y):
    "for (int i = 0; i < y.size(); ++i) y[i] = x[i];"

@cuda.jit("void(float64[:])")
def typed(x):
    "int i = grid<1>(); if (i < x.size()) x[i] += 1;"

@cuda.jit
def lazy(x):
    "int i = grid<1>(); if (i < x.size()) x[i] += 1;"

class Foreign:
    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__

host = np.arange(64.0)
large = np.ones(1 << 18)
d, s, e, h = cuda.to_device(host), cuda.stream(), cuda.event(), cuda.pinned_array(64)
foreign = Foreign(cuda.to_device(host))
total = cuda.reduce("a + b")
ready = typed[1, 64]
module = cuda.module("__device__ int v[4]; __global__ void k(int* x) { *x = 1; }")
plus(host, host), plus(d, d), halved(host), thirds(large), squared(2.0), copied(host), total(d)
ready(d), lazy[1, 64](d), lazy[1, 64](host), module.k[1, 1](cuda.device_array(1, "i4"))
cuda.to_device(large).copy_to_host()
e.record(s); s.add_callback(lambda *a: None); s.synchronize()
context = cuda.current_context()
"""

NEED_A_DEVICE = """
cuda.to_device(host)
cuda.to_device(large)
cuda.to_device(host, stream=s)
cuda.device_array(8)
cuda.device_array_like(d)
cuda.pinned_array(1 << 20)
cuda.mapped_array(1 << 20)
cuda.managed_array(8)
cuda.ipc_array(8)
d.copy_to_host()
d.copy_to_host(h, stream=s)
d.copy_to_device(host)
d[3]
d[::2].copy_to_host()
d.fill(0)
d[2:4] = 5
d[:] = host
d.copy()
d.astype("f4")
d.get_ipc_handle()
np.asarray(d)
pickle.dumps(d)
d + d
np.sqrt(d)
cuda.from_dlpack(d).copy_to_host()
cuda.to_device(foreign).copy_to_host()
plus(host, host)
plus(1.0, 2.0)
plus(d, d)
plus(foreign, 1.0)
plus.reduce(host)
plus.accumulate(d)
copied(host)
copied(d)
total(d)
total(host)
ready(d)
ready(host)
ready(foreign)
typed[2, 32](d)
lazy[1, 64](d)
lazy[1, 64](host)
lazy.forall(64)(d)
module.k[1, 1](d.view("i4"))
module.get_global("v")[:] = 1
cuda.jit("__global__ void other(int* x) { *x = 2; }")[1, 1](d.view("i4"))
cuda.stream()
cuda.external_stream(s.handle)
cuda.event()
s.synchronize()
s.query()
s.add_callback(print)
e.record()
e.record(s)
e.query()
e.wait(s)
e.synchronize()
cuda.synchronize()
cuda.select_device(0)
cuda.gpus[0].__enter__()
len(cuda.gpus)
cuda.get_current_device().reset()
cuda.current_context().get_memory_info()
context.synchronize()
context.memalloc(64)
context.create_stream()
cuda.memory_pool().trim()
cuda.profile_start()
cuda.close()
cuda.detect()
cuda.random.create_xoroshiro128p_states(4, 1)
"""

NEED_NONE = """
assert halved(host)[2] == host[2] / 2
assert thirds(large)[0] == 1 / 3
assert squared(3.0) == 9
assert d.shape == (64,) and repr(d) and d[2:].strides == (8,)
assert h.sum() >= 0 and large.copy().sum() == large.size
assert repr(s) and s.handle and int(s) and str(d)
cuda.is_available()
cuda.cuda_error()
cuda.is_simulated()
assert plus.nin == 2 and plus.types
"""

CHILD = """
lines = [line for line in {lines!r}.splitlines() if line]
child = os.fork()
if child == 0:
    wrong = []
    for line in lines:
        try:
            exec(line, globals())
        except (RuntimeError, numbalite.errors.NumbaliteError) as error:
            if "fork" not in str(error):
                wrong.append((line, repr(error)))
        except BaseException as error:
            wrong.append((line, repr(error)))
        else:
            {success}
    print(*wrong, sep="\\n", file=sys.stderr, flush=True)
    os._exit(len(wrong))
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert status == 0, status
assert plus(host, host)[3] == 2 * host[3] and plus(d, 1.0).copy_to_host().shape == (64,)
ready(d); lazy[1, 64](host)
s.synchronize(); e.record(s); e.synchronize()
cuda.to_device(large).copy_to_host()
assert thirds(large)[0] == 1 / 3
print("done")
"""


def run_in_forked_child(run_python, lines, success):
    result = run_python(
        SETUP + CHILD.format(lines=lines, success=success), timeout=100, check=False
    )
    assert result.stdout.endswith("done\n"), result.stdout + result.stderr


def test_device_functions_raise_in_a_forked_child(run_python):
    run_in_forked_child(run_python, NEED_A_DEVICE, "wrong.append((line, 'no error'))")


def test_functions_without_a_device_work_in_a_forked_child(run_python):
    run_in_forked_child(run_python, NEED_NONE, "pass")


@pytest.mark.parametrize("ending", ["os._exit(0)", "sys.exit(0)", "raise SystemExit(0)"])
def test_forked_child_exits_cleanly(run_python, ending):
    """Arrays, streams, host memory and pools of the parent are destroyed in the child without
    driver calls."""
    code = (
        SETUP
        + "child = os.fork()\n"
        + "if child == 0:\n"
        + "    del d, s, e, h, foreign, module, ready\n"
        + "    import gc; gc.collect()\n"
        + f"    {ending}\n"
        + "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        + "assert plus(d, 1.0).copy_to_host().shape == (64,)\n"
        + "print('done')"
    )
    result = run_python(code, timeout=100)
    assert result.stdout.endswith("done\n"), result.stdout + result.stderr


def test_fork_during_work_of_other_threads_is_safe(run_python):
    """The process forks while other threads launch, copy and allocate; the child neither hangs nor
    crashes, and the other threads continue."""
    code = SETUP + (
        "stop = threading.Event()\n"
        "turns = [0, 0, 0]\n"
        "def work(number):\n"
        "    x = cuda.to_device(host)\n"
        "    while not stop.is_set():\n"
        "        ready(x); plus(x, x); cuda.to_device(host).copy_to_host(); thirds(large)\n"
        "        turns[number] += 1\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]\n"
        "for t in threads: t.start()\n"
        "for _ in range(6):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        try: cuda.to_device(host)\n"
        "        except RuntimeError as error:\n"
        "            if 'fork' not in str(error): os._exit(2)\n"
        "        else: os._exit(3)\n"
        "        try: plus(d, d)\n"
        "        except RuntimeError: os._exit(0)\n"
        "        os._exit(4)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "before = list(turns)\n"
        "while any(now <= then for now, then in zip(turns, before)): pass\n"
        "stop.set()\n"
        "for t in threads: t.join()\n"
        "print('done')"
    )
    result = run_python(code, timeout=100, check=False)
    assert result.stdout.endswith("done\n"), result.stdout + result.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_multiprocessing_works_as_the_error_advises(run_python, tmp_path, method):
    (tmp_path / "task.py").write_text(
        "import numpy as np\n"
        "from numbalite import cuda\n"
        "def task(n): return float(cuda.to_device(np.full(4, n)).copy_to_host().sum())\n"
    )
    code = (
        "import multiprocessing, sys, os\n"
        "sys.path.insert(0, os.getcwd())\n"
        "import task\n"
        "if __name__ == '__main__':\n"
        "    assert task.task(1) == 4\n"
        f"    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
        "        print(pool.map(task.task, [2, 3]))\n"
    )
    assert run_python(code).stdout == "[8.0, 12.0]\n"
