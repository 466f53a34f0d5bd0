/* py/hostcopy: host arrays that are arguments of a call. Host arrays are collected while the
 * arguments are read, copied to the device when all arguments have been accepted, and copied back
 * after the kernel.
 *
 * There are three code paths: separate device memory, a mapped block and a packed block. A large
 * array has its own device memory, which core/transfer fills. Small arrays share a page-locked
 * block:
 * - The kernel of a ufunc reads each element once or a few times. The ufunc's kernel reads the
 * block directly, through the bus (mapped).
 * - A user's kernel may read an element any number of times, each time through the bus. So for a
 * user's kernel, the block is copied to device memory, and back, in one copy each (packed).
 *
 * A block is used only if something is copied back. For outputs, the call waits for the stream, and
 * can release the block afterwards.
 *
 * A deferred call does not wait: its outputs are in page-locked memory, and the caller waits for
 * the stream. A deferred call uses no block, and its arrays are kept alive until the stream is
 * done. */
#include "py/hostcopy.h"

#include <string.h>
#include "base/mem.h"
#include "core/bounce.h"
#include "core/transfer.h"
#include "core/wait.h"
#include "py/devarray.h"
#include "py/hostmemory.h"
#include "py/keep.h"

/* Alignment of arrays in a block, equal to that of device memory. */
#define ALIGNMENT 256
/* maximum total size of the arrays that are copied for a kernel as one block */
#define MAX_PACKED NL_PINNED_BYTES

/* ---- list of arrays ---- */

static void initialize_copies(nl_py_hostcopies *c) {
    c->capacity = NL_PY_STACK_HOSTCOPIES;
    c->items = c->on_stack;
    c->modes = 0;
    c->is_deferred = c->is_pending = c->was_ended = 0;
    c->block = NULL;
    c->small = NULL;
    c->large = NULL;
    c->packed = NULL;
    c->used = 0;
}

static int grow_copies(nl_py_hostcopies *c) {
    nl_error err;
    size_t capacity = (size_t)c->capacity * 4;
    nl_py_hostcopy *items = nl_mem_alloc(capacity * sizeof *items, &err);
    if (!items) {
        nl_py_raise(&err);
        return -1;
    }
    memcpy(items, c->items, (size_t)c->count * sizeof *items);
    if (c->items != c->on_stack)
        nl_mem_free(c->items);
    c->items = items;
    c->capacity = (int)capacity;
    return 0;
}

static nl_layout_view view_of_host(const nl_py_hostcopy *item) {
    return nl_layout_make_view(&item->host, (uintptr_t)item->data);
}

/* Returns the index of an earlier item whose copy `item` can share, or -1. If the call writes to
 * one of these items, they share a copy only if c->shares is set. */
static int find_shared_copy(const nl_py_hostcopies *c, const nl_py_hostcopy *item) {
    nl_layout_view wanted = view_of_host(item);
    for (int i = 0; i < c->count; i++) {
        const nl_py_hostcopy *other = &c->items[i];
        nl_layout_view view = view_of_host(other);
        if (other->same < 0 && nl_layout_same_elements(&view, &wanted) &&
            (c->shares || (other->mode | item->mode) == NL_PY_TRANSFER_IN))
            return i;
    }
    return -1;
}

nl_py_hostcopy *nl_py_hostcopy_reserve_item(nl_py_hostcopies *c) {
    if (c->count == 0)
        initialize_copies(c);
    if (c->count == c->capacity && grow_copies(c) < 0)
        return NULL;
    return &c->items[c->count];
}

void nl_py_hostcopy_add_item(nl_py_hostcopies *c, nl_py_hostcopy *item, char order) {
    nl_layout_copy(&item->device, &item->host);
    if (order == 'K')
        nl_layout_set_k_order(&item->device);
    else if (order == 'F')
        nl_layout_set_f(&item->device);
    else
        nl_layout_set_c(&item->device);
    item->size = nl_layout_count_elements(&item->device) * item->device.itemsize;
    item->offset = -1;
    item->is_locked = 0;
    item->buffer = NULL;
    item->address = 0;
    item->same = find_shared_copy(c, item);
    if (item->same >= 0)
        c->items[item->same].mode |= item->mode;
    c->modes |= item->mode;
    c->count++;
}

/* ---- overlaps ---- */

/* Returns whether two arrays overlap, as computed exactly by NumPy; if the computation takes too
 * long (numpy.exceptions.TooHardError), they are assumed to overlap. */
static int arrays_overlap_exactly(PyObject *a, PyObject *b) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *answer =
        numpy ? PyObject_CallMethod(numpy, "shares_memory", "OOi", a, b, 10000) : NULL;
    int result = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    Py_XDECREF(numpy);
    if (result < 0 && PyErr_ExceptionMatches(PyExc_RuntimeError)) { /* numpy TooHardError */
        PyErr_Clear();
        result = 1;
    }
    return result;
}

static int ranges_overlap(const nl_py_hostcopy *a, const nl_py_hostcopy *b) {
    nl_layout_view of_a = view_of_host(a), of_b = view_of_host(b);
    if (a->same >= 0 || b->same >= 0 || !((a->mode | b->mode) & NL_PY_TRANSFER_OUT) ||
        !nl_layout_may_overlap(&of_a, &of_b))
        return 0;
    return arrays_overlap_exactly(a->array, b->array);
}

int nl_py_hostcopy_find_overlap(const nl_py_hostcopies *c, int *first, int *second) {
    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < i; j++) {
            int result = ranges_overlap(&c->items[j], &c->items[i]);
            if (result == 0)
                continue;
            *first = c->items[j].tag;
            *second = c->items[i].tag;
            return result;
        }
    return 0;
}

/* ---- choice of the code path ---- */

/* Returns whether an item is copied in the direction `mode` (to or from the device). An item that
 * shares the copy of an earlier item is not copied itself. */
static int is_copied(const nl_py_hostcopy *item, int mode) {
    return item->same < 0 && item->size > 0 && (item->mode & mode) != 0;
}

static int is_copied_back(const nl_py_hostcopies *c) {
    return (c->modes & NL_PY_TRANSFER_OUT) != 0;
}

static int is_contiguous(const nl_layout *layout) {
    return nl_layout_contiguous_orders(layout) != 0;
}

/* an item that shares the copy of another item has the other item's memory, so only the other item
 * is tested */
void nl_py_hostcopy_defer_results(nl_py_hostcopies *c, nl_py_state *state) {
    int waits = 0;
    nl_py_keep_drop_released();
    for (int i = 0; i < c->count; i++) {
        nl_py_hostcopy *item = &c->items[i];
        item->is_locked = is_contiguous(&item->host) &&
                          !nl_py_hostmemory_owns_array(state, item->array) &&
                          nl_bounce_is_locked(item->data);
        waits |= !item->is_locked && is_copied(item, NL_PY_TRANSFER_OUT);
    }
    c->is_deferred = !waits;
}

/* With access checks, the simulator must see each array as a separate allocation. */
static int is_copy_checked(void) {
    return nl_cu.Checks && (nl_cu.Checks() & NL_CHECK_ACCESSES) != 0;
}

/* Returns the maximum size in bytes for which a block is faster than separate copies, or 0 if no
 * block is used. */
static int64_t block_capacity(const nl_py_hostcopies *c, nl_py_reads reads) {
    int64_t shared = nl_bounce_count_shared();
    if (!is_copied_back(c) || c->is_deferred || is_copy_checked())
        return 0;
    if (reads == NL_PY_READS_ANY)
        return nl_bounce_can_lock(MAX_PACKED) ? MAX_PACKED : 0;
    return reads == NL_PY_READS_ONCE && shared > NL_PINNED_BYTES ? shared : NL_PINNED_BYTES;
}

static int64_t align_offset(int64_t offset) {
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Assigns offsets in the block to those arrays of one mode that still fit in the block. Returns 1
 * if all arrays fit. */
static int assign_offsets_of_mode(nl_py_hostcopies *c, int mode, int64_t capacity) {
    int all = 1;
    for (int i = 0; i < c->count; i++) {
        nl_py_hostcopy *item = &c->items[i];
        if (item->mode != mode || item->same >= 0 || item->size == 0)
            continue;
        if (item->size > capacity - align_offset(c->used)) {
            all = 0;
            continue;
        }
        item->offset = align_offset(c->used);
        c->used = item->offset + item->size;
    }
    return all;
}

/* Assigns offsets in the order inputs, in-out arrays, outputs. With this order, the bytes that are
 * copied to the device are contiguous, and so are the bytes that are copied back. Returns 1 if all
 * arrays fit in the block. */
static int assign_offsets(nl_py_hostcopies *c, int64_t capacity) {
    int all = assign_offsets_of_mode(c, NL_PY_TRANSFER_IN, capacity);
    c->out_begin = align_offset(c->used);
    all &= assign_offsets_of_mode(c, NL_PY_TRANSFER_IN | NL_PY_TRANSFER_OUT, capacity);
    c->in_end = c->used;
    return all & assign_offsets_of_mode(c, NL_PY_TRANSFER_OUT, capacity);
}

static void exclude_items_from_block(nl_py_hostcopies *c) {
    c->used = 0;
    for (int i = 0; i < c->count; i++)
        c->items[i].offset = -1;
}

/* ---- memory ---- */

/* Allocates the page-locked block for all assigned offsets, and sets c->block and its device
 * address. Leaves c->block NULL if no page-locked memory is available. */
static void lock_block(nl_py_hostcopies *c) {
    nl_error ignored;
    size_t size = (size_t)c->used;
    if (size <= NL_PINNED_BYTES) {
        if (nl_pinned_acquire(c->device, &c->small, &ignored) == 0 && c->small) {
            c->block = c->small->host;
            c->address = c->small->address;
        }
    } else if (nl_bounce_can_lock(size) &&
               nl_hostblock_alloc(c->device, nl_bounce_round_size(size), NL_HOST_LOCKED, 0,
                                  &c->large, &ignored) == 0 &&
               nl_hostblock_device_address(c->large, &c->address, &ignored) == 0) {
        c->block = c->large->memory;
    }
}

static int allocate_device(const nl_py_hostcopies *c, int64_t size, nl_buffer **buffer,
                           CUdeviceptr *address, nl_error *err) {
    int status = c->is_deferred ? nl_buffer_alloc_ordered(c->device, (size_t)size, c->stream,
                                                          c->blocking, buffer, err)
                                : nl_buffer_alloc(c->device, (size_t)size, buffer, err);
    if (status < 0)
        return -1;
    *address = (*buffer)->address;
    return c->is_deferred ? 0 : nl_buffer_order_with_stream(*buffer, c->stream, c->blocking, err);
}

/* Sets up the block and, for kernels of the user, its copy in device memory; sets no block if
 * separate copies are better. */
static int open_block(nl_py_hostcopies *c, nl_py_reads reads, nl_error *err) {
    int64_t capacity = block_capacity(c, reads);
    if (capacity == 0)
        return 0;
    if (!assign_offsets(c, capacity) && reads != NL_PY_READS_ANY)
        exclude_items_from_block(c);
    if (c->used == 0)
        return 0;
    lock_block(c);
    if (!c->block)
        exclude_items_from_block(c);
    else if (reads == NL_PY_READS_ANY)
        return allocate_device(c, c->used, &c->packed, &c->address, err);
    return 0;
}

static int allocate_device_copies(nl_py_hostcopies *c, nl_error *err) {
    for (int i = 0; i < c->count; i++) {
        nl_py_hostcopy *item = &c->items[i];
        if (item->same >= 0)
            item->address = c->items[item->same].address;
        else if (item->offset >= 0)
            item->address = c->address + (CUdeviceptr)item->offset;
        else if (item->size > 0 &&
                 allocate_device(c, item->size, &item->buffer, &item->address, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- in ---- */

static int copy_block_to_device(nl_py_hostcopies *c, nl_error *err) {
    for (int i = 0; i < c->count; i++) {
        nl_py_hostcopy *item = &c->items[i];
        if (item->offset >= 0 && is_copied(item, NL_PY_TRANSFER_IN))
            nl_pinned_gather(c->block + item->offset, &item->device, item->data, &item->host);
    }
    c->is_pending = c->block != NULL;
    if (!c->packed || c->in_end == 0)
        return 0;
    return NL_CU(err, MemcpyHtoDAsync, c->address, c->block, (size_t)c->in_end, c->stream);
}

/* Returns whether the device copies directly from the array's page-locked memory, possibly after
 * the call has returned. */
static int is_page_locked_input(const nl_py_hostcopies *c, const nl_py_hostcopy *item) {
    return c->is_deferred && item->is_locked && is_copied(item, NL_PY_TRANSFER_IN);
}

static int copy_locked_to_device(nl_py_hostcopies *c, nl_error *err) {
    for (int i = 0; i < c->count; i++) {
        nl_py_hostcopy *item = &c->items[i];
        if (!is_page_locked_input(c, item))
            continue;
        c->is_pending = 1;
        if (nl_transfer(c->device, NL_HOST_TO_DEVICE, item->address, &item->device,
                        (CUdeviceptr)(uintptr_t)item->data, &item->host, c->stream, 1, err) < 0)
            return -1;
    }
    return 0;
}

/* Returns whether copy_separately_to_device must copy the item to the device: it is an input, but
 * neither in the block nor copied by copy_locked_to_device. */
static int is_copied_separately(const nl_py_hostcopies *c, const nl_py_hostcopy *item) {
    return item->offset < 0 && is_copied(item, NL_PY_TRANSFER_IN) && !is_page_locked_input(c, item);
}

static int copy_separately_to_device(const nl_py_hostcopies *c, nl_error *err) {
    nl_upload on_stack[NL_PY_STACK_HOSTCOPIES], *uploads = on_stack;
    int n = 0;
    for (int i = 0; i < c->count; i++)
        n += is_copied_separately(c, &c->items[i]);
    if (n == 0)
        return 0;
    if (n > NL_PY_STACK_HOSTCOPIES)
        uploads = nl_mem_alloc((size_t)n * sizeof *uploads, err);
    if (!uploads)
        return -1;
    n = 0;
    for (int i = 0; i < c->count; i++) {
        const nl_py_hostcopy *item = &c->items[i];
        if (is_copied_separately(c, item))
            uploads[n++] = (nl_upload){item->address, &item->device, item->data, &item->host};
    }
    int status = nl_transfer_upload_arrays(c->device, uploads, n, c->stream, err);
    if (uploads != on_stack)
        nl_mem_free(uploads);
    return status;
}

static int prepare_copies(nl_py_hostcopies *c, nl_py_reads reads, nl_error *err) {
    if (nl_device_bind(c->device, err) < 0 || open_block(c, reads, err) < 0 ||
        allocate_device_copies(c, err) < 0 || copy_block_to_device(c, err) < 0 ||
        copy_locked_to_device(c, err) < 0)
        return -1;
    return copy_separately_to_device(c, err);
}

int nl_py_hostcopy_start_copies(nl_py_hostcopies *c, nl_device *dev, CUstream stream, int blocking,
                                nl_py_reads reads) {
    nl_error err;
    int result;
    if (c->count == 0)
        return 0;
    c->device = dev;
    c->stream = stream;
    c->blocking = blocking;
    NL_UNLOCKED(result = prepare_copies(c, reads, &err));
    if (result < 0) {
        c->was_ended = nl_driver_is_ended_wait((CUresult)err.code);
        nl_py_raise(&err);
    }
    return result;
}

/* ---- out ---- */

/* Copies the block back if it has a copy in device memory, and waits for the stream. When the
 * function returns, the device does not use the block any more. */
static int copy_block_to_host(nl_py_hostcopies *c, nl_error *err) {
    int64_t size = c->used - c->out_begin;
    if (!c->block)
        return 0;
    if (c->packed && size > 0 &&
        NL_CU(err, MemcpyDtoHAsync, c->block + c->out_begin, c->address + (CUdeviceptr)c->out_begin,
              (size_t)size, c->stream) < 0)
        return -1;
    if (NL_CU(err, StreamSynchronize, c->stream) < 0)
        return -1;
    c->is_pending = 0;
    return 0;
}

/* The stream is idle, so the buffers that it used can be reused without another wait. */
static void forget_buffer_users(nl_py_hostcopies *c) {
    for (int i = 0; i < c->count; i++)
        if (c->items[i].buffer)
            nl_buffer_forget_users(c->items[i].buffer);
    if (c->packed)
        nl_buffer_forget_users(c->packed);
}

static int copy_results_to_host(nl_py_hostcopies *c, nl_error *err) {
    int waited = c->block != NULL;
    if (nl_device_bind(c->device, err) < 0 || copy_block_to_host(c, err) < 0)
        return -1;
    for (int i = 0; i < c->count; i++) {
        nl_py_hostcopy *item = &c->items[i];
        if (!is_copied(item, NL_PY_TRANSFER_OUT))
            continue;
        if (item->offset >= 0)
            nl_pinned_scatter(item->data, &item->host, c->block + item->offset, &item->device);
        else if (nl_transfer(c->device, NL_DEVICE_TO_HOST, (CUdeviceptr)(uintptr_t)item->data,
                             &item->host, item->address, &item->device, c->stream, c->is_deferred,
                             err) < 0)
            return -1;
        waited = !c->is_deferred;
    }
    if (waited)
        forget_buffer_users(c);
    return waited;
}

/* Keeps the arrays of a deferred call alive until the stream is done. */
static int keep_arrays(nl_py_hostcopies *c, nl_error *err) {
    for (int i = 0; i < c->count; i++) {
        const nl_py_hostcopy *item = &c->items[i];
        if (item->is_locked && is_copied(item, NL_PY_TRANSFER_IN | NL_PY_TRANSFER_OUT) &&
            nl_py_keep_until_complete(item->array, c->stream, err) < 0)
            return -1;
    }
    c->is_pending = 0;
    return 0;
}

int nl_py_hostcopy_copy_back(nl_py_hostcopies *c) {
    nl_error err;
    int result = 0;
    if (c->count == 0 || !(is_copied_back(c) || c->is_deferred))
        return 0;
    if (is_copied_back(c)) {
        c->is_pending |= c->is_deferred;
        NL_UNLOCKED(result = copy_results_to_host(c, &err));
    }
    if (result == 0 && c->is_deferred)
        result = keep_arrays(c, &err);
    if (result < 0) {
        c->was_ended = nl_driver_is_ended_wait((CUresult)err.code);
        nl_py_raise(&err);
    }
    return result;
}

/* ---- the end ---- */

/* Waits after a failure, because the block must not be reused before the device has finished using
 * it. Returns 0 if the wait ended early, in which case the device may still use the block. */
static int wait_for_block(const nl_py_hostcopies *c) {
    nl_error ignored;
    return nl_device_bind(c->device, &ignored) < 0 || nl_wait_until_idle(c->stream);
}

static void release_host_blocks(nl_py_hostcopies *c, int is_idle) {
    if (is_idle) {
        nl_pinned_release(c->small);
        nl_hostblock_release(c->large);
    } else {
        nl_pinned_release_after_work(c->small, c->stream);
        nl_hostblock_release_after_work(c->large, c->device, c->stream);
    }
}

void nl_py_hostcopy_release_memory(nl_py_hostcopies *c) {
    int is_idle = !(c->is_pending && c->was_ended);
    if (c->is_pending && is_idle) {
        NL_UNLOCKED(is_idle = wait_for_block(c));
    }
    if (c->is_deferred && !is_idle) {
        nl_error ignored;
        keep_arrays(c, &ignored);
    }
    for (int i = 0; i < c->count; i++)
        if (c->items[i].buffer)
            nl_py_devarray_buffer_release(c->items[i].buffer);
    if (c->packed)
        nl_py_devarray_buffer_release(c->packed);
    if (c->large) {
        NL_UNLOCKED(release_host_blocks(c, is_idle));
    } else {
        release_host_blocks(c, is_idle);
    }
    if (c->items != c->on_stack)
        nl_mem_free(c->items);
    c->count = 0;
}
