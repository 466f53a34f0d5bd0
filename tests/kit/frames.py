"""The Python functions of numbalite that run."""

import sys


def ours_in(function):
    """Returns the Python functions of numbalite that run in a call."""
    codes = []

    def note(frame, event, _):
        if event == "call" and "numbalite" in frame.f_globals["__name__"]:
            codes.append(frame.f_code)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return codes
