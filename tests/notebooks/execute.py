"""Runs notebooks in Jupyter kernels: reads a path from each line of its input, and writes the results there.

Answers each line with one line of JSON: null, or the error. Kernels use this interpreter,
regardless of the kernels that are registered on the machine. The imports of a kernel take longer
than many
notebooks, so they are done once: a kernel is a fork of a process that has done only these imports.
"""

import json
import multiprocessing
import os
import sys

FORKS = multiprocessing.get_context("forkserver")
IMPORTED = (
    "ipykernel.kernelapp", "numpy.random", "numpy.testing", "numbalite.cuda", "numbalite.jupyter",
    "numbalite.kernels.decorators", "numbalite.ufuncs.decorators", "drawn_once",
)  # fmt: skip


def serve_kernel(arguments):
    """A Jupyter kernel in a separate process."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()
    sys.modules["debugpy"] = (
        None  # disables the debugger, which ipykernel would load for each kernel
    )
    os.environ["JPY_PARENT_PID"] = str(os.getppid())  # the kernel ends with its parent process

    class KernelApp(IPKernelApp):
        def init_code(self):
            # matplotlib selects its backend when a kernel imports it,
            # but this kernel was forked after the import.
            if "matplotlib.pyplot" in sys.modules:
                self.shell.enable_matplotlib("inline")
            super().init_code()

    KernelApp.launch_instance(argv=arguments)


class KernelProcess:
    """A kernel's process, with the interface of subprocess.Popen."""

    stdin = stdout = stderr = None

    def __init__(self, arguments):
        self.forked = forked = FORKS.Process(target=serve_kernel, args=(arguments,))
        forked.start()
        self.pid, self.kill, self.terminate = forked.pid, forked.kill, forked.terminate

    def poll(self):
        return self.forked.exitcode

    def wait(self):
        self.forked.join()
        return self.forked.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)


def make_kernel():
    """Returns the class of the kernels' managers."""
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_client.provisioning import LocalProvisioner
    from traitlets import default

    class ForkedProvisioner(LocalProvisioner):
        async def launch_kernel(self, cmd, **kwargs):
            self.process = KernelProcess(cmd[1:])
            self.pid = self.process.pid
            return self.connection_info

    class ForkedKernel(AsyncKernelManager):
        """A kernel of this interpreter, with which the parent communicates through sockets in the file
        system."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.kernel_id = "kernel"
            self.provisioner = ForkedProvisioner(
                kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self
            )

        @default("transport")
        def _ipc(self):
            return "ipc"

        @property
        def kernel_spec(self):
            spec = super().kernel_spec
            spec.argv = [sys.executable, "-f", "{connection_file}"]
            return spec

    return ForkedKernel


def execute_notebook(file, kernel):
    """Runs the notebook in a file and puts the results there; None, or what went wrong."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    problem = None
    book = nbformat.read(file, as_version=4)
    client = NotebookClient(
        book, kernel_manager_class=kernel, timeout=240, shutdown_kernel="immediate"
    )
    try:
        client.execute()
    except CellExecutionError as error:
        problem = str(error)
    except Exception as error:  # the kernel has died, or a cell never ended
        problem = f"{type(error).__name__}: {error}"
    nbformat.write(book, file)
    return problem


def main():
    # printf of kernels in notebooks is also written to the standard output of this process.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # ipykernel does this, too, but only before matplotlib is imported.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    # The note about the extension is for readers who start a notebook of their own.
    os.environ["NUMBALITE_NOTEBOOK_HINT"] = "0"
    # The kernel searches modules in the default path of the interpreter, not in our sys.path.
    paths = [os.environ.get("PYTHONPATH"), os.path.dirname(os.path.abspath(__file__))]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    FORKS.set_forkserver_preload(list(IMPORTED))
    kernel = make_kernel()
    for line in sys.stdin:
        print(json.dumps(execute_notebook(line.strip(), kernel)), file=answers, flush=True)


if __name__ == "__main__":
    main()
