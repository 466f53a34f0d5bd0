/* py/staging: host arrays that are arguments of a launch: noted while the arguments are read,
 * brought to the device when all of them have been accepted, brought back after the kernel unless
 * they are only read. An array that is given twice has one copy, so that the kernel sees one array.
 */
#include "py/staging.h"

#include <string.h>
#include "base/mem.h"
#include "core/transfer.h"
#include "py/devarray.h"

/* ---- notes ---- */

static int same_memory(const nl_host_array *a, const nl_host_array *b) {
    size_t size = (size_t)a->layout.ndim * sizeof(int64_t);
    return a->data == b->data && a->layout.ndim == b->layout.ndim &&
           a->layout.itemsize == b->layout.itemsize &&
           memcmp(a->layout.shape, b->layout.shape, size) == 0 &&
           memcmp(a->layout.strides, b->layout.strides, size) == 0;
}

static void copy_layout(nl_layout *to, const nl_layout *from) {
    size_t size = (size_t)from->ndim * sizeof(int64_t);
    to->ndim = from->ndim;
    to->itemsize = from->itemsize;
    memcpy(to->shape, from->shape, size);
    memcpy(to->strides, from->strides, size);
}

static int grow(nl_py_staging *s) {
    nl_error err;
    size_t capacity = (size_t)s->capacity * 4;
    nl_py_staged *items = nl_mem_alloc(capacity * sizeof *items, &err);
    nl_py_staged_use *uses = items ? nl_mem_alloc(capacity * sizeof *uses, &err) : NULL;
    if (!uses) {
        nl_mem_free(items);
        nl_py_raise(&err);
        return -1;
    }
    memcpy(items, s->items, (size_t)s->count * sizeof *items);
    memcpy(uses, s->uses, (size_t)s->use_count * sizeof *uses);
    if (s->items != s->inline_items) {
        nl_mem_free(s->items);
        nl_mem_free(s->uses);
    }
    s->items = items;
    s->uses = uses;
    s->capacity = (int)capacity;
    return 0;
}

int nl_py_staging_add(nl_py_staging *s, const nl_host_array *host, int parameter, int mode,
                      nl_py_staged **out) {
    int i = 0;
    if (s->use_count == s->capacity && grow(s) < 0)
        return -1;
    while (i < s->count && !same_memory(&s->items[i].host, host))
        i++;
    nl_py_staged *item = &s->items[i];
    if (i == s->count) {
        s->count++;
        item->host = *host;
        copy_layout(&item->device, &host->layout);
        if (nl_layout_is_f(&host->layout) && !nl_layout_is_c(&host->layout))
            nl_layout_set_f(&item->device);
        else
            nl_layout_set_c(&item->device);
        item->mode = 0;
        item->buffer = NULL;
    }
    item->mode |= mode;
    s->uses[s->use_count++] = (nl_py_staged_use){i, parameter};
    *out = item;
    return 0;
}

/* ---- overlaps ---- */

/* NumPy decides; what is too hard for it counts as an overlap. */
static int really_overlap(PyObject *a, PyObject *b) {
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

static int meet(const nl_host_array *a, const nl_host_array *b) {
    return nl_layout_ranges_meet((uintptr_t)a->data, &a->layout, (uintptr_t)b->data, &b->layout);
}

static int parameter_of(const nl_py_staging *s, int staged) {
    for (int i = 0; i < s->use_count; i++)
        if (s->uses[i].staged == staged)
            return s->uses[i].parameter;
    return 0;
}

int nl_py_staging_check(const nl_py_staging *s, const nl_kernel *kernel) {
    for (int i = 0; i < s->count; i++)
        for (int j = 0; j < i; j++) {
            const nl_py_staged *a = &s->items[i], *b = &s->items[j];
            if (!((a->mode | b->mode) & NL_PY_TRANSFER_OUT) || !meet(&a->host, &b->host))
                continue;
            int overlap = really_overlap(a->host.array, b->host.array);
            if (overlap < 0)
                return -1;
            if (!overlap)
                continue;
            int second = parameter_of(s, i), first = parameter_of(s, j);
            PyErr_Format(
                PyExc_ValueError,
                "%s(): parameters %d '%s' and %d '%s': the arrays overlap in memory and one is "
                "written, but each would have a copy of its own on the device; pass device "
                "arrays, or copies",
                kernel->name, kernel->params.items[first].number + 1,
                kernel->params.items[first].name, kernel->params.items[second].number + 1,
                kernel->params.items[second].name);
            return -1;
        }
    return 0;
}

/* ---- copying ---- */

static int64_t size_of(const nl_py_staged *item) {
    return nl_layout_count(&item->device) * item->device.itemsize;
}

static int upload(nl_py_staging *s, nl_device *dev, CUstream stream, nl_error *err) {
    nl_upload few[NL_PY_INLINE_STAGED], *uploads = few;
    int n = 0;
    if (s->count > NL_PY_INLINE_STAGED)
        uploads = nl_mem_alloc((size_t)s->count * sizeof *uploads, err);
    if (uploads == NULL)
        return -1;
    for (int i = 0; i < s->count; i++) {
        const nl_py_staged *item = &s->items[i];
        if (size_of(item) > 0 && (item->mode & NL_PY_TRANSFER_IN))
            uploads[n++] = (nl_upload){item->buffer->address, &item->device, item->host.data,
                                       &item->host.layout};
    }
    int status = nl_transfer_uploads(dev, uploads, n, stream, err);
    if (uploads != few)
        nl_mem_free(uploads);
    return status;
}

static int copy_in(nl_py_staging *s, nl_device *dev, CUstream stream, int blocking, nl_error *err) {
    for (int i = 0; i < s->count; i++) {
        nl_py_staged *item = &s->items[i];
        if (nl_buffer_alloc(dev, (size_t)size_of(item), &item->buffer, err) < 0 ||
            nl_buffer_use(item->buffer, stream, blocking, err) < 0)
            return -1;
    }
    return upload(s, dev, stream, err);
}

int nl_py_staging_enter(nl_py_staging *s, const nl_kernel *kernel, unsigned char *block,
                        CUstream stream, int blocking) {
    nl_error err;
    int result;
    NL_UNLOCKED(result = copy_in(s, kernel->module->device, stream, blocking, &err));
    if (result < 0) {
        nl_py_raise(&err);
        return -1;
    }
    for (int i = 0; i < s->use_count; i++)
        memcpy(block + kernel->params.items[s->uses[i].parameter].offset,
               &s->items[s->uses[i].staged].buffer->address, sizeof(CUdeviceptr));
    return 0;
}

static int copy_out(nl_py_staging *s, nl_device *dev, CUstream stream, nl_error *err) {
    for (int i = 0; i < s->count; i++) {
        nl_py_staged *item = &s->items[i];
        if (size_of(item) > 0 && (item->mode & NL_PY_TRANSFER_OUT) &&
            nl_transfer(dev, NL_DEVICE_TO_HOST, (CUdeviceptr)(uintptr_t)item->host.data,
                        &item->host.layout, item->buffer->address, &item->device, stream, 0,
                        err) < 0)
            return -1;
    }
    return 0;
}

int nl_py_staging_leave(nl_py_staging *s, const nl_kernel *kernel, CUstream stream) {
    nl_error err;
    int result;
    NL_UNLOCKED(result = copy_out(s, kernel->module->device, stream, &err));
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

void nl_py_staging_clear(nl_py_staging *s) {
    for (int i = 0; i < s->count; i++)
        nl_py_buffer_release(s->items[i].buffer);
    if (s->items != s->inline_items) {
        nl_mem_free(s->items);
        nl_mem_free(s->uses);
    }
    nl_py_staging_init(s);
}
