"""Lists tests of numba-cuda that do not concern users' programs; the others apply
(numba_cuda_suite.py).

Each group has a reason and patterns of ``file::Class.test``.
"""

import fnmatch

GROUPS = {
    "numba's intermediate representation, typer and compiler passes": """
        core/test_itanium_mangler* cudapy/test_analysis* cudapy/test_byteflow* cudapy/test_copy_propagate*
        cudapy/test_ir.* cudapy/test_ir_utils* cudapy/test_tracing* cudapy/test_typeconv*
        cudapy/test_typeinfer* cudapy/test_flow_control*::TestCFGraph* cudapy/test_gufunc_scheduling*
        cudapy/test_flow_control*::TestRealCodeDomFront* cudapy/test_launch_config_sensitive*
        cudapy/test_debug.*::*dump_* cudapy/test_enums*::*test_int_enum_no_conversion
        cudapy/test_dispatcher*::*launch_config* cudapy/test_dispatcher*::*test_capture_compile_config
        cudapy/test_device_func*::*test_inspect_asm cudapy/test_device_func*::*test_inspect_llvm
        cudapy/test_device_func*::*cabi_propagate
        cudapy/test_cuda_array_interface*::*test_from_dtype_caching*
        cudapy/test_serialize*::*pre_launch_callbacks*""",
    "numba's extension API: overload, typing templates, intrinsics, models of types": """
        cudapy/test_extending* cudapy/test_overload* cudapy/test_make_function_to_jit_function*
        cudapy/test_ssa*::*test_issue5219 cudapy/test_localmem*::*struct* cudapy/test_sm.*::*struct*
        cudapy/test_sm_creation*::*struct* cudapy/test_compiler*::*compile_jitted_subroutine
        cudapy/test_compiler*::*calling_overloaded_function""",
    "LLVM IR and NVVM; PTX as LLVM makes it (b64 for u64, texts in constant memory, numba's symbols)": """
        nocuda/test_nvvm* nocuda/test_function_resolution* cudadrv/test_nvvm_driver*
        cudadrv/test_inline_ptx* cudapy/test_debuginfo.* cudapy/test_debuginfo_types*
        cudapy/test_lineinfo*::*lineinfo_in* cudapy/test_lineinfo*::*error_model
        cudapy/test_lineinfo*::*compile_internal cudapy/test_inline* cudapy/test_inspect*typed
        cudapy/test_const_string*::TestConstStringCodegen*
        cudapy/test_cache_hints*::*loads* cudapy/test_cache_hints*::*stores*
        cudapy/test_casting*::*_ptx cudapy/test_casting*::*native_cast
        cudapy/test_atomics*::*test_atomic_add_double_global*
        cudapy/test_dispatcher*::*const_mem_unspecialized cudapy/test_array_alignment*::*alignment_?d
        cudapy/test_compiler*::*env_global cudapy/test_warp_ops*::*shfl_sync_const_mode_val
        cudapy/test_inspect*::*test_inspect_lto_asm""",
    "arrays that kernels allocate (NRT)": """
        nrt/* cudapy/test_array_methods*::*copy""",
    "modules in which numba wraps cuda.bindings and cuda.core, and their handles and exceptions": """
        cudadrv/test_cuda_driver* cudadrv/test_linker* cudadrv/test_nvjitlink* cudadrv/test_nvrtc*
        cudadrv/test_module_callbacks* cudadrv/test_context_stack*::Test3rdPartyContext*
        cudadrv/test_context_stack*::TestContextLeak* cudadrv/test_managed_alloc*::*driver_*
        cudadrv/test_cuda_memory*::TestCudaMemory.* cudapy/test_fp8_bindings*
        cudapy/test_cooperative_groups*::*doesnt_link* cudapy/test_compiler*::TestCompileForCurrentDevice*
        cudapy/test_dispatcher*::TestLaunchBounds.* cudapy/test_compiler*::*arch_specific cudadrv/test_deallocations*
        nocuda/test_library_lookup* nocuda/test_import*""",
    "files of numba's cache, pickles of its inside, classes that only it uses": """
        cudapy/test_caching* nocuda/test_cache_version* core/test_serialize* nocuda/test_dummyarray*""",
    "calls of numba's own methods, counted by mocks": """
        cudapy/test_cuda_array_interface*::*sync* cudadrv/test_cuda_array_slicing*::*test_sync""",
    "texts of numba's typer": """
        cudapy/test_sm_creation*::*test_invalid_* cudapy/test_sm_creation*::*build_list
        cudapy/test_errors*::*test_typing_error""",
    "arrays refused by numba that numbalite takes": """
        cudadrv/test_array_attr*::*ravel_stride_* cudadrv/test_cuda_ndarray*::*contiguous*
        cudadrv/test_cuda_ndarray*::*transpose_wrongdim cudapy/test_array.*::*interleaved
        cudapy/test_cuda_array_interface*::*negative_strided* cudapy/test_transpose*::*view
        cudapy/test_array.*::*view_transpose_device cudadrv/test_cuda_ndarray*::*order_broadcasted
        cudadrv/test_cuda_ndarray*::*issue_8477""",
}  # fmt: skip


def irrelevance_reason(file: str, test: str) -> str | None:
    """Returns the reason why a test is irrelevant for programs; None if it is relevant."""
    name = f"{file}::{test}"
    for reason, patterns in GROUPS.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split()):
            return reason
    return None
