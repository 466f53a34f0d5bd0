"""The user's CUDA C++ as text: reading it, and saying what is wrong with it.

`definition` is a function's text with its names. `scanner` gives tokens and what stands at namespace scope;
`freenames` gives the names that a text uses and does not declare; `capture` finds these in the Python scope.
`linemap` knows the file and line of each line, `executed` the texts of exec. `hints` and `pythonisms` explain a
compiler's messages. Uses types and errors; knows no compiler and no device. Begin with definition.py and
capture.py.
"""
