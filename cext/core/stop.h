/* core/stop: stops kernels that test a flag, and finds failed asserts. In the module of a stoppable
 * kernel, numbalite/compilers/stoppable.py adds a record in device memory. The record consists of a
 * flag, which the host sets with a copy on a separate stream, and of fields in which the first
 * thread that exits stores its position. A failed assert fills another record, and sets a flag in
 * host memory that each wait reads. */
#ifndef NL_CORE_STOP_H
#define NL_CORE_STOP_H

#include "core/device.h"
#include "core/params.h"

typedef struct nl_stop nl_stop; /* the records of a module */

/* Device addresses of a module's records, or 0 for a record that the module lacks. The module's
 * device must be bound. `sites` contains "function\tposition" for each test of the flag, in the
 * order of the tests' numbers, each terminated by a NUL. */
typedef struct nl_stop_records {
    CUdeviceptr flag, failure;
    const char *sites;
    size_t size;
} nl_stop_records;
/* Registers a module's records. After this call, core/wait stops kernels of the module and reports
 * its failed asserts. */
int nl_stop_add_module(nl_device *dev, const nl_stop_records *records, nl_stop **out,
                       nl_error *err);
/* Removes the module's records from the list; call this function before the module is unloaded.
 * Accepts NULL. */
void nl_stop_remove_module(nl_stop *stop);
size_t nl_stop_record_size(void);
size_t nl_stop_failure_size(void);
/* Records a launch of a kernel of the module, for messages. */
void nl_stop_record_launch(nl_stop *stop, const char *kernel, const nl_params *params);

#endif
