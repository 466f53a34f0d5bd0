"""Runs the programs of docs/guide/scaling-out.md, which use several devices and processes. On the
simulator the programs have two devices, on a GPU machine all devices."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from kit.paths import python_path

from numbalite import cuda

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "docs" / "guide" / "programs"


@pytest.fixture
def run_command(driver_kind, tmp_path):
    """run_command(program or code, *arguments, by=[...], **environment): runs the command as a user would
    type it; returns its output."""

    def run_file(program, *arguments, by=(sys.executable,), **environment):
        path = PROGRAMS / program if program.endswith((".py", ".sh")) else tmp_path / "code.py"
        if not path.exists():
            path.write_text(program)
        given = {
            **os.environ,
            "PYTHONPATH": python_path(ROOT),
            "NUMBALITE_DRIVER": driver_kind,
            "NUMBALITE_SIM_DEVICES": "2",
            **environment,
        }
        result = subprocess.run(
            [*by, path, *map(str, arguments)],
            capture_output=True, text=True, timeout=200, cwd=tmp_path, env=given, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stdout + result.stderr
        return result

    return run_file


def ranks_and_devices(output):
    """Returns rank -> device, from the output of the programs."""
    return {
        int(rank): int(device)
        for rank, device in re.findall(r"rank (\d) of \d on device (\d)", output)
    }


def expected_devices(count):
    """Returns the expected device of each rank."""
    return {
        rank: rank % max(len(cuda.gpus), 1 if not cuda.is_simulated() else 2)
        for rank in range(count)
    }


# ---- one process, several devices
@pytest.mark.parametrize("devices", [1, 3, 8])
def test_diffusion_example_uses_each_device(run_command, driver_kind, devices, tmp_path):
    if driver_kind == "cuda":
        devices = min(devices, len(cuda.gpus))
    file = tmp_path / "timeline.json"
    text = run_command("diffusion.py", 301, 40, devices, file, NUMBALITE_SIM_DEVICES="8").stdout
    assert text.startswith(f"{devices} devices, 301 x 301")
    rows = json.loads(file.read_text())
    assert {device for _, device, *_ in rows} == set(range(devices))
    assert all(begin <= end for *_, begin, end in rows)
    assert sum(what.startswith("copy") for what, *_ in rows) == 2 * (devices - 1)


# ---- Dask
def test_dask_example_uses_each_device(run_command):
    pytest.importorskip("distributed")
    pytest.importorskip("dask.array")
    text = run_command("dask_blocks.py").stdout
    assert "100000 elements of a Dask array" in text
    places = dict(re.findall(r"worker (\d) has it on device (\d)", text))
    assert {int(k): int(v) for k, v in places.items()} == expected_devices(2)


SHARING = """
import numpy as np
from distributed import Client, LocalCluster
from numbalite import cuda, vectorize

@vectorize(["float64(float64)"], target="cuda")
def twice(x):
    "return 2 * x;"

def where(x):
    return twice(cuda.to_device(x)).device

def main():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        for _ in range(2):
            print([
                client.submit(where, np.arange(3.0), workers=[w], pure=False).result()
                for w in client.scheduler_info()["workers"]
            ])

if __name__ == "__main__":
    main()
"""


@pytest.mark.sim
def test_workers_sharing_a_device_warn(run_command):
    """If a machine has two devices, two workers without an assigned device warn once each."""
    pytest.importorskip("distributed")
    untold = run_command(SHARING)
    assert untold.stdout == "[0, 0]\n" * 2
    for worker in 0, 1:
        assert untold.stderr.count(f"worker {worker} uses device 0 of 2, as every worker does") == 1
    assert "DevicePerWorker()" in untold.stderr


@pytest.mark.sim
def test_workers_with_a_selected_device_do_not_warn(run_python):
    pytest.importorskip("distributed")
    code = """
import sys, types, warnings
from numbalite import config, cuda
from numbalite.runtime import devices, workers
workers.get_worker = lambda: types.SimpleNamespace(name="w-3")
def warnings_of_worker(device=0):
    workers._here.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        workers.warn_of_shared_device(device)
        workers.warn_of_shared_device(device)
    return [str(w.message) for w in caught]
(message,) = warnings_of_worker()
assert message.startswith("worker w-3 uses device 0 of 2")
assert not warnings_of_worker(1)
with cuda.gpus[0]:
    assert not warnings_of_worker()
config.DEVICE = 0
assert not warnings_of_worker()
del config.DEVICE
sys.modules["dask_cuda"] = None
assert not warnings_of_worker()
del sys.modules["dask_cuda"]
assert warnings_of_worker()
cuda.set_default_device(0)
assert not warnings_of_worker()
devices.default_is_chosen = False
def raise_no_task():
    raise ValueError("no task")
workers.get_worker = raise_no_task
assert not warnings_of_worker()
"""
    run_python(code, NUMBALITE_DRIVER="sim", NUMBALITE_SIM_DEVICES="2")
    run_python(code.replace("(message,) = ", "assert not ").partition("\nassert message")[0],
               NUMBALITE_DRIVER="sim", NUMBALITE_SIM_DEVICES="2", NUMBALITE_DEVICE="0")  # fmt: skip


def test_worker_number_is_parsed_from_its_name():
    pytest.importorskip("distributed")
    from numbalite.runtime.workers import number_in_name

    names = {0: 0, "3": 3, "gpu-2": 2, "SLURMCluster-4-1": 1, "host_7": 7}
    assert {name: number_in_name(name) for name in names} == names
    for name in ("tcp://127.0.0.1:4321", "gpu", "gpu2x", ""):
        with pytest.raises(ValueError, match="has no number at its end.*--name gpu --nworkers"):
            number_in_name(name)


def test_threads_as_dask_workers_raise():
    """If the variable were set after the start, all ranks would use the device of the last rank."""
    distributed = pytest.importorskip("distributed")
    from numbalite.runtime import devices, workers

    options = {"n_workers": 2, "processes": False, "dashboard_address": None}
    before = dict(workers._here), devices.default_is_chosen
    try:
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            with pytest.raises(RuntimeError, match=r"are threads of one process.*processes=True"):
                client.register_plugin(workers.DevicePerWorker(lambda worker: 0))
    finally:
        workers._here.clear()
        workers._here.update(before[0])
        devices.default_is_chosen = before[1]


# ---- ranks
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpiexec_command():
    pytest.importorskip("mpi4py")
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    found = shutil.which("mpiexec", path=path)
    if found is None:
        pytest.skip("needs mpiexec")
    return [found, "-n", "2", sys.executable]


@pytest.mark.sim
def test_mpi_example_uses_each_device(run_command):
    """On a GPU the MPI library must be a CUDA-aware one, which the machine may lack."""
    assert ranks_and_devices(
        run_command("mpi_ranks.py", by=mpiexec_command(), **AS_ROOT).stdout
    ) == expected_devices(2)


def test_torch_example_uses_each_device(run_command):
    """Uses NCCL on GPUs, and gloo otherwise."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    count = 2 if cuda.is_simulated() else len(cuda.gpus)
    by = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(count)]
    assert ranks_and_devices(run_command("torch_ranks.py", by=by).stdout) == expected_devices(count)


@pytest.mark.gpu
def test_nccl_example_uses_each_device(run_command):
    if importlib.util.find_spec("nccl") is None:
        pytest.skip("needs nccl4py")
    assert ranks_and_devices(
        run_command("nccl_ranks.py", by=mpiexec_command(), **AS_ROOT).stdout
    ) == expected_devices(2)


SRUN = """#!/bin/bash
# As SLURM: the command once for each task, and each knows its number on the node.
for SLURM_LOCALID in 0 1; do export SLURM_LOCALID; "$@" & done
wait
"""


@pytest.mark.sim
def test_slurm_tasks_use_the_device_of_their_rank(run_command, tmp_path):
    """Each task uses the device with the number of the task."""
    (tmp_path / "srun").write_text(SRUN)
    (tmp_path / "srun").chmod(0o755)
    (tmp_path / "task.py").write_text(
        "import os\nfrom numbalite import cuda, config\n"
        "rank, device = os.environ['SLURM_LOCALID'], cuda.to_device([1]).device\n"
        "print(f'rank {rank} of 2 on device {device}')\n"  # one write call, because the tasks share a pipe
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    job = run_command(
        "job.sh", sys.executable, "task.py", by=["bash"], PATH=path, TMPDIR=str(tmp_path), USER="me"
    )
    assert ranks_and_devices(job.stdout) == expected_devices(2), job.stdout + job.stderr
    assert (tmp_path / "numbalite-me").exists() or "NUMBALITE_CACHE_DIR" in (
        PROGRAMS / "job.sh"
    ).read_text()
