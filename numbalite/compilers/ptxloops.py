"""Analyses the loops of a PTX function: the cost of an iteration, and which loops are counted.

A counted loop has an integer register that a constant or loop-invariant step changes once in each iteration.
The branch of the loop compares the register with a loop-invariant bound. A counted loop ends by itself, after at most
2**32 or 2**64 / step iterations. Compilers write the comparison in one of these forms:

    add.s32 i, i, step;  setp.lt.s32 p, i, bound;                       @p bra L;
    mov.u32 j, i;  ...  add.s32 i, j, step;  setp...                    @p bra L;
    add.s32 j, i, step;  setp.lt.s32 p, j, bound;  mov.u32 i, j;        @p bra L;
    ...  setp.lt.s32 p, i, bound;  and.pred r, p, q;                    @r bra L;
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numbalite.compilers.ptxreader import Branch, Function, Statement

BUDGET = 1 << 16
"""Maximum cost (`_COSTS`) that a thread executes between two tests of the flag."""
MAX_STEP = 1 << 20
"""Larger constant steps are not analysed."""

_COSTS = [
    (re.compile(r"(?:atom|red)\b|call\b"), 256),
    (
        re.compile(
            r"ld\.(?:volatile|relaxed|acquire|mmio)|bar|membar|fence|mbarrier|vote|match|shfl|redux|cp\.async"
        ),
        64,
    ),
    (re.compile(r"(?:div|sqrt|rem|ex2|lg2|sin|cos|rsqrt|rcp)\b"), 8),
    (re.compile(r"(?:ld|st)\.(?:shared|param|const|local)"), 1),
    (re.compile(r"ld|st|tex|tld|suld|sust|mma|wmma"), 4),
]
"""Instructions that take longer than one of arithmetic, or wait for other threads."""
_GUARD = re.compile(r"@(!?)\s*([\w$%]+)\s+")
_ENDS = re.compile(r"(?:ret|exit|trap|bra|brx)\b")
_COMPARED = re.compile(
    r"setp\.(lt|le|gt|ge|eq|ne)\.([subf])(\d+)\s+(%[\w$]+)\s*,\s*([^,\s]+)\s*,\s*([^,\s]+)"
)
_JOINED = re.compile(r"(and|or)\.pred\s+(%[\w$]+)\s*,\s*(%[\w$]+)\s*,\s*(%[\w$]+)")
_ADDED = re.compile(r"add\.([sub])(\d+)\s+(%[\w$]+)\s*,\s*([^,\s]+)\s*,\s*([^,\s]+)")
_MOVED = re.compile(r"mov\.[sub](\d+)\s+(%[\w$]+)\s*,\s*([^,\s{]+)")
PLAIN_BRANCH = re.compile(r"(?:@(!?)\s*([\w$%]+)\s+)?bra(?:\.uni)?\s+([\w$%]+)")
"""A `bra`: "!" or "", the predicate or None, the target."""
_REGISTER = re.compile(r"%[\w$]+")

_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne", "eq": "eq"}
_INVERSE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq", "eq": "ne"}


class CountedLoop(NamedTuple):
    """How a loop counts. The loop continues while ``tested goes_on bound``. ``tested`` is the register after
    the step is added."""

    compare: Statement  # the setp
    condition: str  # comparison operator of the setp, with the register on the left
    compared: str  # the type of the setp
    joined: Statement | None  # index of the and.pred or or.pred that reads the result of the setp
    result: str  # the predicate register that the setp writes
    goes_on: str
    kind: str  # "s" or "u"
    width: int
    register: str  # the register that contains the counter at the beginning of an iteration
    tested: str
    step: int | str
    bound: str
    most: int | None  # the maximum number of iterations, or None


class Loop:
    """The branches back to a block, and the indices of the loop's blocks, or None if the loop is irreducible.

    ``begin`` is the offset after the last label of an innermost loop with exactly one latch, a `bra`;
    otherwise None.
    """

    def __init__(self, header: int, blocks: set[int] | None) -> None:
        self.header, self.blocks = header, blocks
        self.latches: list[Branch] = []
        self.cost = 256
        self.begin: int | None = None
        self.counted: CountedLoop | None = None
        self.is_nested = False

    @property
    def max_cost(self) -> int | None:
        """The cost of all iterations, or None if the number of iterations is
        unknown."""
        most = self.counted.most if self.counted else None
        return None if most is None else most * self.cost


def statement_cost(text: str) -> int:
    """Returns the estimated cost of a PTX statement, relative to a simple instruction, or 0 for a directive."""
    if text.startswith("."):
        return 0
    body = _GUARD.sub("", text, count=1) if text.startswith("@") else text
    return next((cost for pattern, cost in _COSTS if pattern.match(body)), 1)


def find_loops(function: Function) -> list[Loop]:
    """Returns the loops of a function, the inner ones first. Each backward branch is a latch of one of the
    returned loops."""
    return _FlowGraph(function).natural_loops()


def returns_at_end(function: Function) -> bool:
    """Returns whether the function returns at its closing brace."""
    return not function.statements or _ENDS.match(function.statements[-1].text) is None


class _FlowGraph:
    """The blocks of a function: block i contains the statements from starts[i] to starts[i + 1]."""

    def __init__(self, function):
        self.function = function
        self.begins = [statement.begin for statement in function.statements]
        count = len(self.begins)
        starts = {0, count}
        indices = {
            key: self._statement_after_label(label) for key, label in function.labels.items()
        }
        starts.update(indices.values())
        starts.update(i + 1 for i in range(count) if self._ends_block(i))
        self.starts = sorted(starts)
        self.labels = {}  # block -> keys of its labels
        for key, index in indices.items():
            self.labels.setdefault(self.block_of_statement(index), []).append(key)
        self.branches = {branch.number: branch for branch in function.branches}
        self.before = self._predecessors()
        self._definitions = self._uses = None

    def _statement_after_label(self, label):
        """Returns the index of the first statement after a label."""
        return bisect_left(self.begins, label.begin)

    def block_of_statement(self, index):
        """Returns the index of the block that contains a statement or begins there."""
        return bisect_left(self.starts, index + 1) - 1

    def text_without_guard(self, index):
        return _GUARD.sub("", self.function.statements[index].text, count=1)

    def _ends_block(self, index):
        return _ENDS.match(self.text_without_guard(index)) is not None

    def _predecessors(self):
        before = {}
        for block in range(len(self.starts) - 1):
            last = self.starts[block + 1] - 1
            branch = self.branches.get(last)
            after = []
            if branch is not None:
                found = self.function.branch_targets(branch)
                after = [
                    self.block_of_statement(self._statement_after_label(label))
                    for label in found
                    if label is not None
                ]
            text = self.function.statements[last].text
            if text.startswith("@") or not self._ends_block(last):
                after.append(block + 1)
            for other in after:
                before.setdefault(other, set()).add(block)
        return before

    def natural_loops(self):
        backward = {}  # header -> its branches
        for branch in self.function.branches:
            begin = self.function.statements[branch.number].begin
            found = self.function.branch_targets(branch)
            back = [label for label in found if label is None or label.begin <= begin]
            if back:
                label = back[0]
                header = (
                    -1
                    if label is None or len(back) > 1
                    else self.block_of_statement(self._statement_after_label(label))
                )
                backward.setdefault(header, []).append(branch)
        loops = []
        for header, branches in backward.items():
            loop = Loop(header, self._natural_loop(header, branches))
            loop.latches = branches
            loops.append(loop)
        loops.sort(key=lambda loop: len(loop.blocks) if loop.blocks else 1 << 30)
        self._measure_loops(loops)
        return loops

    def _natural_loop(self, header, branches):
        """Returns the set of blocks from which a latch is reached without passing the header, or None if a path
        enters the loop elsewhere."""
        if header < 0:
            return None
        found, waiting = {header}, [self.block_of_statement(branch.number) for branch in branches]
        while waiting:
            block = waiting.pop()
            if block not in found:
                found.add(block)
                waiting.extend(self.before.get(block, ()))
        return None if 0 in found and header != 0 else found

    def _measure_loops(self, loops):
        """Sets the costs of loops, and the counters of the innermost loops."""
        count = Counter(block for loop in loops for block in loop.blocks or ())
        is_irreducible = any(loop.blocks is None for loop in loops)
        claimed = {}  # block -> the innermost loop that contains the block
        latches = {self.block_of_statement(b.number): loop for loop in loops for b in loop.latches}
        for loop in loops:
            if loop.blocks is None:
                continue
            own = [block for block in loop.blocks if block not in claimed]
            inner = {
                id(claimed[block]): claimed[block] for block in loop.blocks if block in claimed
            }
            loop.cost = sum(self._block_cost(block) for block in own)
            loop.cost += sum(other.max_cost or other.cost for other in inner.values())
            is_innermost = not inner and all(
                latches.get(block, loop) is loop for block in loop.blocks
            )
            if is_innermost and len(loop.latches) == 1:
                loop.begin = self._loop_begin(loop)
                loop.counted = (
                    _LoopCounterAnalysis(self, loop).find_counter()
                    if loop.begin is not None
                    else None
                )
            claimed.update(dict.fromkeys(loop.blocks, loop))
            loop.is_nested = is_irreducible or count[loop.header] > 1

    def _block_cost(self, block):
        statements = self.function.statements[self.starts[block] : self.starts[block + 1]]
        return sum(statement_cost(statement.text) for statement in statements)

    def _loop_begin(self, loop):
        branch = self.function.statements[loop.latches[0].number]
        found = self.labels[loop.header]
        if PLAIN_BRANCH.fullmatch(branch.text) is None or any(
            path != (0,) for path in (branch.path, *(key[0] for key in found))
        ):
            return None
        return max(self.function.labels[key].end for key in found)

    def statements_writing_register(self):
        """Returns {register: indices of the statements whose first operand contains the register, and which
        may therefore write it}."""
        if self._definitions is None:
            self._definitions = {}
            for index, statement in enumerate(self.function.statements):
                if not statement.text.startswith("."):
                    for register in _REGISTER.findall(
                        _first_operand(self.text_without_guard(index))
                    ):
                        self._definitions.setdefault(register, []).append(index)
        return self._definitions

    def statements_with_register(self):
        """Returns {register: indices of the statements in which the register occurs}."""
        if self._uses is None:
            self._uses = {}
            for index, statement in enumerate(self.function.statements):
                for register in _REGISTER.findall(statement.text):
                    self._uses.setdefault(register, set()).add(index)
        return self._uses


class _LoopCounterAnalysis:
    """Determines the counter of an innermost loop with one latch."""

    def __init__(self, graph, loop):
        self.graph, self.loop, self.latch = graph, loop, loop.latches[0]
        self.statements = graph.function.statements
        # statement of the first or last block, which each iteration executes -> its position
        last = graph.block_of_statement(self.latch.number)
        blocks = [loop.header] if last == loop.header else [loop.header, last]
        spans = [range(graph.starts[block], graph.starts[block + 1]) for block in blocks]
        self.order = {index: i for i, index in enumerate(i for span in spans for i in span)}

    def find_counter(self):
        negated, predicate, _ = PLAIN_BRANCH.fullmatch(
            self.statements[self.latch.number].text
        ).groups()
        if predicate is None:
            return None
        is_negated = negated == "!"
        for compare, joined in self._exit_comparisons(is_negated, predicate):
            counted = self._counted_loop(compare, joined, is_negated)
            if counted is not None:
                return counted
        return None

    def _definitions_in_loop(self, register):
        found = self.graph.statements_writing_register().get(register, ())
        return [i for i in found if self.graph.block_of_statement(i) in self.loop.blocks]

    def _only_definition(self, register):
        """Returns the index of the only statement in the loop that writes a register, if each iteration
        executes it once."""
        inside = self._definitions_in_loop(register)
        if len(inside) != 1 or inside[0] not in self.order:
            return None
        return None if self.statements[inside[0]].text.startswith("@") else inside[0]

    def _is_loop_constant(self, operand):
        return _integer_value(operand) is not None or (
            _REGISTER.fullmatch(operand) is not None and not self._definitions_in_loop(operand)
        )

    def _is_used_by(self, register, indices):
        """Returns whether only these statements contain the register."""
        return self.graph.statements_with_register().get(register) == indices

    def _exit_comparisons(self, is_negated, predicate):
        """Yields (index of a setp, index of an and.pred or or.pred that uses it, or None) for each condition
        that ends the loop."""
        index = self._only_definition(predicate)
        if index is None or not self._is_used_by(predicate, {index, self.latch.number}):
            return
        joined = _JOINED.fullmatch(self.statements[index].text)
        if joined is None:
            yield index, None
        elif joined[1] == ("or" if is_negated else "and") and joined[3] != joined[4]:
            for register in joined[3], joined[4]:
                compare = self._only_definition(register)
                if compare is not None and self._is_used_by(register, {compare, index}):
                    yield compare, index

    def _counted_loop(self, compare, joined, is_negated):
        found = _COMPARED.fullmatch(self.statements[compare].text)
        if found is None or found[2] == "f" or found[3] not in ("32", "64"):
            return None
        condition, kind, width, result, left, right = found.groups()
        for tested, bound, there in (
            (left, right, condition),
            (right, left, _SWAPPED[condition]),
        ):
            stepped = (
                self._counter_and_step(compare, tested, width)
                if self._is_loop_constant(bound)
                else None
            )
            goes_on = _INVERSE[there] if is_negated else there
            if stepped is None or not _ends_before_overflow(goes_on, kind, int(width), stepped[1]):
                continue
            counted = CountedLoop(
                compare=self.statements[compare],
                condition=there,
                compared=kind + width,
                joined=None if joined is None else self.statements[joined],
                result=result,
                goes_on=goes_on,
                kind="s" if kind == "s" and goes_on != "ne" else "u",
                width=int(width),
                register=stepped[0],
                tested=tested,
                step=stepped[1],
                bound=bound,
                most=None,
            )
            return counted._replace(most=self._max_iterations(counted))
        return None

    def _counter_and_step(self, compare, tested, width):
        """Returns (register with the counter at the beginning of an iteration, step) of a register
        that a setp reads."""
        index = self._only_definition(tested)
        added = None if index is None else _ADDED.fullmatch(self.statements[index].text)
        if added is None or added[2] != width or self.order[index] > self.order[compare]:
            return None
        for source, step in ((added[4], added[5]), (added[5], added[4])):
            if not self._is_loop_constant(step):
                continue
            number = _integer_value(step)
            value = step if number is None else number
            if source == tested:
                return tested, value
            copied = self._only_definition(source)
            moved = None if copied is None else _MOVED.fullmatch(self.statements[copied].text)
            if moved is not None and (moved[1], moved[3]) == (width, tested):
                is_before = self.order[copied] < self.order[index]
                return (tested if is_before else source), value
        return None

    def _max_iterations(self, counted):
        """Returns the largest possible number of iterations, or None if the number is unknown."""
        bound, step = _integer_value(counted.bound), counted.step
        starts = self._start_values(counted)
        if bound is None or isinstance(step, str):
            return None
        if counted.kind == "u" and counted.goes_on in ("lt", "le"):
            starts = [
                0
            ]  # the start value 0 allows the most iterations, also if the counter overflows
        smallest, largest = counter_limits(counted)
        ends = [end + step for end in (bound, *starts)]
        if not starts or not all(smallest <= end <= largest for end in ends):
            return None
        distances = [bound - start for start in starts]
        if counted.goes_on == "ne":
            if any(distance % step or distance // step < 1 for distance in distances):
                return None
            return max(distance // step for distance in distances)
        more = 1 if counted.goes_on in ("le", "ge") else 0
        rounded = [abs(distance) + abs(step) - 1 for distance in distances if distance * step > 0]
        return max([more + distance // abs(step) for distance in rounded], default=0) + 2

    def _start_values(self, counted):
        """Returns the list of values of the counter before the loop, or [] if they are not constants."""
        outside = [
            i
            for i in self.graph.statements_writing_register().get(counted.register, ())
            if self.graph.block_of_statement(i) not in self.loop.blocks
        ]
        moved = [_MOVED.fullmatch(self.statements[i].text) for i in outside]
        values = [_integer_value(found[3]) if found else None for found in moved]
        if None in values:
            return []
        smallest, _ = counter_limits(counted)
        return [smallest + (value - smallest) % (1 << counted.width) for value in values]


def counter_limits(counted: CountedLoop) -> tuple[int, int]:
    """Returns the smallest and the largest value of the counter's type."""
    if counted.kind == "s":
        return -(1 << counted.width - 1), (1 << counted.width - 1) - 1
    return 0, (1 << counted.width) - 1


def _ends_before_overflow(goes_on, kind, width, step):
    """Returns whether a loop with this condition and this step ends without an overflow of the counter."""
    if isinstance(step, str):
        return goes_on in ("lt", "le") and kind != "b"
    if not 0 < abs(step) <= MAX_STEP:
        return False
    if goes_on == "ne":
        return width == 32 or abs(step) & (abs(step) - 1) == 0
    return kind != "b" and goes_on in (("lt", "le") if step > 0 else ("gt", "ge"))


def _integer_value(operand):
    """Returns the value of an operand that is a number; otherwise None."""
    try:
        return int(operand, 0)
    except ValueError:
        return None


def _first_operand(text):
    """Returns the first operand of an instruction, or "" if the operand is an address."""
    operands = text.partition(" ")[2] if " " in text else text.partition("\t")[2]
    operands = operands.strip()
    if operands.startswith("["):
        return ""
    depth = 0
    for position, letter in enumerate(operands):
        depth += (letter in "{([") - (letter in "})]")
        if letter == "," and not depth:
            return operands[:position]
    return operands
