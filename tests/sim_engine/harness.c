/* Exports the simulated driver under the driver's own names (cuMemAlloc, ...), for ctypes. */
#include <stdio.h>
#include "driver/driver.h"

#define EXPORT __attribute__((visibility("default")))

static nl_driver table;

EXPORT int harness_open(int devices) {
    nl_error err;
    if (nl_sim_calls_fill(&table, devices, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    return (int)table.Init(0);
}

/* The checks of the calling thread's launches; mask 0: none. */
EXPORT void harness_set_checks(unsigned mask, unsigned long long seed, unsigned limit_ms) {
    nl_checks checks = {.mask = mask, .shuffled = seed != 0, .seed = seed, .limit_ms = limit_ms};
    table.SetChecks(&checks);
}

EXPORT void harness_set_compiler(nl_checks_compile_fn compile) {
    nl_checks none = {.mask = 0};
    table.SetProcessChecks(&none, compile);
}

EXPORT int harness_take_fault(char *buffer, size_t size) {
    nl_fault fault;
    if (!table.TakeFault(&fault))
        return 0;
    nl_fault_sentence(&fault, buffer, size);
    return 1;
}

#define CALL(name, version, parameters, arguments) \
    EXPORT CUresult cu##name parameters { \
        return table.name arguments; \
    }
NL_DRIVER_CALLS(CALL)
