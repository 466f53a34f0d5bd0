/* Exports the simulated driver under the driver's own names (cuMemAlloc, ...), for ctypes. */
#include <stdio.h>
#include "driver/driver.h"

#define EXPORT __attribute__((visibility("default")))

static nl_driver table;

EXPORT int harness_open(int devices) {
    nl_error err;
    if (nl_driver_sim_fill(&table, devices, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    return (int)table.Init(0);
}

EXPORT int harness_take_fault(char *buffer, size_t size) {
    return table.TakeFault(buffer, size);
}

#define CALL(name, version, parameters, arguments) \
    EXPORT CUresult cu##name parameters { \
        return table.name arguments; \
    }
NL_DRIVER_CALLS(CALL)
