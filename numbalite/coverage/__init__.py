"""Line and branch coverage of kernels on the simulator: ``numbalite coverage run | report | html | lcov``.

With NUMBALITE_COVERAGE, compilers/sim/coverage.py inserts flags into each image, and cuda_src/sim/coverage.h maps them
to a file of that folder. `data` reads these files, `report` shows them, `program` is the command. Uses no other
package. Begin with data.py.
"""
