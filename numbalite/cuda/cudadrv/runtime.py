"""Contains numba's names for the toolkit, whose version is that of NVRTC."""

from numbalite.compilers import nvrtc

SUPPORTED_TOOLKIT_MAJOR_VERSIONS = (12, 13)

__all__ = ["SUPPORTED_TOOLKIT_MAJOR_VERSIONS", "Runtime", "get_version", "runtime"]


class Runtime:
    """The toolkit that compiles kernels."""

    def get_version(self) -> tuple:
        """Returns (major, minor) of NVRTC. CudaSupportError where there is none."""
        return nvrtc.open_library()[1]

    def is_supported_version(self) -> bool:
        """Returns whether numbalite supports NVRTC's major version."""
        return self.get_version()[0] in SUPPORTED_TOOLKIT_MAJOR_VERSIONS


runtime = Runtime()


def get_version() -> tuple:
    """Returns (major, minor) of NVRTC."""
    return runtime.get_version()
