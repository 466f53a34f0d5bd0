"""Defines fixtures that run many threads at once."""

import threading

import pytest


def run_together(*bodies):
    """Runs each body in a thread of its own; all threads start at once; raises the first failure."""
    barrier = threading.Barrier(len(bodies))
    failures = []

    def run_and_record_error(body):
        try:
            barrier.wait()
            body()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run_and_record_error, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.fixture
def run_in_threads():
    """Returns run_in_threads(*bodies), which runs each body in a thread of its own, all at once, and
    raises the first failure."""
    return run_together
