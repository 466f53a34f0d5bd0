"""The kernels of sorting compile for every GPU generation."""

import pytest

ORDER = "numbalite::nl_sort::"
KINDS = [
    f"{ORDER}{name}"
    for name in ("whole<unsigned char>", "real<unsigned short>", "real<unsigned>", "pair<numbalite::uint64>")
]  # fmt: skip
TEXT = "".join(
    f'#include "numbalite/{name}.cuh"\n'
    for name in ("counting_sort", "radix", "row_radix", "short_sort")
)


@pytest.mark.parametrize("arch", [75, 90, 100])
def test_sort_kernels_compile(compile_with_nvrtc, toolkit_options, arch):
    if arch not in compile_with_nvrtc.architectures:
        pytest.skip(f"this NVRTC does not compile for sm_{arch}")
    names = [f"nl_radix_count<{kind}, unsigned, 512, 8>" for kind in KINDS]
    names += [
        f"nl_sort_short<{kind}, {log}>" for kind, log in zip(KINDS, (3, 2, 3, 1), strict=True)
    ]
    together = 2 if arch == 75 else 3  # this GPU supports no more resident threads
    names += [
        f"nl_radix_pass<{KINDS[0]}, {ORDER}no_value, unsigned, 384, 20, {together}>",
        f"nl_radix_pass<{KINDS[2]}, unsigned, unsigned, 384, 24, 2>",
        f"nl_radix_pass<{KINDS[3]}, unsigned long long, unsigned long long, 256, 8, 3>",
    ]
    names += [
        f"nl_sort_row<{KINDS[0]}, false, 256, 4, {2 * together}>",
        f"nl_sort_row<{ORDER}whole<unsigned>, false, 256, 16, {together}>",
        f"nl_sort_row<{KINDS[2]}, true, 512, 16, 2>",
    ]
    names += [f"nl_write_counted<{count}, 256>" for count in ("unsigned", "unsigned long long")]
    result = compile_with_nvrtc(TEXT, arch, toolkit_options, names)
    assert result.log == "" and result.status == 0, result.log
    assert set(result.lowered) == set(names)
