"""The script `.ci/images` makes packs of compiled images that a package with the same sources loads."""

import pathlib
import subprocess
import sys

from kit.needs import needs_nvrtc

from numbalite.compilers import pack

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "images"


@needs_nvrtc
def test_pack_of_a_function_has_its_images(tmp_path):
    command = [SCRIPT, "--arch", "90", "--dtypes", "f4", "--only", "sum", "--folder", tmp_path]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    assert "2 images" in done.stdout and not done.stderr
    made = pack.Pack((tmp_path / "sm_90.pack").read_bytes())
    assert len(made) == 2 and made.digest == pack.digest_of_sources()
    images = [made.find_image(key) for key in made._images]
    assert all(image.data[:4] == b"\x7fELF" for image in images)
