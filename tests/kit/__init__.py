"""Contains helpers of several folders: `from kit.arrays import on_device`. Fixtures are in
fixtures.py."""
