"""Runs the programs in the notebooks' folder as a user would start them."""

import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "notebooks"


@pytest.mark.parametrize("workers", [3])
def test_dask_workers_each_use_a_device(run_python, driver_kind, workers):
    """Runs worker processes of dask.distributed, each with a device; on the simulator three workers
    share two devices."""
    pytest.importorskip("distributed")
    pytest.importorskip("dask.array")
    result = run_python(
        "import runpy, sys\n"
        "if __name__ == '__main__':\n"
        "    sys.argv = sys.argv[1:]\n"
        "    runpy.run_path(sys.argv[0], run_name='__main__')\n",
        FOLDER / "dask_workers.py",
        workers,
        NUMBALITE_DRIVER=driver_kind,
        NUMBALITE_SIM_DEVICES="2",
    )
    places = dict(re.findall(r"worker (\d) on device (\d)(?=,| *$)", result.stdout, re.M))
    assert set(places) == {str(i) for i in range(workers)}, result.stdout
    if driver_kind == "sim":
        assert all(int(device) == int(worker) % 2 for worker, device in places.items()), places
    assert result.stdout.count("fetched as DeviceNDArray") == workers
