/* core/transfer: chooses the fastest method for a copy by its strides.
 *
 * If a copy needs few driver calls and has long rows, the driver copies directly. The driver copies
 * rows of a few bytes between host and device slowly, because it transfers each row separately. So
 * if the call waits for its copy, the host side is packed into a dense host block, or unpacked from
 * it, in pieces. If the device side also has short rows, a dense device block is an intermediate
 * step, because copies of short rows are fast within the device. With the axes sorted by the
 * device's strides, the device side is often dense, and one contiguous copy is enough. Large
 * contiguous copies use core/bounce.
 *
 * An upload on a stream copies its source to page-locked memory first, so that the call need not
 * wait for the stream. */
#include "core/transfer.h"

#include <string.h>
#include "base/mem.h"
#include "core/buffer.h"
#include "core/pack.h"
#include "core/pinned.h"
#include "core/hostblock.h"
#include "core/plan.h"
#include "core/bounce.h"
#include "core/stream.h"
#include "core/wait.h"

/* Minimum size in bytes of a row for which the driver is as fast as packing, measured on an H200
 * with driver 580. Only the driver's copies into strided host memory are slow. */
#define LONG_ROW 16
#define LONG_ROW_FROM_STRIDED_HOST 64
#define LONG_ROW_TO_STRIDED_HOST 4096
#define MAX_DRIVER_CALLS 8 /* number of driver calls that take less time than packing */
/* Minimum number of bytes per driver call for which many calls are faster than packing. */
#define LARGE_COPY (1 << 20)
#define PIECE (16 << 20) /* maximum size in bytes of the dense block */
/* A dense block of at least this size is page-locked if possible. */
#define LOCKED_DENSE ((size_t)256 << 10)
/* Below this size, the query whether memory is page-locked takes more time than it may save. */
#define MAYBE_LOCKED ((size_t)256 << 10)

/* Waits for the stream after success and after failure, because the caller may free its memory
 * next. The wait is not interruptible; an interrupt is accepted before the copy instead (see
 * nl_transfer). */
static int synchronize_after_transfer(CUstream stream, int status, nl_error *err) {
    nl_error ignored;
    if (status < 0 && nl_driver_is_ended_wait((CUresult)err->code))
        return -1; /* the copy was not started */
    nl_wait_hold_interrupts();
    int waited = NL_CU(status < 0 ? &ignored : err, StreamSynchronize, stream);
    nl_wait_release_interrupts();
    return waited < 0 ? -1 : status;
}

/* Copies from the device to pageable host memory through the page-locked `block`, in this thread:
 * the driver would make the same copies more slowly. Returns 1 on success, or -1 on an error. */
static int copy_to_host_through_block(CUdeviceptr device, void *host, void *block, size_t size,
                                      CUstream stream, nl_error *err) {
    int status = synchronize_after_transfer(
        stream, NL_CU(err, MemcpyDtoHAsync, block, device, size, stream), err);
    if (status == 0)
        memcpy(host, block, size);
    return status < 0 ? -1 : 1;
}

/* Starts a small copy immediately, without an interruptible wait before it. If an interrupt ends
 * its wait, the block stays allocated until the stream is idle. */
static int copy_small_to_host(CUdeviceptr device, void *host, nl_pinned *block, size_t size,
                              CUstream stream, nl_error *err) {
    int status = NL_CU(err, MemcpyDtoHAsync, block->host, device, size, stream);
    if (status == 0)
        status = NL_CU(err, StreamSynchronize, stream);
    if (status == 0)
        memcpy(host, block->host, size);
    if (status < 0 && !nl_wait_until_idle(stream))
        nl_pinned_release_after_work(block, stream);
    else
        nl_pinned_release(block);
    return status < 0 ? -1 : 1;
}

/* Copies from the device to the host in this thread, through a page-locked block. Returns 1 on
 * success, -1 on an error, or 0 without copying, if no page-locked block is available or would be
 * faster. */
static int copy_to_host_in_thread(nl_device *dev, CUdeviceptr device, void *host, size_t size,
                                  CUstream stream, nl_error *err) {
    nl_pinned *small = NULL;
    nl_host_block *large = NULL;
    nl_error ignored;
    int status = 0;
    if (size <= NL_PINNED_BYTES && nl_bounce_can_lock(size) &&
        nl_pinned_acquire(dev, &small, &ignored) == 0 && small != NULL)
        return copy_small_to_host(device, host, small, size, stream, err);
    if (nl_wait_for_idle_stream(stream, err) < 0)
        return -1;
    if (size > NL_PINNED_BYTES && size < nl_bounce_min_size() && nl_bounce_can_lock(size) &&
        !nl_bounce_is_locked(host) &&
        nl_hostblock_alloc(dev, nl_bounce_round_size(size), NL_HOST_LOCKED, 0, &large, &ignored) ==
            0)
        status = copy_to_host_through_block(device, host, large->memory, size, stream, err);
    nl_hostblock_release(large);
    return status;
}

/* Copies one contiguous block between host and device, and returns when the copy is complete, with
 * one exception: for a copy to the device on the default stream, the driver's call may return
 * before the last bytes have arrived. Other streams are ordered with the default stream, so only
 * work on a non-blocking stream could read the old bytes. So if the process has used a non-blocking
 * stream, the function waits until the copy to the device is complete. The first use of a buffer on
 * a non-blocking stream waits for earlier uploads (buffer.c). */
static int copy_block(nl_device *dev, nl_direction direction, CUdeviceptr device, void *host,
                      int64_t bytes, CUstream stream, nl_error *err) {
    size_t size = (size_t)bytes;
    if (direction == NL_DEVICE_TO_HOST) {
        int done = copy_to_host_in_thread(dev, device, host, size, stream, err);
        if (done == 0)
            done = nl_bounce_receive(dev, device, host, size, stream, err);
        if (done != 0)
            return done < 0 ? -1 : 0;
        if (stream == NULL)
            return NL_CU(err, MemcpyDtoH, host, device, size);
        return synchronize_after_transfer(
            stream, NL_CU(err, MemcpyDtoHAsync, host, device, size, stream), err);
    }
    if (nl_wait_for_idle_stream(stream, err) < 0)
        return -1;
    if (nl_bounce_is_faster(size) && !nl_bounce_is_locked(host)) {
        nl_bounce_part part = {device, host, size};
        int done = nl_bounce_send(dev, &part, 1, stream, err);
        if (done != 0)
            return done < 0 ? -1 : synchronize_after_transfer(stream, 0, err);
    }
    if (stream != NULL)
        return synchronize_after_transfer(
            stream, NL_CU(err, MemcpyHtoDAsync, device, host, size, stream), err);
    if (NL_CU(err, MemcpyHtoD, device, host, size) < 0)
        return -1;
    if (nl_stream_unordered_seen())
        return synchronize_after_transfer(NULL, 0, err);
    nl_buffer_record_upload(dev);
    return 0;
}

/* A plan of a copy between host and device in which `to` is always the device side, for copies in
 * both directions. */
typedef struct {
    nl_device *dev;
    nl_plan plan;
    char *dense;           /* dense host block of at most PIECE bytes, or one row */
    nl_host_block *locked; /* block that contains `dense`, if `dense` is page-locked */
    nl_buffer *staging;    /* device block of the same size, or NULL */
} packing;

/* Returns whether the device side is one dense block, in the plan's order of axes. */
static int is_dense(const nl_plan *p) {
    int64_t expected = p->width;
    for (int i = p->rank - 1; i >= 0; --i) {
        if (p->axes[i].to != expected)
            return 0;
        expected *= p->axes[i].count;
    }
    return 1;
}

/* Returns the plan that copies between the device side of `p` and a dense block at address
 * `block`. */
static nl_plan plan_dense_copy(const nl_plan *p, nl_direction direction, CUdeviceptr block) {
    nl_plan copy = *p;
    int into_block = p->direction == NL_DEVICE_TO_HOST;
    int64_t stride = p->width;
    copy.direction = direction;
    copy.to = into_block ? block : p->to;
    copy.from = into_block ? p->to : block;
    for (int i = p->rank - 1; i >= 0; --i) {
        copy.axes[i].to = into_block ? stride : p->axes[i].to;
        copy.axes[i].from = into_block ? p->axes[i].to : stride;
        stride *= p->axes[i].count;
    }
    return copy;
}

/* Copies between the device side and the dense host block. */
static int copy_dense_piece(const packing *k, const nl_plan *p, nl_error *err) {
    int64_t bytes = nl_plan_count_bytes(p);
    if (is_dense(p))
        return copy_block(k->dev, p->direction, p->to, k->dense, bytes, p->stream, err);
    if (k->staging == NULL) {
        nl_plan rows = plan_dense_copy(p, p->direction, (CUdeviceptr)(uintptr_t)k->dense);
        return synchronize_after_transfer(p->stream, nl_plan_copy(&rows, err), err);
    }
    nl_plan rows = plan_dense_copy(p, NL_DEVICE_TO_DEVICE, k->staging->address);
    if (p->direction == NL_DEVICE_TO_HOST) {
        if (nl_plan_copy(&rows, err) < 0)
            return -1;
        return copy_block(k->dev, p->direction, k->staging->address, k->dense, bytes, p->stream,
                          err);
    }
    if (copy_block(k->dev, p->direction, k->staging->address, k->dense, bytes, p->stream, err) < 0)
        return -1;
    return synchronize_after_transfer(p->stream, nl_plan_copy(&rows, err), err);
}

static int gather_or_scatter_piece(const packing *k, const nl_plan *p, nl_error *err) {
    char *host = (char *)(uintptr_t)p->from;
    if (p->direction == NL_DEVICE_TO_HOST) {
        if (copy_dense_piece(k, p, err) < 0)
            return -1;
        nl_pack_scatter(host, k->dense, p->axes, p->rank, p->width);
        return 0;
    }
    nl_pack_gather(k->dense, host, p->axes, p->rank, p->width);
    return copy_dense_piece(k, p, err);
}

/* Divides the copy along its outermost axis until each piece fits in the dense block. */
static int copy_in_pieces(const packing *k, const nl_plan *p, nl_error *err) {
    int64_t bytes = nl_plan_count_bytes(p);
    if (bytes <= PIECE || p->rank == 0)
        return gather_or_scatter_piece(k, p, err);
    int64_t slice = bytes / p->axes[0].count, at_once = PIECE / slice;
    for (int64_t done = 0; done < p->axes[0].count;) {
        nl_plan part = *p;
        int64_t left = p->axes[0].count - done, count = at_once < 1 ? 1 : at_once;
        if (count > left)
            count = left;
        part.to += (CUdeviceptr)(done * p->axes[0].to);
        part.from += (CUdeviceptr)(done * p->axes[0].from);
        part.axes[0].count = count;
        if (at_once < 1) {
            memmove(part.axes, part.axes + 1, (size_t)--part.rank * sizeof(nl_axis));
        }
        if (copy_in_pieces(k, &part, err) < 0)
            return -1;
        done += count;
    }
    return 0;
}

/* Returns the size of the largest piece that copy_in_pieces makes: a contiguous row is never cut.
 */
static int64_t max_piece_size(const nl_plan *p) {
    int64_t bytes = nl_plan_count_bytes(p);
    if (bytes <= PIECE)
        return bytes;
    return p->width > PIECE ? p->width : PIECE;
}

/* Allocates the device block if the device side has short rows. If there is not enough device
 * memory, the rows are copied one by one, which is slow, but not an error. */
static int open_packed_buffer(packing *k, int64_t size, nl_error *err) {
    nl_plan rows = plan_dense_copy(&k->plan, k->plan.direction, 0);
    int blocking;
    if (is_dense(&k->plan))
        return 0;
    if (rows.width >= LONG_ROW && nl_plan_count_copies(&rows) <= MAX_DRIVER_CALLS)
        return 0;
    if (nl_buffer_alloc(k->dev, (size_t)size, &k->staging, err) < 0) {
        k->staging = NULL;
        return err->kind == NL_ERR_CUDA && err->code == CUDA_ERROR_OUT_OF_MEMORY ? 0 : -1;
    }
    if (nl_stream_read_handle_blocking(k->plan.stream, &blocking, err) < 0)
        return -1;
    return nl_buffer_order_with_stream(k->staging, k->plan.stream, blocking, err);
}

/* Allocates the dense host block, page-locked from LOCKED_DENSE bytes on if possible, because the
 * driver copies page-locked memory faster. */
static int allocate_dense_host_block(packing *k, size_t size, nl_error *err) {
    if (size >= LOCKED_DENSE && nl_bounce_can_lock(size) &&
        nl_hostblock_alloc(k->dev, nl_bounce_round_size(size), NL_HOST_LOCKED, 0, &k->locked,
                           err) == 0) {
        k->dense = k->locked->memory;
        return 0;
    }
    k->locked = NULL;
    k->dense = nl_mem_alloc(size, err);
    return k->dense == NULL ? -1 : 0;
}

static int transfer_through_host_block(nl_device *dev, const nl_plan *p, nl_error *err) {
    packing k = {.dev = dev, .plan = *p};
    int64_t size = max_piece_size(p);
    if (allocate_dense_host_block(&k, (size_t)size, err) < 0)
        return -1;
    int status = open_packed_buffer(&k, size, err);
    if (status == 0)
        status = copy_in_pieces(&k, &k.plan, err);
    if (k.staging != NULL) {
        if (status < 0)
            synchronize_after_transfer(p->stream, -1, err);
        nl_buffer_forget_users(
            k.staging); /* synchronize_after_transfer() has already waited for the stream */
        nl_buffer_release(k.staging);
    }
    if (k.locked != NULL)
        nl_hostblock_release(k.locked);
    else
        nl_mem_free(k.dense);
    return status;
}

/* Uploads to a dense device region from a packed copy of the source, which stays allocated until
 * the stream has read it. Returns 1 on success, -1 on an error, or 0 without copying, if this
 * method is not possible. */
static int upload_through_buffer(nl_device *dev, const nl_plan *p, nl_error *err) {
    nl_host_block *aside;
    nl_error ignored;
    size_t size = (size_t)nl_plan_count_bytes(p);
    if (p->stream == NULL || size > NL_BOUNCE_ASIDE || !nl_bounce_can_lock(size) || !is_dense(p))
        return 0;
    if (p->rank == 0 && nl_bounce_is_faster(size)) {
        nl_bounce_part part = {p->to, (const char *)(uintptr_t)p->from, size};
        int sent = nl_bounce_send(dev, &part, 1, p->stream, err);
        if (sent != 0)
            return sent;
    }
    if (nl_hostblock_alloc(dev, nl_bounce_round_size(size), NL_HOST_LOCKED, 0, &aside, &ignored) <
        0)
        return 0;
    nl_pack_gather(aside->memory, (const char *)(uintptr_t)p->from, p->axes, p->rank, p->width);
    int status = NL_CU(err, MemcpyHtoDAsync, p->to, aside->memory, size, p->stream);
    nl_hostblock_release_after_work(aside, dev, p->stream);
    return status < 0 ? -1 : 1;
}

/* Returns whether the driver would be slow at a copy between host and device. `host_dense` is set
 * if the host side is one dense block. */
static int is_slow_for_driver(const nl_plan *p, int host_dense) {
    if (p->rank == 0)
        return 0;
    int64_t long_row = host_dense                          ? LONG_ROW
                       : p->direction == NL_DEVICE_TO_HOST ? LONG_ROW_TO_STRIDED_HOST
                                                           : LONG_ROW_FROM_STRIDED_HOST;
    if (p->width < long_row)
        return 1;
    int64_t copies = nl_plan_count_copies(p);
    return copies > MAX_DRIVER_CALLS && nl_plan_count_bytes(p) / copies < LARGE_COPY;
}

static int is_contiguous_block(const nl_layout *layout) {
    return nl_layout_contiguous_orders(layout) != 0;
}

int nl_transfer(nl_device *dev, nl_direction direction, CUdeviceptr to, const nl_layout *to_layout,
                CUdeviceptr from, const nl_layout *from_layout, CUstream stream, int asynchronous,
                nl_error *err) {
    nl_plan p = {.direction = direction, .stream = stream, .to = to, .from = from};
    if (nl_device_bind(dev, err) < 0)
        return -1;
    if (!nl_plan_make(&p, to_layout, from_layout))
        return 0;
    if (asynchronous)
        return nl_plan_copy(&p, err);
    if (direction == NL_DEVICE_TO_DEVICE) {
        int status = nl_plan_copy(&p, err);
        return status < 0 ? synchronize_after_transfer(stream, status, err)
                          : NL_CU(err, StreamSynchronize, stream);
    }
    int to_device = direction == NL_HOST_TO_DEVICE;
    int aside = to_device ? upload_through_buffer(dev, &p, err) : 0;
    if (aside != 0)
        return aside < 0 ? -1 : 0;
    if (p.rank > 0 && nl_wait_for_idle_stream(stream, err) < 0)
        return -1;
    if (is_slow_for_driver(&p, is_contiguous_block(to_device ? from_layout : to_layout))) {
        nl_plan seen = {.direction = direction, .stream = stream};
        seen.to = to_device ? to : from;
        seen.from = to_device ? from : to;
        nl_plan_make(&seen, to_device ? to_layout : from_layout,
                     to_device ? from_layout : to_layout);
        return transfer_through_host_block(dev, &seen, err);
    }
    if (p.rank > 0)
        return synchronize_after_transfer(stream, nl_plan_copy(&p, err), err);
    return copy_block(dev, direction, to_device ? p.to : p.from,
                      (void *)(uintptr_t)(to_device ? p.from : p.to), p.width, stream, err);
}

/* Fills *part if the upload is one contiguous block. Returns whether core/bounce should copy the
 * block; it must not copy page-locked memory, which the device reads directly. */
static int fill_bounce_part(const nl_upload *u, nl_bounce_part *part) {
    nl_plan p = {.direction = NL_HOST_TO_DEVICE, .to = u->to};
    p.from = (CUdeviceptr)(uintptr_t)u->from;
    if (!nl_plan_make(&p, u->to_layout, u->from_layout) || p.rank != 0)
        return 0;
    *part = (nl_bounce_part){p.to, (const char *)(uintptr_t)p.from, (size_t)p.width};
    return part->size < MAYBE_LOCKED || !nl_bounce_is_locked(part->host);
}

int nl_transfer_upload_arrays(nl_device *dev, const nl_upload *uploads, int count, CUstream stream,
                              nl_error *err) {
    nl_bounce_part parts[NL_BOUNCE_PARTS];
    uint64_t among = 0; /* bit i: upload i is in `parts` */
    int n = 0;
    if (nl_device_bind(dev, err) < 0)
        return -1;
    for (int i = 0; i < count && i < NL_BOUNCE_PARTS; i++)
        if (fill_bounce_part(&uploads[i], &parts[n])) {
            among |= (uint64_t)1 << i;
            n++;
        }
    int sent = nl_bounce_send(dev, parts, n, stream, err);
    if (sent < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        const nl_upload *u = &uploads[i];
        if (sent && i < NL_BOUNCE_PARTS && (among >> i & 1))
            continue;
        if (nl_transfer(dev, NL_HOST_TO_DEVICE, u->to, u->to_layout,
                        (CUdeviceptr)(uintptr_t)u->from, u->from_layout, stream, 0, err) < 0)
            return -1;
    }
    return 0;
}
