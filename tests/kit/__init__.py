"""What tests of several folders share: `from kit.arrays import on_device`. Fixtures are in fixtures.py."""
