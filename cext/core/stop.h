/* core/stop: stops kernels that test a flag. The module of such a kernel has a record in device
 * memory, which numbalite/compilers/stoppable.py adds: a flag, which the host sets by a copy on a
 * stream of its own, and fields in which the first thread that exits writes where it was. */
#ifndef NL_CORE_STOP_H
#define NL_CORE_STOP_H

#include "core/device.h"
#include "core/params.h"

typedef struct nl_stop nl_stop; /* a module's record */

/* The record at an address of a device, which is bound. sites: for each test, in the order of their
 * numbers, "function\tposition", each ended by a NUL. From now on core/wait stops kernels. */
int nl_stop_add(nl_device *dev, CUdeviceptr address, const char *sites, size_t size, nl_stop **out,
                nl_error *err);
/* Before the module is unloaded; accepts NULL. */
void nl_stop_remove(nl_stop *stop);
size_t nl_stop_record_size(void);
/* A kernel of the module was launched. */
void nl_stop_note_launch(nl_stop *stop, const char *kernel, const nl_params *params);

#endif
