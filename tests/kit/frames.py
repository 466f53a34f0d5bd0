"""Which functions of ours run in Python."""

import sys


def ours_in(function):
    """The functions of ours that run in a call, in Python."""
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
