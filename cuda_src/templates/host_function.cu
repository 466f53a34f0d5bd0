/* The entry point of a function for the CPU, for one list of argument types (host/function.h). */
struct nl_block_${number} {${members} };
static void nl_run_${number}(void *nl_f) {
    const nl_host_frame &nl_r = *(const nl_host_frame *)nl_f;
    const nl_block_${number} &nl_b = *(const nl_block_${number} *)nl_r.block;
    (void)nl_b;
${names}    numbalite::nl_function::keep<${result}>(nl_r.results, [&]() -> decltype(auto) { return ${call}; });
}
NUMBALITE_FUNCTION_ENTRY(${number}, nl_block_${number}, ${result})
