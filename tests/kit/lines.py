"""Finds lines of a test's file, to compare them with the lines in error messages."""


def line_numbers_of(mark, path):
    """Returns the numbers of the lines that hold the mark."""
    with open(path, encoding="utf-8") as file:
        return [n for n, line in enumerate(file, 1) if mark in line]
