# make demo      the first kernels, checked against NumPy, with times
# make test      everything, on the GPU if there is one, else on the simulator  (ARGS="-k vadd" picks)
# make bench     speed, beside the floor measured in the same run and the peers that are installed
# make compare   the same, next to the newest CuPy, PyTorch, numba and Warp, which it installs in an environment of its
#                own (some GB); results in build/compare: bench.json and index.html
# make sanitize  the tests under AddressSanitizer and UBSan  (SAN=thread: tests/threads under ThreadSanitizer)
# make coverage  lines and branches of cext that the tests execute, by gcov; build-coverage/report/index.html
# make docs      the site, into build/site/index.html; warnings are errors
# make fuzz      hostile input, SECONDS=60 for each target  (TARGETS="dlpack images" ENGINE=libfuzzer)
# make matrix    tests/tiny and NVRTC with many versions of Python, NumPy, NVRTC and compilers; writes the table of
#                docs/support.md  (ARGS="--root FOLDER" adds the interpreters of a root: .ci/matrix)
# make lint      ruff, clang-format and mypy
# make clean
#
# Each makes what it needs: an environment in .venv from $(PYTHON), and the extension module in place.

PYTHON ?= python3
CC ?= gcc
SAN ?= address
ARGS ?=
SECONDS ?= 60
ENGINE ?= random
TARGETS ?=
VENV ?= .venv
PY = $(VENV)/bin/python
export PYTHON CC

SOURCES := $(shell find cext cuda_src/sim -name '*.[ch]')

.PHONY: demo test bench compare matrix docs sanitize coverage coverage-report fuzz lint format clean build
.DEFAULT_GOAL := test

# What building and the demo need comes within a minute; the tools of tests, style and docs only with the
# first target that uses them.
$(VENV)/.ready: pyproject.toml .ci/environment
	@echo "An environment is made in $(VENV) ..."
	@.ci/environment $(VENV)
	@touch $@

$(VENV)/.docs: $(VENV)/.ready
	@echo "The packages of the documentation are installed in $(VENV) ..."
	@.ci/environment --add $(VENV) docs
	@touch $@

$(VENV)/.tools: $(VENV)/.ready
	@echo "The packages of tests, linters and documentation are installed in $(VENV): some minutes, the first time ..."
	@.ci/environment --add $(VENV) test lint docs
	@touch $@ $(VENV)/.docs

$(VENV)/.built: $(VENV)/.ready setup.py $(SOURCES)
	@echo "The extension module is built ..."
	@$(PY) setup.py --quiet build_ext --inplace
	@touch $@

build: $(VENV)/.built

demo: build
	$(PY) -m numbalite demo

# Tests run on all cores where pytest-xdist is installed; without it, on one.
WORKERS = $$($(abspath $(PY)) -c 'import xdist; print("-n auto --dist worksteal")' 2>/dev/null)

test: build $(VENV)/.tools
	$(PY) -m pytest -q $(WORKERS) $(ARGS)

bench: build $(VENV)/.tools
	$(PY) tests/bench/run.py --json bench.json $(ARGS)

# The peers pin versions of NumPy, so they are not installed next to the tools of the tests.
compare: build
	PIP_UPGRADE=1 .ci/environment build/compare/venv bench torch
	build/compare/venv/bin/python tests/bench/run.py --json build/compare/bench.json --page build/compare/index.html $(ARGS)
	@echo build/compare/index.html

matrix:
	$(PYTHON) .ci/matrix $(ARGS)

docs: build $(VENV)/.docs
	NUMBALITE_DRIVER=sim $(PY) -m sphinx -q -W --keep-going -c docs . build/site
	@echo build/site/index.html

fuzz: build $(VENV)/.tools
	$(PY) tests/fuzz/run.py $(TARGETS) --seconds $(SECONDS) --engine $(ENGINE) --seed $$(date +%s)

C_FILES := $(shell find cext -name '*.[ch]')
CLANG_FORMAT = $(VENV)/bin/clang-format

lint: $(VENV)/.tools
	@if $(PY) -c 'import ruff' 2>/dev/null; then $(PY) -m ruff check . && $(PY) -m ruff format --check .; \
	else echo "lint: ruff is not installed and pip reaches no index: Python is not checked"; fi
	@if [ -x $(CLANG_FORMAT) ]; then $(CLANG_FORMAT) --dry-run --Werror $(C_FILES); \
	else echo "lint: clang-format is not installed and pip reaches no index: C is not checked"; fi
	@if $(PY) -c 'import mypy' 2>/dev/null; then $(PY) -m mypy; \
	else echo "lint: mypy is not installed and pip reaches no index: types are not checked"; fi

format: $(VENV)/.tools
	$(PY) -m ruff check --fix . ; $(PY) -m ruff format .
	$(CLANG_FORMAT) -i $(C_FILES)

# ---- the sanitizers ---------------------------------------------------------------------------------
# An instrumented build of its own under build-$(SAN), run by the ordinary interpreter, which is why the
# sanitizer's library is preloaded. Python itself never frees everything, so leaks are not looked for
# here: the tests marked `leaks` count what we made ourselves. Simulated images need no instrumentation.
BUILD = build-$(SAN)
FLAGS_address = address,undefined
FLAGS_thread = thread
LIBRARY_address = libasan.so
LIBRARY_thread = libtsan.so
TESTS_address = tests
# What never runs our instrumented code teaches nothing here (tests/sim_engine has sanitizer builds of its own).
IGNORED = layout build abi null sim_engine notebooks
TESTS_thread = tests/threads
# ThreadSanitizer tells of what it found by the exit status of the process, which has to be the first one.
WORKERS_address = $(WORKERS)
ASAN = detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0:allocator_may_return_null=1:abort_on_error=0
# ThreadSanitizer wants its addresses where old kernels put them.
PREFIX_thread = $(shell command -v setarch >/dev/null && echo setarch -R)

$(BUILD)/.built: $(VENV)/.tools setup.py $(SOURCES) $(shell find numbalite cuda_src -type f -not -name '*.so' -not -name '*.pyc')
	@test -n "$(FLAGS_$(SAN))" || { echo "SAN=$(SAN)? address or thread"; exit 1; }
	NUMBALITE_SANITIZE=$(FLAGS_$(SAN)) $(PY) setup.py --quiet build --build-base $(BUILD) --build-lib $(BUILD)/lib
	@touch $@

sanitize: $(BUILD)/.built
	cd $(BUILD) && \
	PYTHONPATH=lib:.. PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1 NUMBALITE_SANITIZED=$(SAN) \
	LD_PRELOAD=$$($(CC) -print-file-name=$(LIBRARY_$(SAN))) \
	ASAN_OPTIONS=$(ASAN):$$ASAN_OPTIONS UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:$$UBSAN_OPTIONS \
	TSAN_OPTIONS=second_deadlock_stack=1:halt_on_error=0:exitcode=66:suppressions=$(CURDIR)/tests/threads/tsan.supp:$$TSAN_OPTIONS \
	$(PREFIX_$(SAN)) $(abspath $(PY)) -m pytest -q -c ../pyproject.toml --rootdir .. -p no:cacheprovider \
	    $(WORKERS_$(SAN)) $(addprefix ../,$(TESTS_$(SAN))) $(addprefix --ignore=../tests/,$(IGNORED)) $(ARGS)

# ---- coverage of the C sources ----------------------------------------------------------------------
# Each process adds its counters to files beside the objects when it ends.
build-coverage/.built: $(VENV)/.tools setup.py $(SOURCES) $(shell find numbalite cuda_src -type f -not -name '*.so' -not -name '*.pyc')
	rm -rf build-coverage
	CC=gcc NUMBALITE_GCOV=1 $(PY) setup.py --quiet build --build-base build-coverage --build-lib build-coverage/lib
	@touch $@

coverage: build-coverage/.built
	find build-coverage -name '*.gcda' -delete
	-cd build-coverage && PYTHONPATH=lib:.. PYTHONDONTWRITEBYTECODE=1 $(abspath $(PY)) -m pytest -q \
	    -c ../pyproject.toml --rootdir .. -p no:cacheprovider $(WORKERS) ../tests \
	    $(addprefix --ignore=../tests/,$(IGNORED)) $(ARGS)
	$(MAKE) --no-print-directory coverage-report

# Loops of the engine run more than 2^32 times, which gcovr would reject as an error of gcov.
coverage-report:
	mkdir -p build-coverage/report
	$(PY) -m gcovr --root . --filter cext/ --object-directory build-coverage --exclude-unreachable-branches \
	    --gcov-suspicious-hits-threshold 0 \
	    --html-details build-coverage/report/index.html --json build-coverage/report/coverage.json --txt-metric branch --txt - build-coverage

clean:
	rm -rf build build-address build-thread build-coverage build-fuzz dist *.egg-info $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis bench.json
	find numbalite tests -name '*.so' -delete -o -name __pycache__ -prune -exec rm -rf {} +
