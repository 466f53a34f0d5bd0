/* core/peer: copies between the memories of two devices, in stream order.
 *
 * Only events can order the streams of two devices, so core/peer records events on both sides of a
 * copy: the copy waits for the earlier work of both streams, and later work of both streams waits
 * for the copy. The host does not wait. Call these functions without the interpreter's lock. */
#ifndef NL_CORE_PEER_H
#define NL_CORE_PEER_H

#include "core/device.h"
#include "core/layout.h"

typedef struct nl_peer {
    nl_device *device;
    CUdeviceptr address; /* of the first element */
    const nl_layout *layout;
    CUstream stream; /* of this device */
    int blocking;    /* nonzero if the stream is ordered with the legacy default stream */
    /* set if the stream is that of nl_device_get_copy_stream; the copy does not wait for the
     * stream's earlier work */
    int copy_stream;
} nl_peer;

/* Finds whether a stream belongs to the device `first` or `second`. Returns -1 (NL_ERR_VALUE) if it
 * belongs to neither device. */
int nl_peer_device_of_stream(CUstream stream, nl_device *first, nl_device *second, nl_device **out,
                             nl_error *err);
/* Chooses the stream of the other device for a copy that was requested on a stream of one device:
 * the default stream or, for a stream that is not ordered with default streams, its copy_stream. */
int nl_peer_choose_stream(nl_peer *other, int blocking, nl_error *err);
/* Both layouts must have the same shape and itemsize, and the elements of `to` must not overlap
 * each other. `given` is the side on whose stream the copy was requested, or NULL. */
int nl_peer_copy(const nl_peer *to, const nl_peer *from, const nl_peer *given, nl_error *err);

#endif
