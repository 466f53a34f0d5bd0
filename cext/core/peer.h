/* core/peer: copies between the memories of two devices, in stream order.
 *
 * Streams of two devices are ordered by events alone, which are set here on either side of the
 * copy: it comes after what both streams hold when it is put there, and what is put into them later
 * comes after it. Nothing waits on the host. Call without the interpreter's lock. */
#ifndef NL_CORE_PEER_H
#define NL_CORE_PEER_H

#include "core/device.h"
#include "core/layout.h"

typedef struct nl_peer {
    nl_device *device;
    CUdeviceptr address; /* of the first element */
    const nl_layout *layout;
    CUstream stream; /* of this device */
    int blocking;    /* it is ordered with the legacy default stream */
    int copy_stream; /* it is nl_device_copy_stream's: the copy does not come after what is in it */
} nl_peer;

/* The device that a stream belongs to, `first` or `second`; -1 (NL_ERR_VALUE) if neither. */
int nl_peer_of_stream(CUstream stream, nl_device *first, nl_device *second, nl_device **out,
                      nl_error *err);
/* The other side's stream, where the copy was asked for on a stream of only one: its default
 * stream, or for a stream that is in no order with default streams the device's copy_stream. */
int nl_peer_choose(nl_peer *other, int blocking, nl_error *err);
/* Both layouts have the same shape and itemsize, `to` must not overlap itself. `given`: the side
 * whose stream the copy was asked for on, or NULL. */
int nl_peer_copy(const nl_peer *to, const nl_peer *from, const nl_peer *given, nl_error *err);

#endif
