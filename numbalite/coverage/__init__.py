"""Measures line and branch coverage of kernels on the simulator: ``numbalite coverage run | report | html |
lcov``.

With NUMBALITE_COVERAGE, compilers/sim/coverage.py inserts flags into each image, and cuda_src/sim/coverage.h
maps the flags into a file in the folder that the variable names. `data` reads coverage files, `report` shows
coverage, `program` is the command. Uses no other package. Begin with data.py. coverage.py loads the package as a
plug-in (plugin.py).
"""


def coverage_init(registry, options) -> None:
    """coverage.py calls this function if its configuration contains `plugins = ["numbalite.coverage"]`."""
    if not (hasattr(registry, "add_configurer") and hasattr(registry, "add_file_tracer")):
        raise TypeError(f"coverage_init accepts the registry of coverage.py, not {registry!r:.80}")
    from numbalite.coverage.plugin import KernelPlugin

    kernels = KernelPlugin()
    registry.add_configurer(kernels)
    registry.add_file_tracer(kernels)
