"""The judge of kernels: is a submission right, safe and fast? ``numbalite judge FILE --task TASK``.

`taskfile` reads task files, `cases` draws sizes and data. `refusal` refuses sources that are not device code. `runner` is
the process that launches the submission; `judging` starts it, sends it data, and compares what comes back with results
that this process never has. `program` is the command, `tasks` has ten tasks. Compares as the judge of the course does,
and supervises the process by the same program. Uses types, cxx, compilers, kernels, cuda and course. Begin with
judging.py.
"""

from __future__ import annotations

from numbalite.judge.taskfile import Task, task

__all__ = ["Task", "task"]
