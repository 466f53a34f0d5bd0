"""Judges solutions of exercises: whether the results are correct on new data, computed on the right device,
and fast enough; otherwise the reason.

A solution is called at growing sizes, twice on the same arrays with different data, so that a solution that
stores earlier results fails. The referee (referee.py) draws the data and compares results. When files are
graded, the referee is another process. Kernels and ufuncs are loaded again for each size, so that their
variables have the initial values again. Arrays are parts of larger arrays, whose margins contain values that
no result may have, so accesses out of bounds are detected. If a size fails, smaller sizes are tried until the
smallest failing size is found. On the simulator, kernels run again under cuda.checks, which finds races even
if the results were correct. Then the launches, copies and memory accesses of the solution are counted, and
its time is compared with that of the reference solution on the same machine.
"""

from __future__ import annotations

import hashlib
import pickle
import statistics
import warnings

import numpy as np

from numbalite.course.timeouts import run_in_this_thread, run_in_thread, stop_kernels_after_limit
from numbalite.judge.guarded import MARGIN
from numbalite.judge.verdict import Failed

from . import counters
from .arguments import Arguments
from .catalogue import find_exercise
from .mistakes import UNFILLED, exception_message, is_unfilled, label_of
from .referee import Referee
from .verdict import Verdict, duration_text

verdicts: list[Verdict] = []
"""All verdicts of this process, in order."""

collector = None
"""Set when a learner's file is graded: receives (name, solution) of each call of `assess`, to judge it later."""

_TRIES = 5
"""The number of measurements of a solution that is over the limit."""
_TRIES_NEAR_LIMIT = 20
"""The number of measurements of a solution whose time is at most 1.5 times the limit: other programs that use the
GPU may have delayed it."""
_CALLS = 5
"""Calls that a time is the median of."""
_ENOUGH = 2.0
"""Seconds after which no further call is timed."""


def assess(name, solution) -> Verdict:
    """Judges the answer to an exercise, shows the verdict and returns it.

    Exceptions of the solution are not raised: they are part of the verdict. The
    verdict also reports wrong elements (with the smallest size at which they
    occur), computation on the CPU, and a time that is too long.

    Parameters
    ----------
    name : str
        The exercise's name.
    solution : kernel, ufunc or function
        The kernel, ufunc or Python function that the exercise requires.

    Returns
    -------
    Verdict
        The verdict.

    Raises
    ------
    KeyError
        There is no such exercise.

    Examples
    --------
    In the cell after the solution::

        assess("vadd", vadd)
    """
    if collector is not None:
        collector(find_exercise(name).name, solution)
        return Verdict(name, True, "To be judged.")
    return judge(name, solution).show()


def judge(name, solution, speed=True, referee=None) -> Verdict:
    """Judges the answer to an exercise as `assess`, without showing the verdict.

    Parameters
    ----------
    name : str
        The exercise's name.
    solution : kernel, ufunc or function
        The kernel, ufunc or Python function that the exercise requires.
    speed : bool
        False: omits the timing.
    referee : Referee
        The object that draws the data and compares results, by default in this
        process.

    Returns
    -------
    Verdict
        The verdict.

    Raises
    ------
    KeyError
        There is no such exercise.
    """
    exercise = find_exercise(name)
    verdict = _AnswerJudge(exercise, solution, referee or Referee(exercise)).verdict(speed)
    if not verdict and referee is None:
        fault = _fault_of_reference(exercise)
        verdict = verdict if fault is None else fault
    verdicts.append(verdict)
    return verdict


_references: dict[type, Verdict | None] = {}


def _fault_of_reference(exercise):
    """Returns the verdict on a teacher's exercise whose own reference fails, or None if the reference is
    correct. Each reference is tested once per process, after the first answer to its exercise that fails."""
    kind = type(exercise)
    if kind.__module__.startswith("numbalite.course."):
        return None
    if kind not in _references:
        try:
            reference = exercise.reference()
        except NotImplementedError:
            return None
        verdict = _AnswerJudge(exercise, reference, Referee(exercise)).verdict(speed=False)
        if not verdict:
            verdict.reason = (
                f"The exercise's own reference fails, so no answer can pass. {verdict.reason}"
            )
        _references[kind] = None if verdict else verdict
    return _references[kind]


class _AnswerJudge:
    def __init__(self, exercise, solution, referee):
        from numbalite.course.device import simulated

        self.exercise = exercise
        self.solution = solution
        self.referee = referee
        self.simulated = simulated()
        self.work = self.times = None
        self.checking = stop_kernels_after_limit(self.simulated)
        self.notes = []

    def verdict(self, speed=True):
        from numbalite.compilers.slipwarnings import collect_slips
        from numbalite.errors import NumbaliteWarning

        with warnings.catch_warnings(), collect_slips() as slips:
            warnings.simplefilter("ignore", NumbaliteWarning)
            try:
                self._run_all_checks(speed)
                reason, case = "Right.", ""
                passed = True
            except Failed as failed:
                passed, reason, case = False, failed.reason, failed.case
        verdict = Verdict(
            self.exercise.name, passed, reason,
            case=case, notes=self.notes, work=self.work, times=self.times,
            warnings=[_warning_text(slip) for slip in dict.fromkeys([*slips, *_kernel_slips(self.solution)])],
        )  # fmt: skip
        verdict.simulated = self.simulated
        return verdict

    def _run_all_checks(self, speed):
        self._check_answer_kind()
        self._check_results()
        self._check_mistakes()
        self._check_properties()
        self._check_launches_and_copies()
        self._check_counters()
        if speed and self.exercise.large is not None:
            self._check_speed()

    # --- what was handed in

    def _check_answer_kind(self):
        from numbalite.judge.fresh import solution_kind

        solution, wants = self.solution, self.exercise.wants
        if is_unfilled(solution):
            raise Failed(UNFILLED)
        got = f"this is {_kind_of_solution(solution)}"
        if wants == "kernel" and solution_kind(solution) != "kernel":
            raise Failed(
                f"This exercise requires a kernel, a function with the decorator @cuda.jit; {got}."
            )
        if wants == "kernel" and solution.extensions:
            raise Failed(
                "This exercise requires a kernel without extensions=, which change its arguments."
            )
        if wants == "ufunc":
            if type(solution) is np.ufunc:
                raise Failed(
                    'The ufunc is compiled for the CPU: add target="cuda" to its decorator.'
                )
            if solution_kind(solution) != "ufunc":
                raise Failed(
                    f"This exercise requires a ufunc, a function with the decorator @vectorize or @guvectorize; {got}."
                )
        if wants == "function" and not callable(solution):
            raise Failed(f"This exercise requires a Python function; {got}.")

    # --- is it right?

    def _check_results(self):
        right = 0
        for n in self.exercise.sizes:
            failed = self._mistake_at_size(n)
            if failed is not None:
                raise (
                    failed
                    if failed.is_endless
                    else self._failure_with_cause(self._smallest_failure(right, n, failed))
                )
            right = n
        problem = self._call_guarded(
            lambda: self.exercise.further(self.solution, self._call_at_size)
        )
        if problem:
            raise problem if isinstance(problem, Failed) else Failed(problem)
        sizes = self.exercise.sizes
        if len(sizes) > 1:
            self.notes.append(
                f"right at {len(sizes)} sizes, the largest {self.exercise.said(sizes[-1])}, "
                "on fresh random data"
            )

    def _mistake_at_size(self, n, margin=MARGIN):
        """Returns the mistake at size n, or None."""
        from numbalite.judge.fresh import reload_solution

        try:
            self.solution = reload_solution(self.solution)
            drawn = self.referee.draw(n)
            arguments = Arguments(self.exercise, drawn.data, margin)
            self._compare_call(arguments, drawn)
            other = self.referee.draw(n)
            arguments.fill(other.data)
            try:
                self._compare_call(arguments, other)
            except Failed as failed:
                if failed.wrong_results:
                    # If the results are also wrong in new arrays, the first results were right by chance.
                    self._compare_call(Arguments(self.exercise, other.data, margin), other)
                    failed.reason = (
                        "The first call was right; a second one, on the same arrays with other data "
                        f"in them, was not. In new arrays the same data gives the right result, so the "
                        f"answer remembers results. {failed.reason}"
                    )
                raise
        except Exception as error:
            return exception_message(error)
        return None

    def _smallest_failure(self, right, wrong, failed):
        """Returns the failure at the smallest failing size between a size that passes and a size that
        fails."""
        while wrong - right > 1:
            middle = (right + wrong) // 2
            found = self._mistake_at_size(middle)
            if found is None:
                right = middle
            else:
                wrong, failed = middle, found
        return failed

    def _compare_call(self, arguments, drawn):
        """Compares one call with the expected results."""
        from numbalite import cuda

        def timed_call():
            returned = self.exercise.call(self.solution, *arguments.passed)
            cuda.synchronize()
            return returned

        returned = self._call_with_limit(timed_call)
        self.referee.compare(drawn.key, arguments.results(returned))
        arguments.check_untouched(self.exercise.said(drawn.n))

    def _call_at_size(self, n):
        """Returns (arguments as NumPy arrays, results) of a call at size n."""
        arguments = Arguments(self.exercise, self.referee.draw(n).data, MARGIN)
        returned = self.exercise.call(self.solution, *arguments.passed)
        return arguments.original_arguments(), arguments.results(returned)

    # --- find mistakes that did not affect the results

    def _check_mistakes(self):
        for n, failed in self._check_reports():
            if failed is not None:
                failed.case = (
                    f"{failed.case}\n\nFound by cuda.checks, with {self.exercise.said(n)}.".lstrip()
                )
                raise failed
            where = "" if self.simulated else ", on the simulator,"
            note = f"cuda.checks{where} finds no race, and no access out of bounds"
            if note not in self.notes:
                self.notes.append(note)

    def _failure_with_cause(self, failed):
        """Returns a failure for wrong results, with the mistake that cuda.checks finds, which may be the
        reason."""
        if failed.wrong_results:
            for n, mistake in self._check_reports():
                if mistake is not None and mistake.found:
                    size = self.exercise.said(n)
                    failed.case += f"\n\ncuda.checks finds a mistake, with {size}:\n{mistake.case}"
                    break
        return failed

    def _check_reports(self):
        """Yields (size, the mistake that cuda.checks reports: a Failed, or None) for each tested size. Yields
        nothing if the checks are not available: with a GPU, they require a kernel that another process can
        launch, and a C++ compiler."""
        from numbalite.errors import CudaSupportError

        if not self.simulated and self.exercise.wants != "kernel":
            return
        for n in self.exercise.checked:
            try:
                found = self._check_report(n)
            except CudaSupportError:
                return
            yield n, found

    def _check_report(self, n):
        """Returns the mistake that cuda.checks reports at size n: a Failed, or None."""
        from numbalite import cuda

        if not self.simulated:
            return self._check_report_elsewhere(n)
        self.checking = cuda.checks(limit=30)
        solution = self.solution
        try:
            return self._mistake_at_size(n, margin=0)
        finally:
            self.solution = solution  # `properties` checks the kernel without instrumentation
            self.checking = stop_kernels_after_limit(self.simulated)

    def _check_report_elsewhere(self, n):
        """On a machine with a GPU, the simulator checks a kernel's launch in another process."""
        from .checked import run_in_other_process

        launch = _Launch()
        self.exercise.call(launch, *pickle.loads(self.referee.draw(n).data))
        found = run_in_other_process((self.solution, *launch.seen, ("all",), None, 30))
        return None if found is None else exception_message(found)

    def _check_properties(self):
        lacking = self._call_guarded(lambda: self.exercise.properties(self.solution))
        if lacking:
            raise Failed(lacking)

    def _call_with_limit(self, question):
        """Returns the result of a call, with a time limit."""
        if not self.simulated:
            return run_in_thread(question)
        with self.checking:
            return run_in_this_thread(question)

    def _call_guarded(self, question, timed=False):
        try:
            return question() if timed else self._call_with_limit(question)
        except Exception as error:
            raise exception_message(error) from None

    # --- checks that the solution runs on the GPU, and its speed

    def _check_launches_and_copies(self):
        from numbalite import cuda

        from .work import DriverCallCounter, bytes_text, guard_array

        exercise = self.exercise
        drawn = self.referee.draw(exercise.counted)
        arguments = Arguments(exercise, drawn.data, MARGIN)
        passed = arguments.passed
        if exercise.host_arrays:
            passed = [guard_array(argument) for argument in passed]
        counter = DriverCallCounter()

        def run():
            with counter.count_work():
                result = exercise.call(self.solution, *passed)
                cuda.synchronize()
            return result

        returned = self._call_guarded(run)
        self.work = work = counter.work
        least, most = exercise.launches
        if work.launches < least:
            at_least = "" if least == 1 else f"; at least {least} are needed"
            raise Failed(f"It launches {work.launches or 'nothing'} on the GPU{at_least}.")
        if most is not None and work.launches > most:
            raise Failed(f"It makes {work}; {most} launches are enough.")
        needed = self._needed_bytes(arguments, returned)
        ways = (("to the device", work.bytes_in), ("from the device to the host", work.bytes_out))
        # An output made by numpy.empty is copied to the device with its arbitrary contents.
        unset = (counter.unset, 0)
        for direction, (which, copied) in enumerate(ways):
            enough, spare = needed[direction], unset[direction]
            if copied > enough + exercise.spare_bytes + spare:
                enough = (
                    f"{bytes_text(enough)} are enough"
                    if enough
                    else "the arguments are on the device already"
                )
                case = self._copying_lines(counter, arguments, direction)
                raise Failed(f"It copies {bytes_text(copied)} {which}; {enough}.", case)
        self.referee.compare(drawn.key, arguments.results(returned), by_reference=True)
        self.notes.append(f"a call makes {work}")

    def _copying_lines(self, counter, arguments, direction):
        """Returns the lines that copy (0: to the device, 1: to the host), with advice about the arrays in
        these lines."""
        from .work import bytes_text

        rows, advice, inputs = [], {}, {}
        given = [x for x in arguments.passed if isinstance(x, np.ndarray)]
        for line in counter.copying_lines:
            if not line.sizes[direction]:
                continue
            which = ("to the device", "to the host")[direction]
            rows.append(f"{line.place}\n    copies {bytes_text(line.sizes[direction])} {which}")
            for name, array in line.arrays.items():
                if any(np.may_share_memory(array, each) for each in given):
                    inputs[name] = inputs.get(name, 0) + 1
                elif direction == 0:
                    advice[name] = (
                        f"{name} was copied to the device too: make it by cuda.device_array, or pass "
                        f"cuda.Out({name}) if it is an output"
                    )
        for name, count in inputs.items():
            if direction == 1:
                advice[name] = (
                    f"{name} is an input: a kernel that gets cuda.In({name}) does not copy it back"
                )
            elif count > 1:
                advice[name] = (
                    f"{name} is copied in {count} lines: copy it once, by cuda.to_device({name})"
                )
        return "\n".join([*rows, *advice.values()])

    def _check_counters(self):
        from numbalite.errors import CudaSupportError

        limits = self.exercise.limits
        if not limits:
            return
        try:
            counted = self._count_accesses()
        except CudaSupportError as problem:
            self.notes.append(f"its memory accesses were not counted: {problem}")
            return
        self.notes.append(
            counters.check_limits(limits, counted, self.exercise.said(self.exercise.counted))
        )

    def _count_accesses(self):
        """Returns the counters of one call. On a machine with a GPU, the simulator counts the accesses of a
        kernel launch in another process."""
        from numbalite.errors import CudaSupportError

        from .checked import run_in_other_process

        exercise = self.exercise
        drawn = self.referee.draw(exercise.counted)
        if self.simulated:
            passed = Arguments(exercise, drawn.data, 0).passed
            return self._call_guarded(
                lambda: counters.count_accesses(lambda: exercise.call(self.solution, *passed))
            )
        if exercise.wants != "kernel":
            raise CudaSupportError("only the simulator can count the accesses of a Python function")
        launch = _Launch()
        exercise.call(launch, *pickle.loads(drawn.data))
        return run_in_other_process((self.solution, *launch.seen), counters.count_launch)

    def _needed_bytes(self, arguments, returned):
        """Returns (bytes to the device, bytes to the host) that a call must copy for its host arrays."""
        if not self.exercise.host_arrays:
            return 0, 0
        arrays = [
            value for value in arguments.original_arguments() if isinstance(value, np.ndarray)
        ]
        results = arguments.results(returned)
        return sum(array.nbytes for array in arrays), sum(result.nbytes for result in results)

    def _check_speed(self):
        from numbalite.judge.fresh import reload_solution

        exercise = self.exercise
        n = exercise.large[1 if self.simulated else 0]
        limit = exercise.simulated_limit if self.simulated else exercise.limit
        reference = exercise.reference()
        self.solution = reload_solution(self.solution)
        sets = [self.referee.draw(n) for _ in range(2)]
        mine = _TimedSolution(
            exercise, self.solution, sets, lambda call: self._call_guarded(call, timed=True)
        )
        theirs = _TimedSolution(exercise, reference, sets, lambda call: call())
        for which in range(len(sets)):
            returned, _ = self._call_guarded(lambda: mine.timed_call(which))  # noqa: B023
            self._compare_timed(mine, which, returned)
        best = other = float("inf")
        for tried in range(1, _TRIES_NEAR_LIMIT + 1):
            other = min(other, theirs.median_seconds())
            best = min(best, mine.median_seconds(lambda *call: self._compare_timed(mine, *call)))
            excess = best / (limit * other)
            if excess <= 1 or excess > 5 or (excess > 1.5 and tried >= _TRIES):
                break
        self.times = best, other
        ratio = f"{best / other:.2f}"
        said = (
            f"{duration_text(best)} for {exercise.said(n)}; the reference takes {duration_text(other)} "
            f"on this machine ({ratio} times as long; up to {limit:g} times passes"
        )
        if self.simulated:
            said += ", because these are times of a CPU, not of a GPU"
        self.notes.append(said + ")")
        if best > limit * other:
            hint = f" {exercise.hint}" if exercise.hint else ""
            raise Failed(f"Right, but too slow: {ratio} times the reference's time.{hint}")

    def _compare_timed(self, mine, which, returned):
        """Raises Failed if a timed call on data set ``which`` returned wrong results. Results equal to
        earlier correct results of the same data set are not compared again."""
        got = mine.arguments.results(returned)
        digest = _digest(got)
        if digest != mine.right[which]:
            self.referee.compare(mine.sets[which].key, got, by_reference=True)
            mine.right[which] = digest


class _TimedSolution:
    """A call of a solution at the size of the timed cases. Each call is timed separately, on another data
    set, copied to its arrays before the call: so no call can return results that an earlier call has
    stored."""

    def __init__(self, exercise, solution, sets, guard):
        self.exercise = exercise
        self.solution = solution
        self.sets = sets  # of the referee
        self.guard = guard
        self.right = [None] * len(sets)  # for each data set, the digest of correct results
        self.arguments = Arguments(exercise, sets[0].data, 0)
        self._sources = [Arguments(exercise, each.data, 0) for each in sets]

    def timed_call(self, which):
        """Returns (the return value of the solution, seconds) for one call on a data set."""
        from numbalite.judge.fresh import time_one_call

        self.arguments.copy(self._sources[which])
        return time_one_call(lambda: self.exercise.call(self.solution, *self.arguments.passed))

    def median_seconds(self, compare=None):
        """Returns the median of the times in seconds of five calls, or of fewer calls if they take long.
        After each call, calls ``compare(index of the data set, return value of the solution)``."""
        times, last = [], 0
        while len(times) < _CALLS and sum(times) < _ENOUGH:
            last = (last + 1) % len(self.sets)
            returned, seconds = self.guard(lambda: self.timed_call(last))  # noqa: B023
            if compare is not None:
                compare(last, returned)
            times.append(seconds)
        self.reset_results()
        return statistics.median(times)

    def reset_results(self):
        """Overwrites the results in the arrays with the initial data."""
        self.arguments.copy(self._sources[0])


class _Launch:
    """Replaces a kernel and is launched like one: stores grid, block, shared memory and arguments in
    ``seen``."""

    def __getitem__(self, configuration):
        grid, block = configuration

        def launch(*arguments):
            self.seen = grid, block, 0, arguments

        return launch


def _digest(arrays):
    found = hashlib.blake2b()
    for array in arrays:
        found.update(f"{array.dtype.str} {array.shape} ".encode())
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    return found.digest()


def _kind_of_solution(solution):
    from numbalite.judge.fresh import solution_kind

    kind = solution_kind(solution) or ("ufunc" if type(solution) is np.ufunc else "")
    noun = kind or type(solution).__name__
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


def _kernel_slips(solution):
    """Yields the warnings about probable mistakes in the kernels that a function calls by a global name, also
    in kernels compiled before."""
    from numbalite.kernels.compiled import Compiled

    code = getattr(solution, "__code__", None)
    if code is None:
        return
    found = solution.__globals__
    for name in code.co_names:
        if isinstance(found.get(name), Compiled):
            for overload in list(found[name]._overloads.values()):
                for image in list(
                    getattr(getattr(overload, "images", None), "compiled", {}).values()
                ):
                    yield from image.slips


def _warning_text(slip):
    """Returns a warning about the answer, as text."""
    shown = "".join(f"\n    {row}" for row in slip.shown.split("\n")) if slip.shown else ""
    return f"Warning, {label_of(slip.file)}, line {slip.line}: {slip.text}{shown}"
