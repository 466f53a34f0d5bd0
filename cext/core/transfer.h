/* core/transfer: moving bytes between host and device, any strides on either side.
 *
 * A copy is cut into the fewest cuMemcpy3D pieces that its strides allow: dimensions are dropped,
 * merged, sorted and flipped first. The call returns when the copy is done, or for an upload on a
 * stream when the host side has been read. Asynchronous ones are only ordered on the stream, and
 * the caller keeps both sides alive: for page-locked host memory.
 * Call without the interpreter's lock. */
#ifndef NL_CORE_TRANSFER_H
#define NL_CORE_TRANSFER_H

#include "core/device.h"
#include "core/direction.h"
#include "core/layout.h"

/* to and from are the addresses of the first elements (a pointer cast to CUdeviceptr on the host
 * side). Both layouts have the same shape and itemsize; `to` must not overlap itself. */
int nl_transfer(nl_device *dev, nl_direction direction, CUdeviceptr to, const nl_layout *to_layout,
                CUdeviceptr from, const nl_layout *from_layout, CUstream stream, int asynchronous,
                nl_error *err);
/* What goes to the device for one call; as for nl_transfer. */
typedef struct nl_upload {
    CUdeviceptr to;
    const nl_layout *to_layout;
    const char *from;
    const nl_layout *from_layout;
} nl_upload;
/* All of them, large blocks side by side. When it returns the host side has been read, and what is
 * then put on the stream finds everything in place. */
int nl_transfer_uploads(nl_device *dev, const nl_upload *uploads, int count, CUstream stream,
                        nl_error *err);
/* Fills a strided region with one element of layout->itemsize bytes. */
int nl_transfer_fill(nl_device *dev, CUdeviceptr to, const nl_layout *layout, const void *element,
                     CUstream stream, int asynchronous, nl_error *err);

#endif
