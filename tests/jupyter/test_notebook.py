"""Tests in a real Jupyter kernel: printf of kernels, errors, progress, and modules that are not imported."""

import json
import re

import pytest

import numbalite

SETUP = """%load_ext numbalite
import warnings
warnings.simplefilter("ignore")
import numpy as np
from numbalite import cuda"""
PRINTS = """%%cuda
__global__ void tell(int n) { printf("kernel %d\\n", n); }"""


def stream_text(outputs):
    assert all(o.output_type == "stream" and o.name == "stdout" for o in outputs), outputs
    return "".join(o.text for o in outputs)


def test_notebook_shows_errors_and_prints_in_order(run_notebook):
    """Tests several features in one Jupyter kernel, because its start takes longer than all tests."""
    wrong = "%%cuda\n__global__ void k(int *x) {\n    x[0] = nothing;\n}"
    in_order = (
        "for n in range(50):\n    print('python', n)\n    tell[1, 1](n)\n    cuda.synchronize()"
    )
    late = "tell[1, 1](7)\nprint('before')"  # the program waits for the kernel only at the end of the cell
    shell_too = "import os\nos.system('echo shell')\nprint('python')"
    slow = (
        "import time\nfrom numbalite.jupyter import progress\n"
        "from numbalite.compilers import Source\n"
        "with progress.show_compilation(Source('', name='/x/slow <1>.cu'), ('cuda', 9, 0)):\n    time.sleep(2)"
    )
    outputs = run_notebook(
        SETUP, PRINTS, in_order, late, "print('next')", shell_too, wrong, "tell", slow
    )
    _, made, ordered, waited, following, spawned, refused, shown, slowly = outputs
    # A compilation of more than a second leaves an empty output.
    assert all(o.output_type == "display_data" and not o.data for o in made)
    expected = "".join(f"python {n}\nkernel {n}\n" for n in range(50))
    assert stream_text(ordered) == expected
    assert all(word in stream_text(waited) for word in ("before", "kernel 7\n"))
    assert stream_text(following) == "next\n"
    assert stream_text(spawned) == "shell\npython\n"
    *before, problem = refused
    assert all(not o.data for o in before)  # as above
    assert problem.ename == "CompileError"
    text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(problem.traceback))
    assert re.search(r"Cell In\[7\], line 3: error: .*nothing", text)
    assert len(text.splitlines()) < 8
    assert "tell(n)" in shown[0].data["text/html"] and shown[0].data["text/plain"].startswith(
        "<CUDA"
    )
    assert [o.data for o in slowly] == [{}]


@pytest.mark.parametrize("captured", [True, False], ids=["captured", "not captured"])
def test_printf_appears_in_the_cell_without_the_extension(run_notebook, captured):
    """printf also appears in the cell in lessons that only use decorators, however ipykernel
    redirects file descriptor 1."""
    kernel = (
        "import warnings\nwarnings.simplefilter('ignore')\nfrom numbalite import cuda\n"
        "@cuda.jit('void(int32)')\ndef tell(n):\n    r'printf(\"kernel %d\\n\", n);'"
    )
    _, told = run_notebook(
        kernel, "print('a')\ntell[1, 1](1)\ncuda.synchronize()\nprint('b')", captured=captured
    )
    assert stream_text(told) == "a\nkernel 1\nb\n"


def test_missing_gpu_is_shown_as_a_note(run_notebook):
    """A first notebook without a GPU has no red output; warnings of other libraries stay on
    stderr."""
    no_gpu = "import os\nos.environ.update(NUMBALITE_DRIVER='auto', CUDA_VISIBLE_DEVICES='')"
    first = "from numbalite import cuda\nfor n in range(3): cuda.device_array(3)"
    slow = "from numbalite.errors import PerformanceWarning, warn\nwarn('slow', PerformanceWarning)"
    others = "import warnings\nwarnings.warn('not ours')"
    silent = (
        "with warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n"
        "    warn('nobody hears', PerformanceWarning)"
    )
    _, (simulated,), (performance,), (foreign,), quiet = run_notebook(
        no_gpu, first, slow, others, silent
    )
    assert simulated.output_type == performance.output_type == "display_data"
    assert simulated.data["text/plain"].startswith("note: no CUDA driver was found: kernels run on")
    assert performance.data["text/plain"] == "note: line 2: slow"
    assert "Note: " in performance.data["text/html"]
    assert foreign.name == "stderr" and "not ours" in foreign.text
    assert quiet == []


def test_a_warning_about_a_kernel_is_a_note_with_the_line_of_the_cell(run_notebook):
    kernel = (
        "import numpy as np\nfrom numbalite import KernelWarning, cuda\n@cuda.jit\ndef k(x):\n"
        "    '''\n    if (threadIdx.x < 1);\n        x[0] = 2;\n    '''\nk[1, 1](np.ones(1))"
    )
    error = f"import warnings\nwarnings.simplefilter('error', KernelWarning)\n{kernel}"
    back = "warnings.simplefilter('default', KernelWarning)\n%load_ext numbalite"
    whole = "%%cuda\n__global__ void k(int *x) {\n    x[0] == 1;\n}"
    (note,), (raised,), _, (unit,) = run_notebook(kernel, error, back, whole)
    text = note.data["text/plain"]
    assert text.startswith("note: Cell In[1], line 6: the ; ends the if")
    assert "    if (threadIdx.x < 1);\n" in text and "<pre" in note.data["text/html"]
    assert raised.output_type == "error" and raised.ename == "KernelWarning"
    assert "Cell In[2](8): the ; ends the if" in "".join(raised.traceback)
    assert "x[0] == 1 compares and drops the result" in unit.data["text/plain"]


def test_progress_is_shown_and_removed(monkeypatch):
    """Returns the messages to the front end, in order."""
    from types import SimpleNamespace

    from numbalite.compilers import Source
    from numbalite.jupyter import progress, session

    sent = []

    class DisplayPublisher:
        def publish(self, data, metadata, transient, update):
            sent.append((data.get("text/plain"), update, transient["display_id"]))

    shell = SimpleNamespace(display_pub=DisplayPublisher(), kernel=object())
    monkeypatch.setattr(session, "shell", lambda: shell)
    monkeypatch.setattr(progress, "DELAY", 0.05)
    monkeypatch.setattr(progress, "STEP", 0.05)
    import time

    with progress.show_compilation(Source("", name="matmul.cu"), ("cuda", 9, 0)):
        deadline = time.monotonic() + 60
        while len(sent) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert sent[0][0] == "compiling matmul for sm_90 … 0 s" and not sent[0][1]
    assert len(sent) > 2 and all(update for _, update, _ in sent[1:])
    assert sent[-1][0] is None
    assert len({identity for _, _, identity in sent}) == 1
    sent.clear()
    with progress.show_compilation(Source("", name="matmul.cu"), ("sim",)):
        pass
    assert not sent
    shell.kernel = None  # a terminal
    monkeypatch.setattr(progress, "DELAY", 0)
    with progress.show_compilation(Source("", name="matmul.cu"), ("sim",)):
        time.sleep(0.05)
    assert not sent


def test_the_front_end_extension_has_our_version(checkout_root):
    package = json.loads(
        (checkout_root / "numbalite/jupyter/labextension/package.json").read_text()
    )
    assert package["version"] == numbalite.__version__
    script = (
        checkout_root / "numbalite/jupyter/labextension" / package["jupyterlab"]["_build"]["load"]
    )
    assert f"_JUPYTERLAB.{package['name']} = " in script.read_text()


def test_plain_python_imports_no_notebook_modules(run_python):
    result = run_python(
        "import sys, numpy as np\n"
        "from numbalite import cuda\n"
        "@cuda.jit('void(int32)')\n"
        "def tell(n):\n"
        "    r'printf(\"kernel %d\\n\", n);'\n"
        "tell[1, 1](1)\ncuda.synchronize()\n"
        "print(sorted(m for m in sys.modules if 'jupyter' in m or m == 'IPython'), flush=True)"
    )
    assert result.stdout.splitlines() == ["kernel 1", "[]"]
