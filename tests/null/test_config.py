"""Tests the table of environment variables: defaults, aliases, invalid values, lazy reading."""

import os
import pathlib

import pytest

from numbalite import config


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("NUMBALITE_", "NUMBA_")):
            monkeypatch.delenv(name)


def test_variables_have_default_values():
    for name, row in config.VARIABLES.items():
        assert getattr(config, name) == row.default
    assert config.driver() == "auto"


def test_variables_are_read_at_each_access(monkeypatch):
    monkeypatch.setenv("NUMBALITE_SIM_DEVICES", "2")
    assert config.SIM_DEVICES == 2
    monkeypatch.setenv("NUMBALITE_SIM_DEVICES", "3")
    assert config.SIM_DEVICES == 3


def test_assignment_overrides_the_environment(monkeypatch):
    monkeypatch.setenv("NUMBALITE_DRIVER", "cuda")
    monkeypatch.setitem(vars(config), "DRIVER", "sim")  # setattr would keep the value read before
    assert config.DRIVER == "sim" and config.driver() == "sim" and config.ENABLE_CUDASIM


@pytest.fixture
def restore_config():
    """Undoes the test's assignments to the configuration."""
    before = dict(vars(config))
    yield
    for name in vars(config).keys() - before.keys():
        delattr(config, name)


@pytest.mark.usefixtures("restore_config")
def test_assigned_values_equal_environment_values():
    for name, given, value in [
        ("DRIVER", " SIM ", "sim"), ("ENABLE_CUDASIM", 1, True), ("DISABLE_CACHE", "off", False),
        ("CUDA_WARN_ON_IMPLICIT_COPY", 0, False), ("DISABLE_CACHE", True, True), ("NUM_THREADS", "4", 4),
        ("NUM_THREADS", 4, 4), ("NUM_THREADS", None, None), ("SIM_DEVICES", 2, 2), ("CACHE_SIZE", "1K", 1024),
        ("CACHE_SIZE", 5000, 5000), ("FORCE_CUDA_CC", (8, 6), (8, 6)), ("FORCE_CUDA_CC", "8.6", (8, 6)),
        ("INCLUDE_PATH", ["/a", pathlib.Path("/b")], ("/a", "/b")), ("INCLUDE_PATH", "/a:/b", ("/a", "/b")),
        ("INCLUDE_PATH", (), ()), ("CACHE_DIR", pathlib.Path("/a"), "/a"), ("CACHE_DIR", None, None),
        ("OPT", "max", 3), ("OPT", 0, 0), ("SIM_CHECKS", ("race", "nan"), 4 + 64), ("SIM_CHECKS", 4, 4),
        ("SIM_CHECKS", "none", 1 << 30), ("SIM_LIMIT", 0.5, 0.5),
        ("CUDA_NVRTC_EXTRA_SEARCH_PATHS", "/c:/d", ("/c", "/d")), ("INCLUDE_PATH", "/c", ("/c",)),
    ]:  # fmt: skip
        setattr(config, name, given)
        assert getattr(config, name) == value, name
        setattr(config, name, getattr(config, name))  # a value that was read can be assigned again
        assert getattr(config, name) == value, name
    assert config.CUDA_NVRTC_EXTRA_SEARCH_PATHS == config.CUDA_INCLUDE_PATH == ("/c",)
    config.CUDA_DEBUGINFO_DEFAULT = 1
    assert config.CUDA_DEBUGINFO is True
    config.ENABLE_CUDASIM = False
    assert config.DRIVER == "auto" and not config.ENABLE_CUDASIM
    del config.DRIVER
    assert "DRIVER" not in vars(config)


@pytest.mark.usefixtures("restore_config")
def test_config_has_numbas_variables():
    config.CUDA_ENABLE_PYNVJITLINK = True  # as NVIDIA's lessons begin
    config.CUDA_ENABLE_MINOR_VERSION_COMPATIBILITY = 1
    assert not config.CUDA_USE_NVIDIA_BINDING
    assert config.NUMBA_NUM_THREADS == (config.NUM_THREADS or config.NUMBA_DEFAULT_NUM_THREADS)
    config.NUMBA_NUM_THREADS = 3
    assert config.NUM_THREADS == config.NUMBA_NUM_THREADS == 3


@pytest.mark.usefixtures("restore_config")
@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("DRIVER", "gpu", "auto or cuda or sim"), ("DRIVER", None, "text"), ("SIM_DEVICES", 0, "from 1 to 64"),
        ("SIM_DEVICES", 1.5, "from 1 to 64"), ("NUM_THREADS", True, "from 1 to"), ("DISABLE_CACHE", 2, "1 or 0"),
        ("DISABLE_CACHE", None, "text"), ("CACHE_SIZE", -1, "bytes"), ("CACHE_DIR", 3, "text"),
        ("CACHE_DIR", b"/a", "text"), ("FORCE_CUDA_CC", 9, "capability"), ("SIM_CHECKS", 1 << 20, "all, none"),
        ("SIM_CHECKS", ["races"], "all, none"), ("SIM_LIMIT", float("nan"), "seconds"),
        ("ENABLE_CUDASIM", "sim", "1 or 0"),
    ],
)  # fmt: skip
def test_invalid_assigned_values_raise(name, value, expected):
    with pytest.raises(ValueError) as caught:
        setattr(config, name, value)
    assert f"config.{name} = {value!r}" in str(caught.value) and expected in str(caught.value)
    assert name not in vars(config)


@pytest.mark.usefixtures("restore_config")
def test_unknown_names_are_not_assigned():
    with pytest.raises(AttributeError, match="no 'NUM_THREAD'; did you mean NUM_THREADS"):
        config.NUM_THREAD = 4


@pytest.mark.parametrize(
    "name, attribute, text, value",
    [
        ("NUMBA_ENABLE_CUDASIM", "DRIVER", "1", "sim"),
        ("NUMBA_ENABLE_CUDASIM", "DRIVER", "0", "auto"),
        ("NUMBALITE_DRIVER", "DRIVER", " SIM ", "sim"),
        ("NUMBA_DISABLE_CUDA", "DISABLE_CUDA", "1", True),
        ("NUMBA_CUDA_WARN_ON_IMPLICIT_COPY", "CUDA_WARN_ON_IMPLICIT_COPY", "0", False),
        ("NUMBALITE_CUDA_WARN_ON_IMPLICIT_COPY", "CUDA_WARN_ON_IMPLICIT_COPY", "off", False),
        ("NUMBA_NUM_THREADS", "NUM_THREADS", "4", 4),
        ("NUMBA_OPT", "OPT", "max", 3),
        ("NUMBA_FORCE_CUDA_CC", "FORCE_CUDA_CC", "8.6", (8, 6)),
        ("NUMBALITE_CACHE_SIZE", "CACHE_SIZE", "1.5G", 3 << 29),
        ("NUMBALITE_CACHE_SIZE", "CACHE_SIZE", "10 MiB", 10 << 20),
        ("NUMBALITE_CACHE_SIZE", "CACHE_SIZE", "4096", 4096),
        ("NUMBA_CACHE_DIR", "CACHE_DIR", "/somewhere", "/somewhere/numbalite"),
        ("NUMBALITE_CACHE_DIR", "CACHE_DIR", "/somewhere", "/somewhere"),
        ("NUMBALITE_INCLUDE_PATH", "INCLUDE_PATH", "/a:/b", ("/a", "/b")),
    ],
)
def test_environment_values_are_parsed(monkeypatch, name, attribute, text, value):
    monkeypatch.setenv(name, text)
    assert getattr(config, attribute) == value


def test_numbalite_variables_override_numba_aliases(monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    monkeypatch.setenv("NUMBALITE_DRIVER", "auto")
    assert config.DRIVER == "auto"


def test_empty_environment_variables_count_as_unset(monkeypatch):
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", "")
    monkeypatch.setenv("NUMBALITE_DRIVER", "")
    assert config.CACHE_DIR is None and config.DRIVER == "auto"


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("NUMBALITE_DRIVER", "gpu", "auto or cuda or sim"),
        ("NUMBALITE_SIM_DEVICES", "0", "an integer from 1 to 64"),
        ("NUMBALITE_SIM_DEVICES", "two", "an integer from 1 to 64"),
        ("NUMBALITE_NUM_THREADS", "-1", "an integer from 1"),
        ("NUMBALITE_CACHE_SIZE", "lots", "a number of bytes"),
        ("NUMBALITE_CACHE_SIZE", "inf", "a number of bytes"),
        ("NUMBALITE_DISABLE_CACHE", "maybe", "1 or 0"),
        ("NUMBA_ENABLE_CUDASIM", "sim", "1 or 0"),
        ("NUMBALITE_FORCE_CUDA_CC", "sm_90", "a compute capability"),
    ],
)
def test_invalid_environment_values_raise(monkeypatch, name, text, expected):
    monkeypatch.setenv(name, text)
    attributes = [
        row.name
        for row in config.VARIABLES.values()
        if name == "NUMBALITE_" + row.name or name in [a if isinstance(a, str) else a[0] for a in row.aliases]
    ]  # fmt: skip
    with pytest.raises(ValueError) as caught:
        getattr(config, attributes[0])
    message = str(caught.value)
    assert name in message and repr(text) in message and expected in message


def test_disabled_cuda_selects_the_simulator(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_CUDA", "1")
    assert config.driver() == "sim"
    monkeypatch.setenv("NUMBALITE_DRIVER", "cuda")
    with pytest.raises(ImportError, match="NUMBALITE_DRIVER=cuda"):
        config.driver()


def test_unknown_config_names_raise():
    with pytest.raises(AttributeError, match="DRIVERS"):
        config.DRIVERS
    with pytest.raises(KeyError):
        config.read_external("SHELL")
    assert "DRIVER" in dir(config)
