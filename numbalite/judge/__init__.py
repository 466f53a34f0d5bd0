"""Judges kernels: whether a submission is correct, safe and fast. The command is ``numbalite judge FILE
--task TASK``.

The lessons' judge (numbalite.course) uses the following modules, too. `process` starts a submission under
limits, `isolation` takes network and files away from it, `supervisor` ends all processes that it starts, `messages` passes arrays, `guarded` marks
margins and unwritten memory, `fresh` loads kernels again and times a call, `compare` finds and describes the
first wrong element, `verdict` defines the verdict. For the command: `taskfile` reads task files, `formats` those of GPU MODE and KernelBench, `cases`
draws sizes and data, `refusal` rejects sources that are not device code, `runner` is the submission's
process, which never receives the expected results, `judging` starts this process and compares results,
`program` implements the command, `tasks` contains ten tasks. The package judge uses types, cxx,
compilers, kernels, ufuncs and cuda. Begin with judging.py.
"""

from __future__ import annotations

from numbalite.judge.taskfile import Task, task

__all__ = ["Task", "task"]
