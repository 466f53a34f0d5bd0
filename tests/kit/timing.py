"""Measures how a function's processor time grows with the size of its input."""

import time


def grows_linearly(run, small, large):
    """Returns whether `run(large)` needs less than twice the time that linear growth from
    `run(small)` predicts.

    `run(size)` builds the input and returns a function without arguments, which is timed. Each
    measurement adds 0 to 2 to the size, so that no cache contains a result for the input. Half a second is
    added to the bound: times of a few milliseconds vary by more than a factor of two, and growth with the
    square of a large input exceeds the bound all the same.
    """

    def cpu_seconds(size):
        call = run(size)
        start = time.process_time()
        call()
        return time.process_time() - start

    few = min(cpu_seconds(small + more) for more in range(3))
    many = min(cpu_seconds(large + more) for more in range(2))
    return many < 2 * large / small * few + 0.5
