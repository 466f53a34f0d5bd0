"""Pictures of a profile: they are drawn from the addresses of one warp."""

import collections
import re
import xml.etree.ElementTree

import numpy as np
import pytest

from numbalite import cuda
from numbalite.compilers import disassembler
from numbalite.profiler import pictures, timing
from numbalite.profiler.counters import Line
from numbalite.profiler.pictures import AccessSample

pytestmark = pytest.mark.sim


@pytest.fixture(autouse=True)
def disable_disassembler(monkeypatch):
    monkeypatch.setattr(disassembler, "find_tool", lambda name: None)


def box_colors(picture):
    """Returns a dict from colors to numbers of boxes, without the background and the legend."""
    root = xml.etree.ElementTree.fromstring(picture.svg)
    found = {}
    for box in list(root)[1:]:
        is_legend = box.get("width") == "10.0" and box.get("height") == "10.0"
        if box.tag.endswith("rect") and not is_legend:
            found[box.get("fill")] = found.get(box.get("fill"), 0) + 1
    return found


def sample_of_accesses(kind, size, index):
    return AccessSample(kind, size, tuple(None if i < 0 else 4096 + size * int(i) for i in index))


LINE = Line("a<b>.py", 3)


@pytest.mark.parametrize("step", [1, 2, 3, 8, 32])
def test_memory_picture_marks_each_accessed_word(step):
    index = np.arange(32) * step
    drawn = box_colors(pictures.sector_picture(LINE, sample_of_accesses("global_load", 4, index)))
    lines = sorted({4 * i // 128 for i in index})[:16]
    words = [i for i in index if 4 * i // 128 in lines]
    sectors = {4 * i // 32 for i in words}
    assert drawn[pictures._WANTED] == len(words)
    assert drawn.get(pictures._PARTLY, 0) == 8 * len(sectors) - len(words)
    assert sum(drawn.values()) == 32 * len(lines)


@pytest.mark.parametrize(("size", "step"), [(4, 1), (4, 2), (4, 32), (4, 0), (8, 1), (1, 3)])
def test_bank_picture_has_a_column_for_each_bank(size, step):
    index = np.where(np.arange(32) % 5 == 4, -1, np.arange(32) * step)
    drawn = box_colors(pictures.bank_picture(LINE, sample_of_accesses("shared_load", size, index)))
    words = {(size * int(i) + b) // 4 for i in index if i >= 0 for b in range(size)}
    counts = collections.Counter(word % 32 for word in words)
    passes = -(-len(words) // 32)
    necessary = sum(min(count, passes) for count in counts.values())
    assert drawn[pictures._WANTED] == necessary
    assert drawn.get(pictures._BAD, 0) == len(words) - necessary
    assert drawn.get(pictures._FREE, 0) == 32 - len(counts)


def test_picture_cost_is_relative_to_the_minimum():
    lane = np.arange(32)
    assert pictures.relative_cost(sample_of_accesses("global_load", 4, lane)) == 1
    assert pictures.relative_cost(sample_of_accesses("global_store", 4, lane * 32)) == 8
    assert pictures.relative_cost(sample_of_accesses("shared_load", 4, lane * 32)) == 32
    assert pictures.relative_cost(sample_of_accesses("shared_load", 4, lane * 0)) == 1
    assert pictures.relative_cost(sample_of_accesses("shared_store", 8, lane)) == 1


@cuda.jit("void(const float32[:, ::1], float32[:, ::1])")
def transpose(a, out):
    """
    auto [x, y] = grid<2>();
    out(x, y) = 2 * a(y, x); // both
    """


def test_profiled_launch_has_access_pictures(tmp_path):
    a = cuda.to_device(np.ones((64, 64), np.float32))
    with cuda.profile(gpu="A100") as p:
        transpose[(2, 2), (32, 32)](a, cuda.device_array((64, 64), np.float32))
    (line,) = (line for line in p.transpose.lines if "both" in line.text)
    assert box_colors(line.picture()) == {pictures._WANTED: 32}
    store = line.picture("global_store")
    assert box_colors(store)[pictures._WANTED] == 16
    assert "and 16 more cache lines" in store._repr_svg_()
    store.save(tmp_path / "store.svg")
    assert (tmp_path / "store.svg").read_text() == store.svg
    with pytest.raises(
        LookupError, match="no access of kind 'shared_load'.*global_load, global_store"
    ):
        line.picture("shared_load")
    page = tmp_path / "page.html"
    p.save(page)
    assert page.read_text().count("<svg") == 2
    assert "Roofline of the A100" in page.read_text()
    p.save(tmp_path / "numbers.json")
    assert '"kernel": "transpose"' in (tmp_path / "numbers.json").read_text()
    with pytest.raises(ValueError, match=r"\.html or \.json"):
        p.save("profile.txt")
    assert (
        "a&lt;b&gt;.py"
        in pictures.sector_picture(LINE, sample_of_accesses("global_load", 4, range(32))).svg
    )


def test_a_roofline_has_a_point_for_each_kernel_with_arithmetic():
    a = cuda.to_device(np.ones((64, 64), np.float32))
    with cuda.profile(gpu="H200") as p:
        transpose[(2, 2), (32, 32)](a, a)
    launch = p.launches[0]
    launch.work = None
    assert "operations are counted with nvdisasm" in p.roofline.svg
    launch.work = timing.WarpInstructions(*[0.0] * len(timing.WarpInstructions._fields))
    assert "no kernel has float32 arithmetic" in p.roofline.svg
    launch.work = timing.WarpInstructions(*[1e6] * len(timing.WarpInstructions._fields))
    svg = pictures.roofline_plot([launch]).svg
    assert len(re.findall("<circle", svg)) == 1
    assert "66.9 Tflop/s" in svg
    assert "4.8 TB/s" in svg
