"""Tests ufuncs of dates and times."""

import numpy as np
import pytest

from numbalite import cuda, guvectorize, types, vectorize

DAY, HOUR = (types.from_dtype(np.dtype(f"M8[{unit}]")) for unit in "Dh")
DAYS = types.from_dtype(np.dtype("m8[D]"))
START = np.datetime64("2005-02-10")


@pytest.fixture
def moments():
    begin = np.arange("2005-02", "2005-04", dtype="M8[D]")
    end = begin + 3 * np.arange(begin.size)
    end[3] = "NaT"
    return begin, end


@pytest.mark.parametrize("target", ["cuda", "cpu", "parallel"])
def test_datetime_units_are_converted(target, moments):
    begin, end = moments

    @vectorize([(DAY, DAY), (HOUR, HOUR)], target=target)
    def time_difference(a, b):
        return b - a

    @vectorize([types.boolean(DAY, types.int32)], target=target)
    def is_early(moment, count):
        return moment < START and count > 3

    @guvectorize([(DAY, DAYS, DAY[:])], "(),()->()", target=target)
    def add_duration(moment, duration, out):
        out[0] = moment + duration

    def assert_equal_times(found, wanted):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)

    assert_equal_times(time_difference(begin, end), end - begin)
    hours = begin.astype("M8[h]")
    assert_equal_times(time_difference(hours, end), end - hours)
    assert time_difference(START, START + np.timedelta64(2, "D")) == np.timedelta64(2, "D")
    out = np.zeros(begin.size, "m8[D]")
    assert time_difference(begin, end, out=out) is out
    assert_equal_times(out, end - begin)
    count = np.arange(begin.size, dtype=np.int32)
    assert_equal_times(is_early(begin, count), (begin < START) & (count > 3))
    assert_equal_times(add_duration(begin, end - begin), end)


def test_datetime_ufuncs_run_on_the_device(moments):
    begin, end = moments

    @vectorize([(DAY, DAY)], target="cuda")
    def time_difference(a, b):
        return b - a

    given = cuda.to_device(begin), cuda.to_device(end)
    out = cuda.device_array(begin.shape, "m8[D]")
    assert time_difference(*given, out) is out
    for found in (out, time_difference(*given)):
        np.testing.assert_array_equal(found.copy_to_host(), end - begin)
    for use, told in (
        (
            lambda: time_difference(begin, 3.5),
            r"takes timedelta64\[D\]\(datetime64\[D\], datetime64\[D\]\)",
        ),
        (lambda: time_difference(begin), "takes from 2 to 3 positional arguments but 1 were given"),
        (lambda: time_difference(begin, end, out, out=out), "both a positional and keyword"),
        (lambda: time_difference(*given, np.zeros(begin.size)), r"timedelta64\[D\] is required"),
    ):
        with pytest.raises(TypeError, match=told):
            use()
    with pytest.raises(AttributeError, match=r"it has no 'reduce': .* x.view\('int64'\)"):
        time_difference.reduce(begin)
