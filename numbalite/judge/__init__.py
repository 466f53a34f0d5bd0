"""The judge of kernels: is a submission right, safe and fast? ``numbalite judge FILE --task TASK``.

The lessons' judge (numbalite.course) consists of the same parts: `process` starts a submission under limits and
`supervisor` ends all that it starts, `messages` passes arrays, `guarded` marks margins and unwritten memory, `fresh`
loads kernels anew and times a call, `compare` finds and describes the first wrong element, `verdict` has the verdict.
For the command: `taskfile` reads task files, `cases` draws sizes and data, `refusal` refuses sources that are not
device code, `runner` is the submission's process, which never has the expected results, `judging` starts it and
compares, `program` is the command, `tasks` has ten tasks. Uses types, cxx, compilers, kernels, ufuncs and cuda. Begin
with judging.py.
"""

from __future__ import annotations

from numbalite.judge.taskfile import Task, task

__all__ = ["Task", "task"]
