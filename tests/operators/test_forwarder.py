"""Tests Forwarder, the base class of operators, which forwards calls to another callable."""

import copy
import gc
import pickle
import weakref

import pytest

from numbalite import _core


class RecordingForwarder(_core.Forwarder):
    def __init__(self, target=None):
        if target is not None:
            self._forward_to(target)

    def __call__(self, *args, **keywords):
        return "method", args, keywords

    def __getstate__(self):
        return vars(self)


def return_arguments(*args, **keywords):
    return "target", args, keywords


def test_forwarded_calls_reach_the_target():
    for f, name in [
        (RecordingForwarder(), "method"),
        (RecordingForwarder(return_arguments), "target"),
    ]:
        assert f() == (name, (), {})
        assert f(1, 2) == (name, (1, 2), {})
        assert f(1, key=2, other=3) == (name, (1,), {"key": 2, "other": 3})
        listed, named = [1, 2], {"key": 3}
        assert f(*listed, **named) == (name, (1, 2), {"key": 3})
        assert list(map(f, [1, 2])) == [(name, (1,), {}), (name, (2,), {})]
    assert type(f).__call__(f, 1) == (
        "method",
        (1,),
        {},
    )  # compilers of Python code look __call__ up on the class


def test_forwarder_raises_exceptions_of_the_target():
    with pytest.raises(ZeroDivisionError):
        RecordingForwarder(lambda: 1 / 0)()
    with pytest.raises(TypeError, match="not callable"):
        RecordingForwarder(5)()


def test_forwarder_target_is_set_once():
    f = RecordingForwarder(return_arguments)
    with pytest.raises(RuntimeError, match="set already"):
        f._forward_to(len)
    assert f([1]) == ("target", ([1],), {})


def test_copied_forwarders_use_the_method():
    for made in (copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))):
        f = made(RecordingForwarder(return_arguments))
        assert f(1, key=2) == ("method", (1,), {"key": 2})


def test_forwarder_cycles_are_collected():
    f = RecordingForwarder()
    f._forward_to(vars(f).get)
    f.itself = f
    assert f("itself") is f
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None
