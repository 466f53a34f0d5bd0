"""Tests the stop button of a notebook: the cell ends, and the next cell uses the arrays from before, on the simulator
and on a GPU."""

import contextlib
import os
import time

import pytest
from jupyter_client import KernelManager

from numbalite import cuda

SETUP = """%load_ext numbalite
import numpy as np
from numbalite import config, cuda
waits = cuda.jit("__global__ void waits(volatile int *x) { while (x[0] == 0) { } x[1] = 5; }")
x, kept = cuda.to_device(np.zeros(2, np.int32)), cuda.to_device(np.arange(1000))
ones = cuda.to_device(np.ones(2, np.int32))
waits[4, 32](ones)
int(kept.sum())"""
NEXT = """waits[4, 32](ones)
print(int(kept.sum()), int(ones[1]), config.STOPPABLE)"""


class NotebookKernel:
    def __init__(self, manager, client):
        self.manager, self.client = manager, client

    def run_cell(self, cell, seconds=None, timeout=60):
        """Returns the output of a cell, its error's name and value, and the time after the
        interrupt.

        ``seconds`` after the cell has begun, the stop button is pressed.
        """
        request = self.client.execute(cell)
        text, error, pressed, begin = "", ("", ""), None, None
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            message = None
            with contextlib.suppress(Exception):  # queue.Empty
                message = self.client.get_iopub_msg(timeout=0.05)
            now = time.monotonic()
            if begin and seconds is not None and pressed is None and now - begin > seconds:
                pressed = now
                self.manager.interrupt_kernel()
            if message is None or message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "busy":
                begin = now
            elif kind == "status" and content["execution_state"] == "idle":
                return text, error, now - (pressed or begin)
            elif kind == "stream":
                text += content["text"]
            elif kind == "error":
                error = content["ename"], content["evalue"]
        raise AssertionError(f"the cell did not end: {text} {error}")


@pytest.fixture
def start_notebook(checkout_root):
    started = []

    def start_kernel(**environment):
        manager = KernelManager()
        variables = {**os.environ, "PYTHONPATH": str(checkout_root), "NUMBALITE_NOTEBOOK_HINT": "0"}
        variables.pop("NUMBALITE_STOPPABLE", None)
        manager.start_kernel(env={**variables, **environment})
        client = manager.client()
        started.append((manager, client))
        client.start_channels()
        client.wait_for_ready(timeout=60)
        return NotebookKernel(manager, client)

    yield start_kernel
    for manager, client in started:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        client.context.term()
        manager.context.term()


@pytest.mark.parametrize(
    "cell",
    ["waits[4, 32](x); cuda.synchronize()", "waits[4, 32](x); print(x)", "waits[4, 32](np.zeros(2, np.int32))"],
)  # fmt: skip
def test_the_stop_button_ends_the_cell_and_keeps_the_arrays(start_notebook, cell):
    notebook = start_notebook()
    assert notebook.run_cell(SETUP)[1] == ("", "")
    for _ in range(2):
        _, (name, value), took = notebook.run_cell(cell, seconds=0.5)
        assert name == "KeyboardInterrupt" and "waits" in value
        assert took < 5
        text, error, _ = notebook.run_cell(NEXT)
        assert (text.split(), error) == (["499500", "5", "True"], ("", ""))


@pytest.mark.skipif(cuda.is_simulated(), reason="the simulator stops every kernel")
def test_without_the_option_the_message_recommends_it(start_notebook):
    notebook = start_notebook(NUMBALITE_STOPPABLE="0")
    notebook.run_cell(SETUP)
    _, (name, value), _ = notebook.run_cell("waits[4, 32](x); cuda.synchronize()", seconds=0.5)
    assert name == "KeyboardInterrupt" and "stoppable=True" in value
