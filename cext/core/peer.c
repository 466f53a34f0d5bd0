/* core/peer: copies between two devices.
 *
 * Dense blocks with the same order are copied directly. Blocks with other layouts are packed into
 * temporary memory on one device, copied, and unpacked on the other device. The copy runs on the
 * stream that the call specifies; the default is the destination's stream. */
#include "core/peer.h"

#include "core/buffer.h"
#include "core/transfer.h"

int nl_peer_device_of_stream(CUstream stream, nl_device *first, nl_device *second, nl_device **out,
                             nl_error *err) {
    CUcontext context = NULL;
    if (nl_device_bind(first, err) < 0 || NL_CU(err, StreamGetCtx, stream, &context) < 0)
        return -1;
    *out = context == first->context ? first : context == second->context ? second : NULL;
    if (*out != NULL)
        return 0;
    return nl_error_set(
        err, NL_ERR_VALUE,
        "the stream belongs to neither of the devices %d and %d between which it is to copy",
        first->ordinal, second->ordinal);
}

int nl_peer_choose_stream(nl_peer *other, int blocking, nl_error *err) {
    other->stream = NULL;
    other->blocking = blocking;
    other->copy_stream = !blocking;
    return blocking ? 0 : nl_device_get_copy_stream(other->device, &other->stream, err);
}

/* Makes later work on the stream of `later` wait for earlier work on the stream of `earlier`. */
static int join_streams(const nl_peer *later, const nl_peer *earlier, nl_error *err) {
    CUevent event = NULL;
    if (nl_device_bind(earlier->device, err) < 0 ||
        NL_CU(err, EventCreate, &event, CU_EVENT_DISABLE_TIMING) < 0)
        return -1;
    int status = NL_CU(err, EventRecord, event, earlier->stream);
    if (status == 0)
        status = nl_device_bind(later->device, err);
    if (status == 0)
        status = NL_CU(err, StreamWaitEvent, later->stream, event, 0);
    /* the driver destroys the event when it is complete */
    nl_driver_print_failure(nl_cu.EventDestroy(event), "cuEventDestroy");
    return status;
}

/* Lets `dev` access the other device's memory directly; returns whether this succeeded. */
static int enable_peer_access(nl_device *dev, nl_device *other) {
    nl_error ignored;
    int can = 0;
    if (nl_atomic_load(&dev->peers) & (UINT64_C(1) << other->ordinal))
        return 1;
    return NL_CU(&ignored, DeviceCanAccessPeer, &can, dev->handle, other->handle) == 0 && can &&
           nl_device_enable_peer(dev, other, &ignored) == 0;
}

static size_t layout_bytes(const nl_layout *layout) {
    return (size_t)(nl_layout_count_elements(layout) * layout->itemsize);
}

/* Copies a dense block to another dense block, on the stream of `by`, which is either `to` or
 * `from`. A device that can access the other device's memory copies as within one device, which
 * takes 3 us instead of 8 for small blocks on an H200. Without such access, the driver copies
 * through the host. */
static int copy_dense_block(const nl_peer *to, const nl_peer *from, const nl_peer *by,
                            nl_error *err) {
    size_t size = layout_bytes(from->layout);
    int is_direct = enable_peer_access(by->device, by == to ? from->device : to->device);
    if (nl_device_bind(by->device, err) < 0)
        return -1;
    if (is_direct)
        return NL_CU(err, MemcpyDtoDAsync, to->address, from->address, size, by->stream);
    return NL_CU(err, MemcpyPeerAsync, to->address, to->device->context, from->address,
                 from->device->context, size, by->stream);
}

static int copy_within_device(const nl_peer *to, const nl_peer *from, nl_error *err) {
    return nl_transfer(to->device, NL_DEVICE_TO_DEVICE, to->address, to->layout, from->address,
                       from->layout, to->stream, 1, err);
}

static int synchronize_peer(const nl_peer *side, nl_error *err) {
    return nl_device_bind(side->device, err) < 0 ? -1 : NL_CU0(err, CtxSynchronize);
}

/* Ends a copy: makes `waiting` wait for `working` with an event or, if no event can be recorded, on
 * the host. */
static int wait_after_copy(const nl_peer *waiting, const nl_peer *working, nl_error *err) {
    return join_streams(waiting, working, err) == 0 ? 0 : synchronize_peer(working, err);
}

/* Waits for both devices after a failure, so that no memory is reused while work uses it. */
static int abandon_copy(const nl_peer *to, const nl_peer *from) {
    nl_error ignored;
    (void)synchronize_peer(from, &ignored);
    (void)synchronize_peer(to, &ignored);
    return -1;
}

static int copy_block(const nl_peer *to, const nl_peer *from, const nl_peer *given, nl_error *err) {
    const nl_peer *by = given == from ? from : to, *other = by == to ? from : to;
    if (!other->copy_stream && join_streams(by, other, err) < 0)
        return -1;
    if (copy_dense_block(to, from, by, err) < 0)
        return -1;
    return wait_after_copy(other, by, err);
}

/* Sets `packed` to a dense block in newly allocated memory. */
static int allocate_dense_block(nl_peer *packed, nl_layout *layout, nl_buffer **buffer,
                                nl_error *err) {
    nl_layout_set_c(layout);
    packed->layout = layout;
    if (nl_buffer_alloc(packed->device, layout_bytes(layout), buffer, err) < 0)
        return -1;
    packed->address = (*buffer)->address;
    return nl_buffer_order_with_stream(*buffer, packed->stream, packed->blocking, err);
}

static int copy_packed(const nl_peer *to, const nl_peer *from, const nl_peer *given,
                       nl_error *err) {
    nl_layout out_layout = *from->layout, in_layout = *to->layout;
    nl_peer out = *from, in = *to;
    nl_buffer *out_buffer = NULL, *in_buffer = NULL;
    int status = -1;
    if (allocate_dense_block(&out, &out_layout, &out_buffer, err) < 0 ||
        allocate_dense_block(&in, &in_layout, &in_buffer, err) < 0)
        goto done;
    if (given == to && join_streams(from, to, err) < 0)
        goto done;
    status = copy_within_device(&out, from, err);
    if (status == 0)
        status = join_streams(to, from, err);
    if (status == 0)
        status = copy_dense_block(&in, &out, &in, err);
    if (status == 0)
        status = copy_within_device(to, &in, err);
    if (status == 0)
        status = wait_after_copy(from, to, err);
    if (status < 0)
        status = abandon_copy(to, from);
done:
    nl_buffer_release(in_buffer);
    nl_buffer_release(out_buffer);
    return status;
}

int nl_peer_copy(const nl_peer *to, const nl_peer *from, const nl_peer *given, nl_error *err) {
    unsigned alike =
        nl_layout_contiguous_orders(to->layout) & nl_layout_contiguous_orders(from->layout);
    return (alike ? copy_block : copy_packed)(to, from, given, err);
}
