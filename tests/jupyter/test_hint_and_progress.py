"""Tests in a real Jupyter kernel: the note about the extension, and the progress line of long
kernels."""

import os
import re
import threading
import time

import numpy as np
import pytest

from numbalite import _core, cuda
from numbalite.jupyter import progress

HINT = "%load_ext numbalite adds cells of CUDA C++"
QUIET = "import warnings; warnings.simplefilter('ignore')\n"


def output_text(outputs):
    return "".join(o.get("text", "") + o.get("data", {}).get("text/plain", "") for o in outputs)


def test_the_first_import_mentions_the_extension_once(run_notebook):
    first, second, third = run_notebook(
        QUIET + "from numbalite import cuda\nprint('done')",
        "from numbalite import cuda, jit",
        "import numbalite.cuda as nc",
        hint="1",
    )
    assert output_text(first).count(HINT) == 1 and "done" in output_text(first)
    assert first[-1].output_type == "display_data"
    assert "text/html" in first[-1].data
    assert second == third == []


@pytest.mark.parametrize(
    "cells",
    [
        [QUIET + "%load_ext numbalite\nfrom numbalite import cuda"],
        [QUIET + "from numbalite import cuda\n%load_ext numbalite"],
        [QUIET + "%load_ext numbalite", "from numbalite import cuda"],
        [QUIET + "%config NullFormatter\nimport os", "from numbalite import config"],
        ["import os\nos.environ['NUMBALITE_NOTEBOOK_HINT'] = '0'\nfrom numbalite import cuda"],
        ["from numbalite.course import size\nfrom numbalite import cuda"],
        ["import importlib\nm = importlib.import_module('numba' + 'lite.cuda')"],
    ],
    ids=["before", "after", "earlier", "no cuda", "switched off", "lessons", "other programs"],
)
def test_extension_hint_is_not_shown_if_useless(run_notebook, cells):
    assert HINT not in "".join(map(output_text, run_notebook(*cells, hint="1")))


def test_extension_hint_is_not_shown_outside_of_notebooks(run_python):
    assert "load_ext" not in run_python("from numbalite import cuda").stdout
    assert "load_ext" not in run_python("import IPython\nfrom numbalite import cuda").stdout


def test_a_store_past_the_end_names_the_cell_of_the_launch(run_notebook):
    (outputs,) = run_notebook(
        QUIET + "import numpy as np\nfrom numbalite import cuda\n"
        "d = cuda.to_device(np.zeros(10, 'f4'))\n"
        "@cuda.jit\ndef over(x):\n    'x.data()[10] = 1;'\n"
        "try:\n    over[1, 1](d)\n    cuda.synchronize()\nexcept Exception as e:\n    print(e)",
        hint="0",
    )
    assert re.search(r"launched at Cell In\[\d+\], line 9", output_text([outputs[-1]]))


SPIN = """__global__ void spin(int *x, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum = sum * 0.999f + i;
    x[blockIdx.x] = (int)sum;
}"""


def test_progress_counts_the_blocks_of_a_running_grid():
    if not cuda.is_simulated():
        pytest.skip("a GPU does not report the blocks that have ended")
    kernel = cuda.jit(SPIN)
    x = cuda.to_device(np.zeros(4000, np.int32))
    kernel[1, 1](x, 1)
    cuda.synchronize()
    assert _core.progress() is None
    seen = []
    done = threading.Event()

    def poll_progress():
        while not done.is_set():
            seen.append(_core.progress())
            time.sleep(0.01)

    thread = threading.Thread(target=poll_progress)
    thread.start()
    count = 20_000
    while True:  # runs for some tenths of a second on any machine
        seen.clear()  # the counts of the last grid are compared
        begun = time.monotonic()
        kernel[4000, 1](x, count)
        cuda.synchronize()
        if time.monotonic() - begun > 0.3:
            break
        count *= 3
    done.set()
    thread.join()
    assert _core.progress() is None
    seen = [found for found in seen if found]
    assert {found[0] for found in seen} == {"spin"} and {found[2] for found in seen} == {4000}
    assert all(0 <= found[1] <= 4000 for found in seen)
    assert [found[1] for found in seen] == sorted(found[1] for found in seen)
    assert seen[-1][1] > 0


def test_progress_line_describes_a_running_kernel():
    assert progress.progress_text("spin", 1234, 65536, 12.3) == (
        "spin on the simulator: 1,234 of 65,536 blocks … 12 s"
    )
    assert progress.progress_text("", 0, 0, 3.0) == "the GPU is at work … 3 s"


LONG = f"""kernel = cuda.jit('''{SPIN}''')
x = cuda.to_device(np.zeros(512, np.int32))
kernel[1, 1](x, 1)
cuda.synchronize()
import time
def run(seconds):
    count, begun = 1_000_000, time.monotonic()
    while time.monotonic() - begun < seconds:
        taken = time.monotonic()
        kernel[512, 1](x, count)
        cuda.synchronize()
        taken = time.monotonic() - taken
        count = min(int(count * max(seconds / max(taken, 1e-3), 1) * 1.3), 2_000_000_000)
"""


def run_cells_and_collect_outputs(root, cells, environment):
    """Returns the outputs of each cell, and everything that was displayed or updated while it
    ran."""
    import nbclient
    from nbformat.v4 import new_code_cell, new_notebook

    shown = []

    class RecordingClient(nbclient.NotebookClient):
        def process_message(self, message, cell, index):
            if message["msg_type"] in ("display_data", "update_display_data"):
                shown.append((index, message["content"]["data"].get("text/plain", "")))
            return super().process_message(message, cell, index)

    book = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    environment = {**os.environ, "PYTHONPATH": str(root), **environment}
    RecordingClient(book, timeout=120).execute(env=environment)
    return [cell.outputs for cell in book.cells], shown


SETUP = "%load_ext numbalite\n" + QUIET + "import numpy as np\nfrom numbalite import cuda\n" + LONG


def test_long_kernels_show_progress(checkout_root):
    outputs, shown = run_cells_and_collect_outputs(
        checkout_root, [SETUP, "run(3.5)\nprint('end')", "1 + 1"], {}
    )
    lines = [text for index, text in shown if index == 1 and text]
    simulated = r"spin on the simulator: \d+ of 512 blocks … \d+ s"
    pattern = simulated if cuda.is_simulated() else r"the GPU is at work … \d+ s"
    assert lines and all(re.fullmatch(pattern, line) for line in lines), shown
    assert output_text(outputs[1]).strip() == "end", "the line is gone when the kernel has ended"
    assert [index for index, text in shown if index == 2 and text] == []


def test_progress_can_be_disabled(checkout_root):
    _, shown = run_cells_and_collect_outputs(
        checkout_root, [SETUP, "run(3)"], {"NUMBALITE_NOTEBOOK_PROGRESS": "0"}
    )
    assert [text for index, text in shown if "blocks" in text or "at work" in text] == []
