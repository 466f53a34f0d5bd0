"""The table of environment variables: defaults, aliases, bad values, lazy reading."""

import os

import pytest

from numbalite import config


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("NUMBALITE_", "NUMBA_")):
            monkeypatch.delenv(name)


def test_defaults():
    for name, row in config.VARIABLES.items():
        assert getattr(config, name) == row.default
    assert config.driver() == "auto"


def test_read_at_each_access(monkeypatch):
    monkeypatch.setenv("NUMBALITE_SIM_DEVICES", "2")
    assert config.SIM_DEVICES == 2
    monkeypatch.setenv("NUMBALITE_SIM_DEVICES", "3")
    assert config.SIM_DEVICES == 3


def test_assignment_wins(monkeypatch):
    monkeypatch.setenv("NUMBALITE_DRIVER", "cuda")
    monkeypatch.setitem(vars(config), "DRIVER", "sim")  # setattr would leave the value read before
    assert config.DRIVER == "sim" and config.driver() == "sim" and config.ENABLE_CUDASIM


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
def test_values(monkeypatch, name, attribute, text, value):
    monkeypatch.setenv(name, text)
    assert getattr(config, attribute) == value


def test_ours_beats_the_alias(monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    monkeypatch.setenv("NUMBALITE_DRIVER", "auto")
    assert config.DRIVER == "auto"


def test_empty_is_unset(monkeypatch):
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
def test_bad_values(monkeypatch, name, text, expected):
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


def test_disabled_cuda(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_CUDA", "1")
    assert config.driver() == "sim"
    monkeypatch.setenv("NUMBALITE_DRIVER", "cuda")
    with pytest.raises(ImportError, match="NUMBALITE_DRIVER=cuda"):
        config.driver()


def test_unknown_names():
    with pytest.raises(AttributeError, match="DRIVERS"):
        config.DRIVERS
    with pytest.raises(KeyError):
        config.outside("HOME")
    assert "DRIVER" in dir(config)
