"""Compares driver/cuda_abi.h with the toolkit's cuda.h and nvrtc.h, if a toolkit is installed.

The build does not read a toolkit's headers: this test compiles a file of _Static_asserts that
includes them. One translation unit renames each name of cuda_abi.h to ours_NAME; the toolkit's
names
stay.
"""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ABI = ROOT / "cext/driver/cuda_abi.h"


def include_directory():
    places = [pathlib.Path("/usr/local/cuda/include"), pathlib.Path("/usr/include")]
    try:
        from cuda.pathfinder import find_nvidia_header_directory

        found = find_nvidia_header_directory("cudart")
        places.insert(0, pathlib.Path(found)) if found else None
    except ImportError:
        pass
    for place in places:
        if (place / "cuda.h").exists() and (place / "nvrtc.h").exists():
            return place
    pytest.skip("no CUDA toolkit here")


def renamed_header():
    """Returns cuda_abi.h with a prefix before every name that it defines, so that it can be
    included together with cuda.h."""
    text = re.sub(r"/\*.*?\*/", "", ABI.read_text(), flags=re.S)
    names = set(re.findall(r"\b(?:CU|nvrtc|NVRTC)\w+", text)) | set(
        re.findall(r"\bstruct (\w+)", text)
    )
    return re.sub(r"\b(\w+)\b", lambda m: f"ours_{m[1]}" if m[1] in names else m[1], text), text


def parse_constants(text):
    """Returns the names of the enumerators and of the stream macros."""
    found = []
    for body in re.findall(r"enum\s*\{(.*?)\}", text, re.S):
        found += re.findall(r"(\w+)\s*=", body)
    return found


def parse_structs(text):
    """Returns {name: [field, ...]} for the structs that are passed to the driver."""
    found = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\} \w+;", text, re.S):
        body = re.sub(r"\b(?:union|struct) \{.*?\n    \} (\w+);", r"int \1;", body, flags=re.S)
        fields = []
        for declaration in body.split(";"):
            fields += [
                re.sub(r"\[.*?\]", "", part).split()[-1].lstrip("*")
                for part in declaration.split(",")
                if part.strip()
            ]
        found[name] = fields
    return found


def compile_with_toolkit(source, tmp_path):
    path = tmp_path / "abi.c"
    path.write_text(source)
    command = ["gcc", "-std=gnu11", "-fsyntax-only", f"-I{include_directory()}", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.fixture(autouse=True)
def skip_without_gcc():
    if not shutil.which("gcc"):
        pytest.skip("no gcc")


def test_declared_constants_structs_and_handles_match_cuda_headers(tmp_path):
    ours, text = renamed_header()
    lines = ["#include <cuda.h>", "#include <nvrtc.h>", ours]
    # Omits error codes that the installed toolkit does not define.
    known = (include_directory() / "cuda.h").read_text() + (
        include_directory() / "nvrtc.h"
    ).read_text()
    checked = 0
    for constant in parse_constants(text):
        if re.search(rf"\b{constant}\b", known):
            lines.append(f'_Static_assert((int)ours_{constant} == (int){constant}, "{constant}");')
            checked += 1
    # Launch attributes are a union with many members that we never use:
    # only the union's size and the offset of the value matter.
    for name, fields in parse_structs(text).items():
        if not re.search(rf"\b{name}\b", known):
            continue
        lines.append(f'_Static_assert(sizeof(ours_{name}) == sizeof({name}), "size of {name}");')
        for field in fields:
            if field.startswith("reserved") or field == "pad":
                continue
            lines.append(
                f"_Static_assert(__builtin_offsetof(ours_{name}, {field}) =="
                f' __builtin_offsetof({name}, {field}), "{name}.{field}");'
            )
            checked += 1
    for handle in (
        "CUcontext",
        "CUmodule",
        "CUfunction",
        "CUstream",
        "CUevent",
        "CUgraph",
        "CUgraphNode",
        "CUgraphExec",
        "CUdeviceptr",
        "CUdevice",
        "nvrtcProgram",
    ):
        lines.append(f'_Static_assert(sizeof(ours_{handle}) == sizeof({handle}), "{handle}");')
    assert checked > 100
    compile_with_toolkit("\n".join(lines) + "\n", tmp_path)


def parameter_types(parameters):
    """Returns ["int *", "size_t"] for "(int *count, size_t size)"."""
    types = []
    for parameter in parameters.strip("() \n").split(","):
        parameter = " ".join(parameter.replace("*", " * ").split())
        if parameter in {"", "void"}:
            continue
        types.append(
            re.sub(r"(?<=[\w*]) (?!const\b)\w+$", "", parameter) if " " in parameter else parameter
        )
    return types


def test_declared_driver_functions_have_the_toolkits_signatures(tmp_path):
    """Each parameter of each call in driver_calls.h is as wide, and as much a pointer, as in cuda.h.

    An enumeration of the toolkit is a plain int in driver_calls.h. Some calls have several
    versions: cudaTypedefs.h has each by its number; without that header, the first version in
    cuda.h with the same number of parameters is used."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "cext/driver/driver_calls.h").read_text(), flags=re.S)
    text = " ".join(text.replace("\\\n", " ").split())
    calls = re.findall(r"X\(\s?(\w+), (\d+), (\([^()]*\)), \(", text)
    assert len(calls) > 60
    folder = include_directory()
    headers = [folder / "cuda.h", folder / "cudaProfiler.h"]  # pip's packages have only one
    header = "".join(path.read_text() for path in headers if path.exists())
    lines = ["#include <cuda.h>"]
    numbered = folder / "cudaTypedefs.h"
    numbered = numbered.read_text() if numbered.exists() else ""
    for name, version, parameters in calls:
        versions = re.findall(rf"PFN_cu{name}_v{version}\)\s*(\([^()]*\))", numbered) or re.findall(
            rf"CUresult\s+CUDAAPI\s+cu{name}(?:_v\d)?\s*(\([^()]*\))", header
        )
        if not versions:
            continue  # newer than this toolkit
        ours, versions = parameter_types(parameters), [parameter_types(v) for v in versions]
        theirs = next((v for v in versions if len(v) == len(ours)), versions[0])
        assert len(ours) == len(theirs), f"cu{name}: {ours} and {theirs}"
        for mine, wanted in zip(ours, theirs):
            assert mine.count("*") == wanted.count("*"), f"cu{name}: {mine} and {wanted}"
            lines.append(
                f'_Static_assert(sizeof({mine}) == sizeof({wanted}), "cu{name}: {mine}, {wanted}");'
            )
    assert len(lines) > 200
    compile_with_toolkit("\n".join(lines) + "\n", tmp_path)


def test_driver_functions_exist_in_the_requested_versions():
    """cuGetProcAddress returns a function by name and version; cudaTypedefs.h lists the existing
    versions."""
    files = [include_directory() / name for name in ("cudaTypedefs.h", "cudaProfilerTypedefs.h")]
    if not files[0].exists():
        pytest.skip("no cudaTypedefs.h here")
    known = "".join(file.read_text() for file in files if file.exists())
    of_headers = re.search(r"#define CUDA_VERSION (\d+)", (files[0].parent / "cuda.h").read_text())
    text = (ROOT / "cext/driver/driver_calls.h").read_text()
    for name, version in re.findall(r"X\((\w+), (\d+)", text):
        if name.startswith("Profiler") and not files[1].exists():
            continue
        if int(version) > int(of_headers[1]):
            continue  # newer than this toolkit
        assert f"PFN_cu{name}_v{version})" in known, f"cu{name} has no version {version}"
