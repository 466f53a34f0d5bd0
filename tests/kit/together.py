"""An object that several processes of a test run need, such as an extension or a site, is created by the
first of these processes."""

import fcntl
import os


def make_folder_once(tmp_path_factory, name, make):
    """Returns the folder of this name that the processes of the run share; make(folder) fills it,
    in one of them.

    If make() fails, the next process that needs the object calls it again.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / f"shared-{name}"
    with open(base / f"shared-{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        if not done.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            done.touch()
    return folder
