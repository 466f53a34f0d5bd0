"""Blocks streams until the test releases them."""

import threading


def gate_in(stream):
    """(an event that the stream waits for, one that shows that it has passed it)."""
    gate, passed = threading.Event(), threading.Event()
    stream.add_callback(lambda *unused: (gate.wait(60), passed.set()))
    return gate, passed
