/* core/transfer: copies between host and device memory, with any strides on either side.
 *
 * A copy is divided into as few cuMemcpy3D calls as its strides permit: first, axes are removed,
 * merged, sorted and reversed. The call returns when the copy is complete or, for an upload on a
 * stream, when the host side has been read. An asynchronous copy is only ordered on the stream; use
 * it for page-locked host memory, and keep the memory of both sides allocated until the stream is
 * idle. Call these functions without the interpreter's lock. */
#ifndef NL_CORE_TRANSFER_H
#define NL_CORE_TRANSFER_H

#include "core/device.h"
#include "core/direction.h"
#include "core/layout.h"

/* to and from are the addresses of the first elements (on the host side, a pointer cast to
 * CUdeviceptr). Both layouts must have the same shape and itemsize, and the elements of `to` must
 * not overlap each other. */
int nl_transfer(nl_device *dev, nl_direction direction, CUdeviceptr to, const nl_layout *to_layout,
                CUdeviceptr from, const nl_layout *from_layout, CUstream stream, int asynchronous,
                nl_error *err);
/* One operand that a call uploads to the device. The members have the same meaning as nl_transfer's
 * parameters. */
typedef struct nl_upload {
    CUdeviceptr to;
    const nl_layout *to_layout;
    const char *from;
    const nl_layout *from_layout;
} nl_upload;
/* Uploads all operands of a call, large blocks with several threads. On return, the host side has
 * been read, and later work on the stream reads the uploaded data. */
int nl_transfer_upload_arrays(nl_device *dev, const nl_upload *uploads, int count, CUstream stream,
                              nl_error *err);
/* Fills a strided device region with copies of one element of layout->itemsize bytes. */
int nl_fill(nl_device *dev, CUdeviceptr to, const nl_layout *layout, const void *element,
            CUstream stream, int asynchronous, nl_error *err);

#endif
