"""Runs notebooks in Jupyter kernels: reads a path from each line of its input, and writes the results there.

Answers each line with one line of JSON: null, or what went wrong. The kernels are this interpreter,
whatever kernels are registered on the machine.
"""

import json
import os
import sys

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets import default


class Kernel(AsyncKernelManager):
    """A kernel of this interpreter, reached by sockets in the file system."""

    @default("transport")
    def _ipc(self):
        return "ipc"

    @property
    def kernel_spec(self):
        spec = super().kernel_spec
        spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return spec


# What the notebooks' kernels print (printf) goes to the standard output that they were given, too.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

for line in sys.stdin:
    file, problem = line.strip(), None
    book = nbformat.read(file, as_version=4)
    client = NotebookClient(
        book, kernel_manager_class=Kernel, timeout=240, shutdown_kernel="immediate"
    )
    try:
        client.execute()
    except CellExecutionError as error:
        problem = str(error)
    except Exception as error:  # the kernel died, or a cell never ended
        problem = f"{type(error).__name__}: {error}"
    nbformat.write(book, file)
    print(json.dumps(problem), file=answers, flush=True)
