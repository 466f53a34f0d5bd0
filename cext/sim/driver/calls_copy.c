/* sim/driver/calls_copy: implements the driver calls that copy and fill memory.
 *
 * The rules for host memory are those of the real driver, because other code relies on these rules.
 * With pageable memory, an asynchronous copy is complete with respect to host memory when the call
 * returns (small sources are stored in the operation). With page-locked memory, the copy may be
 * incomplete when the call returns. */
#include "sim/driver/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/check/check.h"
#include "sim/check/overlap.h"
#include "sim/driver/handle.h"
#include "sim/driver/stream.h"
#include "sim/driver/streamclock.h"
#include "sim/engine/memory.h"
#include "sim/engine/ops.h"
#include "sim/engine/shadow.h"
#include "sim/engine/texture.h"

enum {
    STAGED = 65536
}; /* maximum size in bytes of a source in pageable memory that is stored in
    * the operation */

typedef struct copy_op {
    nl_sim_op op;
    CUDA_MEMCPY3D box; /* srcHost and dstHost contain the addresses of any kind of memory */
    int reads;         /* whether to check that the source memory was written before */
    char staged[];
} copy_op;

/* The minimum number of consecutive unwritten bytes that is reported. Shorter runs of unwritten
 * bytes may be padding between the fields of a struct. */
enum { MIN_UNWRITTEN = 8 };

static void check_unwritten_row(nl_sim_stream *stream, const void *from, size_t size,
                                size_t before) {
    nl_fault fault;
    size_t count, least = size < MIN_UNWRITTEN ? size : MIN_UNWRITTEN;
    size_t first = nl_sim_shadow_find_unwritten((uintptr_t)from, size, least, &count);
    if (first == size)
        return;
    nl_fault_init(&fault, NL_CHECK_UNWRITTEN, NL_FAULT_HEAD_NONE, "");
    fault.at.access = "reads";
    fault.address = (uintptr_t)from + first;
    fault.size = count;
    nl_fault_set_text(&fault,
                      "a copy to the host reads device memory which nothing has written: "
                      "%zu bytes, from byte %zu of the copied memory on",
                      count, before + first);
    nl_sim_stream_set_failed(stream, CUDA_ERROR_LAUNCH_FAILED, &fault);
}

/* Marks the copy as watched if the stream check is enabled. */
static void mark_copy_watched(nl_sim_op *op) {
    if ((nl_sim_check_mask_of_thread() & NL_CHECK_STREAM) && nl_sim_streamclock_open() == 0)
        op->flags |= NL_SIM_OP_WATCHED;
}

static void check_overlap(nl_sim_op *op, nl_sim_stream *stream, const char *noun, uintptr_t address,
                          size_t size, int writes) {
    nl_fault fault;
    nl_sim_overlap_clash clash;
    nl_sim_memory_info info = {.address = 0};
    if (!op->overlap ||
        !nl_sim_overlap_record_access(op->overlap, address, size, writes, 0, &clash))
        return;
    (void)nl_sim_memory_find_allocation(clash.address, &info);
    nl_fault_init(&fault, NL_CHECK_STREAM, NL_FAULT_HEAD_NONE, "");
    fault.at.access = writes ? "writes" : "reads";
    fault.address = clash.address;
    fault.size = size;
    nl_fault_set_text(&fault, "%s %s %s byte %zu of device memory of %zu bytes, and %s %s it%s",
                      noun, nl_sim_overlap_stream_name(op->overlap), fault.at.access,
                      (size_t)(clash.address - info.address), info.size, clash.who, clash.verb,
                      nl_sim_overlap_remedy);
    nl_sim_stream_set_failed(stream, CUDA_ERROR_LAUNCH_FAILED, &fault);
}

static void run_copy(nl_sim_op *op, nl_sim_stream *stream) {
    const CUDA_MEMCPY3D *box = &((copy_op *)op)->box;
    int reads = ((copy_op *)op)->reads && nl_sim_shadow_is_recorded();
    for (size_t z = 0; z < box->Depth; z++) {
        for (size_t y = 0; y < box->Height; y++) {
            char *to = (char *)box->dstHost + (z * box->dstHeight + y) * box->dstPitch;
            const char *from =
                (const char *)box->srcHost + (z * box->srcHeight + y) * box->srcPitch;
            if (reads)
                check_unwritten_row(stream, from, box->WidthInBytes,
                                    (z * box->Height + y) * box->WidthInBytes);
            check_overlap(op, stream, "a copy", (uintptr_t)from, box->WidthInBytes, 0);
            check_overlap(op, stream, "a copy", (uintptr_t)to, box->WidthInBytes, 1);
            memmove(to, from, box->WidthInBytes);
            if (nl_sim_shadow_is_recorded())
                nl_sim_shadow_copy((uintptr_t)to, (uintptr_t)from, box->WidthInBytes);
        }
    }
}

static nl_sim_op *clone_copy_op(const nl_sim_op *op) {
    /* only for copies outside of captures: copies in a capture have no staged data */
    return nl_sim_op_copy(op, sizeof(copy_op));
}

/* If the calling thread has enabled the check for unwritten memory, enables it for this copy to the
 * host. Returns `c`, which may be NULL. */
static copy_op *enable_host_check(copy_op *c) {
    if (c)
        c->reads = (nl_sim_check_of_thread()->mask & NL_CHECK_UNWRITTEN) != 0;
    return c;
}

static copy_op *new_copy_op(void *to, const void *from, size_t size, size_t staged) {
    copy_op *c = calloc(1, sizeof *c + staged);
    if (!c)
        return NULL;
    c->op.run = run_copy;
    c->op.copy = clone_copy_op;
    mark_copy_watched(&c->op);
    c->box.dstHost = to;
    c->box.srcHost = from;
    c->box.WidthInBytes = size;
    c->box.Height = c->box.Depth = 1;
    if (staged) {
        memcpy(c->staged, from, staged);
        c->box.srcHost = c->staged;
    }
    return c;
}

static int is_device_range(CUdeviceptr address, size_t size) {
    return nl_sim_memory_covers((uintptr_t)address, size);
}

static int can_write_target(CUdeviceptr address, size_t size) {
    return nl_sim_memory_covers_target((uintptr_t)address, size);
}

/* Runs a synchronous copy, and reports the faults of the operations for which it has waited. */
static CUresult run_copy_now(nl_sim_stream *stream, copy_op *copy) {
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    nl_sim_stream_issue_and_wait(stream, &copy->op);
    nl_sim_ops_flush_output();
    return nl_sim_stream_report_fault(stream->context, stream);
}

static CUresult issue_copy(nl_sim_stream *stream, copy_op *copy) {
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    nl_sim_stream_issue(stream, &copy->op);
    return CUDA_SUCCESS;
}

static void *pointer_from_address(CUdeviceptr address) {
    return (void *)(uintptr_t)address;
}

static CUresult sim_MemcpyHtoD(CUdeviceptr to, const void *from, size_t size) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_CHECK(nl_sim_capture_admit_operation(context->legacy));
    if (!size)
        return CUDA_SUCCESS;
    NL_SIM_REQUIRE(from && can_write_target(to, size));
    return run_copy_now(context->legacy, new_copy_op(pointer_from_address(to), from, size, 0));
}

static CUresult sim_MemcpyDtoH(void *to, CUdeviceptr from, size_t size) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_CHECK(nl_sim_capture_admit_operation(context->legacy));
    if (!size)
        return CUDA_SUCCESS;
    NL_SIM_REQUIRE(to && is_device_range(from, size));
    return run_copy_now(context->legacy,
                        enable_host_check(new_copy_op(to, pointer_from_address(from), size, 0)));
}

static CUresult sim_MemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_CHECK(nl_sim_capture_admit_operation(context->legacy));
    if (!size)
        return CUDA_SUCCESS;
    NL_SIM_REQUIRE(can_write_target(to, size) && is_device_range(from, size));
    return issue_copy(context->legacy,
                      new_copy_op(pointer_from_address(to), pointer_from_address(from), size, 0));
}

static CUresult sim_MemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size,
                                    CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    if (!size)
        return CUDA_SUCCESS;
    NL_SIM_REQUIRE(from && can_write_target(to, size));
    int pinned = nl_sim_memory_is_pinned(from) || nl_sim_capture_has_stream(stream);
    copy_op *copy =
        new_copy_op(pointer_from_address(to), from, size, !pinned && size <= STAGED ? size : 0);
    if (pinned || size <= STAGED)
        return issue_copy(stream, copy);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    nl_sim_stream_issue_and_wait(stream, &copy->op);
    return CUDA_SUCCESS;
}

static CUresult sim_MemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    if (!size)
        return CUDA_SUCCESS;
    NL_SIM_REQUIRE(to && is_device_range(from, size));
    copy_op *copy = enable_host_check(new_copy_op(to, pointer_from_address(from), size, 0));
    int later = nl_sim_memory_is_pinned(to) || nl_sim_capture_has_stream(stream);
    return later ? issue_copy(stream, copy) : run_copy_now(stream, copy);
}

static CUresult sim_MemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
                                    CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    if (!size)
        return CUDA_SUCCESS;
    NL_SIM_REQUIRE(can_write_target(to, size) && is_device_range(from, size));
    return issue_copy(stream,
                      new_copy_op(pointer_from_address(to), pointer_from_address(from), size, 0));
}

static CUresult sim_MemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                    CUcontext from_context, size_t size, CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    if (!nl_sim_context_is_handle(to_context) || !nl_sim_context_is_handle(from_context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!size)
        return CUDA_SUCCESS;
    NL_SIM_REQUIRE(can_write_target(to, size) && is_device_range(from, size));
    return issue_copy(stream,
                      new_copy_op(pointer_from_address(to), pointer_from_address(from), size, 0));
}

/* One side of a 3-D copy. */
typedef struct side {
    size_t x, y, z, lod, pitch, height;
    int type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
} side;

/* Computes the address of the first element of the box. Sets *pageable if the host must wait. */
static CUresult resolve_address(const CUDA_MEMCPY3D *box, side *s, int is_to, uintptr_t *address,
                                int *pageable) {
    int host = s->type == CU_MEMORYTYPE_HOST;
    if (s->type == CU_MEMORYTYPE_ARRAY) {
        nl_sim_array *array = (nl_sim_array *)s->array;
        if (!nl_sim_handle_is_registered(NL_SIM_HANDLE_ARRAY, array))
            return CUDA_ERROR_INVALID_HANDLE;
        s->device = (CUdeviceptr)(uintptr_t)array->data;
        s->pitch = array->pitch;
        s->height = array->height;
    } else if (!host && s->type != CU_MEMORYTYPE_DEVICE && s->type != CU_MEMORYTYPE_UNIFIED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!s->pitch)
        s->pitch = box->WidthInBytes + s->x;
    if (!s->height)
        s->height = box->Height + s->y;
    NL_SIM_REQUIRE(s->lod == 0 && s->x <= s->pitch && box->WidthInBytes <= s->pitch - s->x);
    NL_SIM_REQUIRE(box->Depth == 1 || (s->y <= s->height && box->Height <= s->height - s->y));
    size_t rows = (s->z + box->Depth - 1) * s->height + s->y + box->Height - 1;
    size_t first = (s->z * s->height + s->y) * s->pitch + s->x;
    size_t last = rows * s->pitch + s->x + box->WidthInBytes;
    *address = (host ? (uintptr_t)s->host : (uintptr_t)s->device) + first;
    NL_SIM_REQUIRE(*address > first);
    int is_device_memory =
        is_to ? can_write_target(*address, last - first) : is_device_range(*address, last - first);
    NL_SIM_REQUIRE(host || is_device_memory);
    if (!is_device_memory)
        *pageable = 1;
    return CUDA_SUCCESS;
}

static CUresult sim_Memcpy3DAsync(const CUDA_MEMCPY3D *box, CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(box);
    NL_SIM_STREAM(stream, context, handle);
    if (!box->WidthInBytes || !box->Height || !box->Depth)
        return CUDA_SUCCESS;
    uintptr_t from, to;
    int from_pageable = 0, to_pageable = 0;
    side source = {box->srcXInBytes, box->srcY,      box->srcZ,          box->srcLOD,
                   box->srcPitch,    box->srcHeight, box->srcMemoryType, box->srcHost,
                   box->srcDevice,   box->srcArray};
    side target = {box->dstXInBytes, box->dstY,      box->dstZ,          box->dstLOD,
                   box->dstPitch,    box->dstHeight, box->dstMemoryType, box->dstHost,
                   box->dstDevice,   box->dstArray};
    CUresult status = resolve_address(box, &source, 0, &from, &from_pageable);
    if (status == CUDA_SUCCESS)
        status = resolve_address(box, &target, 1, &to, &to_pageable);
    if (status != CUDA_SUCCESS)
        return status;
    copy_op *copy = new_copy_op((void *)to, (const void *)from, box->WidthInBytes, 0);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (target.type == CU_MEMORYTYPE_HOST)
        copy = enable_host_check(copy);
    copy->box.Height = box->Height;
    copy->box.Depth = box->Depth;
    copy->box.srcPitch = source.pitch;
    copy->box.srcHeight = source.height;
    copy->box.dstPitch = target.pitch;
    copy->box.dstHeight = target.height;
    if (nl_sim_capture_has_stream(stream))
        return issue_copy(stream, copy);
    if (to_pageable)
        return run_copy_now(stream, copy);
    if (!from_pageable)
        return issue_copy(stream, copy);
    nl_sim_stream_issue_and_wait(stream, &copy->op);
    return CUDA_SUCCESS;
}

/* Filling */

typedef struct set_op {
    nl_sim_op op;
    void *to;
    size_t count;
    unsigned value, width;
} set_op;

static void run_fill(nl_sim_op *op, nl_sim_stream *stream) {
    const set_op *s = (set_op *)op;
    check_overlap(op, stream, "a fill", (uintptr_t)s->to, s->count * s->width, 1);
    if (nl_sim_shadow_is_recorded())
        nl_sim_shadow_set((uintptr_t)s->to, s->count * s->width, NL_SIM_THERE | NL_SIM_WRITTEN);
    if (s->width == 1) {
        memset(s->to, (int)s->value, s->count);
    } else if (s->width == 2) {
        for (size_t i = 0; i < s->count; i++)
            ((uint16_t *)s->to)[i] = (uint16_t)s->value;
    } else {
        for (size_t i = 0; i < s->count; i++)
            ((uint32_t *)s->to)[i] = s->value;
    }
}

static nl_sim_op *clone_fill_op(const nl_sim_op *op) {
    return nl_sim_op_copy(op, sizeof(set_op));
}

static CUresult set_memory(CUdeviceptr to, unsigned value, unsigned width, size_t count,
                           CUstream handle) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_STREAM(stream, context, handle);
    if (!count)
        return CUDA_SUCCESS;
    NL_SIM_REQUIRE(to % width == 0 && count <= SIZE_MAX / width &&
                   can_write_target(to, count * width));
    set_op *s = calloc(1, sizeof *s);
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->op.run = run_fill;
    s->op.copy = clone_fill_op;
    mark_copy_watched(&s->op);
    s->to = pointer_from_address(to);
    s->count = count;
    s->value = value;
    s->width = width;
    nl_sim_stream_issue(stream, &s->op);
    return CUDA_SUCCESS;
}

static CUresult sim_MemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream s) {
    return set_memory(to, value, 1, count, s);
}

static CUresult sim_MemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream s) {
    return set_memory(to, value, 2, count, s);
}

static CUresult sim_MemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream s) {
    return set_memory(to, value, 4, count, s);
}

void nl_sim_calls_copy_fill(nl_driver *table) {
    table->MemcpyHtoD = sim_MemcpyHtoD;
    table->MemcpyDtoH = sim_MemcpyDtoH;
    table->MemcpyDtoD = sim_MemcpyDtoD;
    table->MemcpyHtoDAsync = sim_MemcpyHtoDAsync;
    table->MemcpyDtoHAsync = sim_MemcpyDtoHAsync;
    table->MemcpyDtoDAsync = sim_MemcpyDtoDAsync;
    table->MemcpyPeerAsync = sim_MemcpyPeerAsync;
    table->Memcpy3DAsync = sim_Memcpy3DAsync;
    table->MemsetD8Async = sim_MemsetD8Async;
    table->MemsetD16Async = sim_MemsetD16Async;
    table->MemsetD32Async = sim_MemsetD32Async;
}
