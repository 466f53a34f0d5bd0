/* core/stop: stops kernels that test a flag, and finds asserts that have failed. The module of such
 * a kernel has a record in device memory, which numbalite/compilers/stoppable.py adds: a flag,
 * which the host sets by a copy on a stream of its own, and fields in which the first thread that
 * exits writes where it was. A failed assert writes another record, and a word in memory of the
 * host, which each wait reads. */
#ifndef NL_CORE_STOP_H
#define NL_CORE_STOP_H

#include "core/device.h"
#include "core/params.h"

typedef struct nl_stop nl_stop; /* a module's record */

/* Where the records of a module are, on a device, which is bound; 0: there is none. sites: for each
 * test, in the order of their numbers, "function\tposition", each ended by a NUL. */
typedef struct nl_stop_records {
    CUdeviceptr flag, failure;
    const char *sites;
    size_t size;
} nl_stop_records;
/* From now on core/wait stops kernels and reports asserts. */
int nl_stop_add(nl_device *dev, const nl_stop_records *records, nl_stop **out, nl_error *err);
/* Before the module is unloaded; accepts NULL. */
void nl_stop_remove(nl_stop *stop);
size_t nl_stop_record_size(void);
size_t nl_stop_failure_size(void);
/* A kernel of the module was launched. */
void nl_stop_note_launch(nl_stop *stop, const char *kernel, const nl_params *params);

#endif
