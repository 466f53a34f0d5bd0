"""Each message of NVRTC is reported at a line of the user's source, in all of NVRTC's wordings."""

import random

import pytest

from numbalite.compilers import Source, headers, nvrtclog

FILES = ["lesson.py", "<cell [1]: x>", "a folder/of (mine).cu", "C++ kernel: k.cu", "/tmp/x.y/z.py"]
SHOWN = ["          NUMBALITE_DIMENSIONS(2);\n          ^", "  x = 3;\n  ^~~~~"]


def context_lines(draw, file, line):
    """Returns the formats in which NVRTC's releases report the line that led to an error: 12.0, 12.2 and
    later, and
    others."""
    return draw.choice(
        [
            f'          detected during instantiation of "f<T> [with T=int]" at line {line} of {file}',
            f'          detected during:\n            instantiation of "f" at line {line} of "{file}"',
            f'          while instantiating "f<T>" required from {file}({line})',
            f"{file}({line}): here",
            f"{file}:{line}:7: required from here",
            f'          in the call of "f(int)", line {line} of {file}',
        ]
    )


def random_note(draw, file):
    number = draw.choice([3326, 3453, 9999])
    return f"{file}({draw.randint(1, 99)}): note #{number}-D: {draw.choice(['the final comparison was 1 == 2', 'declared here'])}\n{draw.choice(SHOWN)}"


@pytest.mark.cases(50)
@pytest.mark.parametrize("seed", range(400))
def test_error_in_a_header_is_at_the_users_line(seed):
    draw = random.Random(seed)
    own = sorted(n for n in headers.memory_headers() if n.startswith("numbalite"))
    file = draw.choice(FILES)
    led = [
        context_lines(draw, draw.choice(own), draw.randint(1, 400))
        for _ in range(draw.randint(0, 2))
    ]
    led.append(context_lines(draw, file, 1234))
    notes = [random_note(draw, draw.choice(own)) for _ in range(draw.randint(0, 3))]
    between = draw.randint(0, len(notes))
    parts = [
        f'{draw.choice(own)}(153): error: static assertion failed with "one index"',
        draw.choice(SHOWN),
        *notes[:between],
        *led,
        *notes[between:],
    ]
    message = "\n".join(parts)
    assert nvrtclog.move_to_user_line(message, FILES) == f'{file}(1234): error: "one index"'


@pytest.mark.cases(50)
@pytest.mark.parametrize("seed", range(200))
def test_error_in_the_users_file_keeps_its_line(seed):
    draw = random.Random(seed)
    own = sorted(headers.memory_headers())
    first = f"lesson.py(15): error: no operator matches\n            operand types are: int = float\n{SHOWN[1]}"
    notes = [random_note(draw, draw.choice(own)) for _ in range(draw.randint(0, 3))]
    mine = "lesson.py(3): note #1234-D: declared here\n  int x;\n      ^"
    led = context_lines(draw, "lesson.py", 40)
    text = nvrtclog.move_to_user_line("\n".join([first, *notes, led, mine]), FILES)
    assert text == f"{first}\n{led}\n{mine}"


def test_line_directives_name_the_users_files():
    text = 'x\n  # line 3 "a \\"b\\".py"\n#line 1 "numbalite/array.cuh"\n'
    found = ['numbalite/array.cuh(1): error: wrong\n  f\n  ^\n   see a "b".py(7)']
    assert nvrtclog.user_messages(found, Source(""), text) == ['a "b".py(7): error: wrong']


def test_only_messages_of_the_users_files_remain():
    found = ["lesson.py(1): warning: unused", "lesson.py(2): error: wrong"]
    assert nvrtclog.user_messages(found, Source(""), "") == ["lesson.py(2): error: wrong"]
    assert nvrtclog.user_messages(found[:1], Source(""), "") == found[:1]
