"""The user's CUDA C++ as text: reading it, and saying what is wrong with it.

`scanner` gives tokens and what stands at namespace scope; `freenames` the names that a piece of text uses
and does not declare; `capture` finds these in the Python scope; `linemap` knows the file and line of each
line, `executed` the texts of exec; `hints` and `pythonisms` explain a compiler's messages. Uses types and errors; knows no compiler and
no device. Begin with capture.py.
"""
