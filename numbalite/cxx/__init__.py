"""Handles the user's CUDA C++ as text: tokens, names, line maps.

`definition` represents a function's text with its names. `scanner` returns tokens and the declarations at
namespace scope; `freenames` finds the names that a text uses but does not declare. `capture` looks up these
names in the Python scope. `linemap` maps each line to the user's file, `executed` stores the texts passed to
exec. The package needs no compiler and no device. Uses types. Begin with definition.py and capture.py.
"""
