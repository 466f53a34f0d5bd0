"""Contains the results of tuning a kernel: one Trial for each variant. The disk cache stores these results as
JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MEASURED, PRUNED, FAILED, SKIPPED, UNMEASURED = (
    "measured",
    "pruned",
    "failed",
    "skipped",
    "not measured",
)


class Trial(NamedTuple):
    """The result for one variant: its time, or the reason why it was not measured. Times are in
    milliseconds."""

    constants: dict
    status: str
    """"measured"; "pruned": the variant cannot be the fastest, and was not launched; "failed": the variant does
    not compile or launch; "skipped": the search did not select the variant; "not measured": on the simulator."""
    why: str = ""
    time: float | None = None
    """The median time of the variant's launches."""
    low: float | None = None
    high: float | None = None
    """The quartiles of the times of the variant's launches."""
    launches: int = 0
    registers: int | None = None
    local_bytes: int | None = None
    occupancy: float | None = None
    """The fraction of a multiprocessor's maximum warps that are resident."""

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.constants.items())


class Tuning:
    """The tuning of a kernel for one device, list of types and class of sizes, as a sequence of Trials, the
    best first.

    ``best`` is the Trial in use, ``origin`` is "measured", "disk cache" or "simulator".
    """

    def __init__(
        self, kernel: str, device: str, sizes: str, trials: Iterable[Trial], origin: str
    ) -> None:
        self.kernel, self.device, self.sizes, self.origin = kernel, device, sizes, origin
        self.trials = tuple(sorted(trials, key=_trial_sort_key))

    @property
    def best(self) -> Trial:
        return self.trials[0]

    @property
    def measured(self) -> int:
        """The number of variants that this process launched in this tuning."""
        if self.origin != "measured":
            return 0
        return sum(trial.status == MEASURED for trial in self.trials)

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, index: Any) -> Any:
        return self.trials[index]

    def as_dict(self) -> dict:
        """Returns all fields as a dict, for JSON."""
        return {
            "kernel": self.kernel,
            "device": self.device,
            "sizes": self.sizes,
            "origin": self.origin,
            "trials": [trial._asdict() for trial in self.trials],
        }

    def to_csv(self, path: Any) -> None:
        """Writes the table to a file, one row for each variant."""
        import csv

        names = list(self.best.constants)
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*names, *Trial._fields[1:]])
            for trial in self.trials:
                writer.writerow([*(trial.constants[name] for name in names), *trial[1:]])

    def to_bytes(self) -> bytes:
        return json.dumps(self.as_dict()).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Tuning:
        """Raises ValueError for bytes that are not a stored table."""
        try:
            fields = json.loads(data)
            trials = [Trial(**trial) for trial in fields["trials"]]
            made = Tuning(fields["kernel"], fields["device"], fields["sizes"], trials, "disk cache")
        except (TypeError, KeyError) as problem:
            raise ValueError("not a tuning") from problem
        if not trials:
            raise ValueError("not a tuning")
        return made

    def __repr__(self) -> str:
        names = list(self.best.constants)
        head = [*names, "ms", "quartiles", "registers", "local", "occupancy", ""]
        rows = [head, *([*map(str, t.constants.values()), *_trial_cells(t)] for t in self.trials)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [f"{self.kernel} on {self.device}, {self.sizes} ({self.origin})"]
        for row in rows:
            cells = (text.rjust(width) for text, width in zip(row[:-1], widths))
            lines.append(f"{'  '.join(cells)}  {row[-1]}".rstrip())
        return "\n".join(lines)


def _trial_cells(trial):
    spread = "" if trial.low is None else f"{trial.low:.4g}..{trial.high:.4g}"
    status = trial.status if not trial.why else f"{trial.status}: {trial.why}"
    return [
        "" if trial.time is None else f"{trial.time:.4g}",
        spread,
        *("" if v is None else str(v) for v in (trial.registers, trial.local_bytes)),
        "" if trial.occupancy is None else f"{trial.occupancy:.0%}",
        "" if trial.status == MEASURED else status,
    ]


def _trial_sort_key(trial):
    """Returns a sort key: measured variants by their times, then unmeasured, skipped, pruned, failed variants."""
    order = (MEASURED, UNMEASURED, SKIPPED, PRUNED, FAILED)
    return order.index(trial.status), trial.time or 0.0
