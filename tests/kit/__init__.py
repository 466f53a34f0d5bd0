"""Contains helpers of several folders: `from kit.arrays import to_device`. Fixtures are in
fixtures.py."""
