"""Records the Python functions of numbalite that a call runs."""

import sys


def numbalite_functions_in(function):
    """Returns the Python functions of numbalite that run in a call."""
    codes = []

    def record_call(frame, event, _):
        if event == "call" and "numbalite" in frame.f_globals["__name__"]:
            codes.append(frame.f_code)

    sys.setprofile(record_call)
    try:
        function()
    finally:
        sys.setprofile(None)
    return codes
