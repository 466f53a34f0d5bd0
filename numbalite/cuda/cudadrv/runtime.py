"""numba's names around the toolkit: its version is that of NVRTC."""

from numbalite.compilers import nvrtc

SUPPORTED_TOOLKIT_MAJOR_VERSIONS = (12, 13)

__all__ = ["SUPPORTED_TOOLKIT_MAJOR_VERSIONS", "Runtime", "get_version", "runtime"]


class Runtime:
    """The toolkit that kernels are compiled by."""

    def get_version(self) -> tuple:
        """Returns (major, minor) of NVRTC. CudaSupportError where there is none."""
        return nvrtc.open_library()[1]

    def is_supported_version(self) -> bool:
        """Is it a version that numbalite was made for?"""
        return self.get_version()[0] in SUPPORTED_TOOLKIT_MAJOR_VERSIONS


runtime = Runtime()


def get_version() -> tuple:
    """Returns (major, minor) of NVRTC."""
    return runtime.get_version()
