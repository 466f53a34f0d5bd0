"""The user's CUDA C++ as text: tokens, names, line maps.

`definition` is a function's text with its names. `scanner` returns tokens and the declarations at namespace scope;
`freenames` finds the names that a text uses and does not declare; `capture` looks these up in the Python scope.
`linemap` maps each line to the user's file, `executed` keeps the texts of exec. No compiler and no device is used.
Uses types. Begin with definition.py and capture.py.
"""
