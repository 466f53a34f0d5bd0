/* py/kernel: loads images, and looks up functions and variables. A Kernel keeps its module alive; a
 * device array over a variable does the same. Python code reads the layout of a kernel's parameters
 * from the compiled code; core/params and core/kernel check the layout. */
#include "py/kernel.h"

#include <string.h>
#include "base/mem.h"
#include "core/image.h"
#include "py/callback.h"
#include "py/capture.h"
#include "py/devarray.h"
#include "py/fault.h"

/* ---- Module ---- */

static PyObject *module_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"image", "stop", NULL};
    const char *flag = NULL, *failure = "", *sites = NULL;
    Py_ssize_t size = 0;
    Py_buffer image;
    nl_error err;
    nl_device *dev;
    char *text;
    int result = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*|(ssy#):Module", names, &image, &flag,
                                     &failure, &sites, &size))
        return NULL;
    nl_py_module *m = (nl_py_module *)type->tp_alloc(type, 0);
    if (!m) {
        PyBuffer_Release(&image);
        return NULL;
    }
    m->state = nl_py_state_of_type(type);
    Py_BEGIN_ALLOW_THREADS;
    /* the driver reads PTX as text, so it receives a copy that ends with a zero byte */
    text = NULL;
    if (nl_image_check(image.buf, (size_t)image.len, &err) == 0)
        text = nl_mem_alloc((size_t)image.len + 1, &err);
    dev = text ? nl_device_current(&err) : NULL;
    if (dev) {
        memcpy(text, image.buf, (size_t)image.len);
        text[image.len] = '\0';
        result = nl_module_load(dev, text, (size_t)image.len, &m->module, &err);
        if (result == 0 && flag != NULL)
            result = nl_module_set_stop(m->module, flag, failure, sites, (size_t)size, &err);
    }
    nl_mem_free(text);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&image);
    if (result == 0 && m->state)
        return (PyObject *)m;
    if (result < 0)
        nl_py_raise(&err);
    Py_DECREF(m);
    return NULL;
}

static void module_dealloc(PyObject *self) {
    nl_py_module *m = (nl_py_module *)self;
    PyObject *error_type, *error, *traceback;
    if (m->weakrefs)
        PyObject_ClearWeakRefs(self);
    if (m->module) {
        PyErr_Fetch(&error_type, &error, &traceback);
        NL_UNLOCKED(nl_module_release(m->module));
        PyErr_Restore(error_type, error, traceback);
    }
    Py_XDECREF(m->kept);
    nl_py_free_object(self);
}

static void release_module(void *owner) {
    nl_module_release(owner);
}

/* Computes the layout's strides, and the shape if it was not passed, for a variable of `size`
 * bytes. */
static int compute_variable_layout(nl_layout *layout, int has_shape, const char *lowered,
                                   size_t size) {
    if (!has_shape && layout->itemsize > 0)
        layout->shape[0] = (int64_t)size / layout->itemsize;
    if (nl_py_geometry_strides(layout, 'C') < 0)
        return -1;
    int64_t wanted = nl_layout_count_elements(layout) * layout->itemsize;
    if (wanted >= 0 && (size_t)wanted == size)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s has %zu bytes, but this shape and dtype need %lld bytes",
                 lowered, size, (long long)wanted);
    return -1;
}

/* Returns a buffer over a variable's memory; the buffer keeps the module alive. */
static nl_buffer *wrap_variable(nl_module *module, CUdeviceptr address, size_t size) {
    nl_error err;
    nl_buffer *buffer = NULL;
    nl_module_retain(module);
    if (nl_buffer_wrap_memory(module->device, address, size, release_module, module, &buffer,
                              &err) == 0)
        return buffer;
    nl_module_release(module); /* not the last reference */
    nl_py_raise(&err);
    return NULL;
}

static PyObject *module_variable(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"lowered", "dtype", "shape", NULL};
    nl_py_module *m = (nl_py_module *)self;
    const char *lowered;
    PyObject *dtype, *shape, *result = NULL;
    nl_py_array_parts parts = {0};
    nl_layout layout;
    nl_error err;
    size_t size;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOO:variable", names, &lowered, &dtype, &shape))
        return NULL;
    int has_shape = shape != Py_None;
    if (!has_shape)
        layout = (nl_layout){.ndim = 1};
    else if (nl_py_geometry_read_shape(shape, &layout) < 0)
        return NULL;
    parts.descr = nl_py_hostarray_convert_descr(dtype);
    if (!parts.descr)
        return NULL;
    parts.element = nl_py_hostarray_element_of_descr(parts.descr);
    layout.itemsize = parts.element.itemsize;
    if (parts.element.class == NL_ELEMENT_OBJECT) {
        PyErr_Format(PyExc_TypeError, "dtype %R cannot be held in device memory", parts.descr);
        goto done;
    }
    if (nl_module_find_global(m->module, lowered, &parts.address, &size, &err) < 0) {
        nl_py_raise(&err);
        goto done;
    }
    if (compute_variable_layout(&layout, has_shape, lowered, size) < 0)
        goto done;
    parts.buffer = wrap_variable(m->module, parts.address, size);
    if (!parts.buffer)
        goto done;
    result = nl_py_devarray_new(m->state, &parts, &layout);
    nl_py_devarray_buffer_release(parts.buffer);
done:
    Py_DECREF(parts.descr);
    return result;
}

static PyObject *module_device(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromLong(((nl_py_module *)self)->module->device->ordinal);
}

static PyObject *module_alive(PyObject *self, void *Py_UNUSED(closure)) {
    const nl_module *module = ((nl_py_module *)self)->module;
    return PyBool_FromLong(module->generation == nl_atomic_load(&module->device->generation));
}

/* ---- descriptions of parameters ---- */

/* Reads the items of a Parameter tuple, in the order of numbalite/types/describe.py. */
static int read_parameter(PyObject *tuple, nl_param *p, PyObject **parts) {
    static const char *const kinds[] = {"scalar", "pointer", "array", "struct", "tuple", "empty"};
    static const char orders[] = "ACF";
    const char *name, *kind, *ctype, *dtype, *layout;
    long long itemsize, size, align, offset = 0;
    int found = 0;
    if (!PyTuple_Check(tuple)) {
        PyErr_Format(PyExc_TypeError, "a parameter must be described by a tuple, not %.80s",
                     Py_TYPE(tuple)->tp_name);
        return -1;
    }
    *parts = NULL;
    if (!PyArg_ParseTuple(tuple,
                          "ssssLLLisp|LO!;a parameter must be described by ten to twelve items",
                          &name, &kind, &ctype, &dtype, &itemsize, &size, &align, &p->ndim, &layout,
                          &p->is_const, &offset, &PyTuple_Type, parts))
        return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0) {
            p->kind = (nl_param_kind)i;
            found = 1;
        }
    if (!found) {
        PyErr_Format(PyExc_ValueError, "parameter '%s': unknown kind '%s'", name, kind);
        return -1;
    }
    int code = dtype[0] == 'V' ? NL_OPAQUE : nl_dtype_from_name(dtype);
    if (code < 0) {
        PyErr_Format(PyExc_ValueError, "parameter '%s': unknown dtype '%s'", name, dtype);
        return -1;
    }
    const char *order = *layout ? strchr(orders, *layout) : orders;
    if (!order || size < 0 || size > NL_PARAMS_MAX_BYTES || align < 1 || align > 4096 ||
        offset < 0 || offset > NL_PARAMS_MAX_BYTES) {
        PyErr_Format(PyExc_ValueError, "impossible description of parameter '%s'", name);
        return -1;
    }
    p->dtype = (nl_dtype)code;
    p->order = (nl_order)(order - orders);
    p->itemsize = itemsize;
    p->size = (uint32_t)size;
    p->align = (uint32_t)align;
    p->offset = (uint32_t)offset;
    p->name = (char *)name; /* nl_params_set_item copies both strings */
    p->ctype = (char *)ctype;
    return 0;
}

/* Sets the element type and the number of elements of a vector, from the parts of a pointer's
 * target. */
static int read_vector_type(PyObject *parts, nl_param *p) {
    nl_param part = {0};
    PyObject *ignored;
    if (read_parameter(PyTuple_GET_ITEM(parts, 0), &part, &ignored) < 0)
        return -1;
    p->lane = (uint8_t)(part.dtype == NL_OPAQUE ? NL_UINT16 : part.dtype); /* bfloat16: its bits */
    p->lanes = (uint8_t)(part.size == p->itemsize ? 0 : PyTuple_GET_SIZE(parts));
    return 0;
}

static Py_ssize_t count_nested_rows(PyObject *rows) {
    Py_ssize_t n = PyTuple_GET_SIZE(rows);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
        PyObject *row = PyTuple_GET_ITEM(rows, i);
        if (PyTuple_Check(row) && PyTuple_GET_SIZE(row) == 12 &&
            PyTuple_Check(PyTuple_GET_ITEM(row, 11)))
            n += count_nested_rows(PyTuple_GET_ITEM(row, 11));
    }
    return n;
}

/* Fills the items from index `at` on with the given rows. *next is the index of the first free
 * item. */
static int fill_parameter_items(nl_params *params, PyObject *rows, int at, int *next) {
    nl_error err;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
        nl_param description = {0};
        PyObject *parts;
        if (read_parameter(PyTuple_GET_ITEM(rows, i), &description, &parts) < 0)
            return -1;
        int count = parts ? (int)PyTuple_GET_SIZE(parts) : 0;
        if (count && description.kind == NL_PARAM_POINTER) {
            if (read_vector_type(parts, &description) < 0)
                return -1;
        } else if (count) {
            description.first = *next;
            description.parts = count;
            *next += count;
        }
        if (nl_params_set_item(params, at + (int)i, &description, &err) < 0) {
            nl_py_raise(&err);
            return -1;
        }
        if (description.parts && fill_parameter_items(params, parts, description.first, next) < 0)
            return -1;
    }
    return 0;
}

int nl_py_kernel_read_params(PyObject *tuples, nl_params *params) {
    nl_error err;
    Py_ssize_t n = PyTuple_GET_SIZE(tuples), total = count_nested_rows(tuples);
    int next = (int)n;
    if (total > NL_PARAMS_MAX_BYTES) {
        PyErr_SetString(PyExc_ValueError, "too many parameters");
        return -1;
    }
    if (nl_params_init(params, (int)n, (int)total, &err) < 0) {
        nl_py_raise(&err);
        return -1;
    }
    int result = fill_parameter_items(params, tuples, 0, &next);
    if (result == 0 && nl_params_compute_layout(params, &err) < 0) {
        nl_py_raise(&err);
        result = -1;
    }
    if (result < 0)
        nl_params_clear(params);
    return result;
}

/* ---- Kernel ---- */

static PyObject *module_function(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"lowered", "name", "parameters", "fault", "claimed", NULL};
    nl_py_module *m = (nl_py_module *)self;
    PyTypeObject *type = m->state->kernel_type;
    const char *lowered, *name;
    PyObject *rows, *fault = Py_None;
    nl_params params;
    nl_error err;
    int claimed = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ssO|Op:function", names, &lowered, &name, &rows,
                                     &fault, &claimed))
        return NULL;
    nl_py_kernel *k = (nl_py_kernel *)type->tp_alloc(type, 0);
    if (!k)
        return NULL;
    k->module = Py_NewRef(self);
    int has_rows = rows != Py_None;
    k->parameters = has_rows ? PySequence_Tuple(rows) : PyTuple_New(0);
    params = (nl_params){.count = -1};
    if (!k->parameters || (has_rows && nl_py_kernel_read_params(k->parameters, &params) < 0))
        goto fail;
    if (nl_kernel_create(m->module, lowered, name, &params, claimed, &k->kernel, &err) < 0) {
        nl_params_clear(&params);
        nl_py_raise(&err);
        goto fail;
    }
    if (fault != Py_None && nl_py_fault_set_hook(k, m->module, fault) < 0)
        goto fail;
    return (PyObject *)k;
fail:
    Py_DECREF(k);
    return NULL;
}

static int kernel_traverse(PyObject *self, visitproc visit, void *arg) {
    nl_py_kernel *k = (nl_py_kernel *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(k->module);
    Py_VISIT(k->parameters);
    Py_VISIT(k->hook);
    return 0;
}

static int kernel_clear(PyObject *self) {
    Py_CLEAR(((nl_py_kernel *)self)->hook);
    return 0;
}

static void kernel_dealloc(PyObject *self) {
    nl_py_kernel *k = (nl_py_kernel *)self;
    PyObject_GC_UnTrack(self);
    if (k->weakrefs)
        PyObject_ClearWeakRefs(self);
    nl_kernel_destroy(k->kernel); /* k->module still has its own reference, so no module is unloaded
                                   * here */
    Py_XDECREF(k->module);
    Py_XDECREF(k->parameters);
    Py_XDECREF(k->hook);
    nl_py_free_object(self);
}

static PyObject *kernel_name(PyObject *self, void *Py_UNUSED(closure)) {
    return PyUnicode_FromString(((nl_py_kernel *)self)->kernel->name);
}

static PyObject *kernel_parameters(PyObject *self, void *Py_UNUSED(closure)) {
    return Py_NewRef(((nl_py_kernel *)self)->parameters);
}

static PyObject *kernel_module(PyObject *self, void *Py_UNUSED(closure)) {
    return Py_NewRef(((nl_py_kernel *)self)->module);
}

static PyObject *kernel_device(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromLong(((nl_py_kernel *)self)->kernel->module->device->ordinal);
}

static PyObject *kernel_attribute(PyObject *self, PyObject *arg) {
    nl_error err;
    int value, attribute;
    if (!PyArg_Parse(arg, "i:attribute", &attribute))
        return NULL;
    if (nl_kernel_attribute(((nl_py_kernel *)self)->kernel, attribute, &value, &err) < 0)
        return nl_py_raise(&err);
    return PyLong_FromLong(value);
}

static PyObject *kernel_set_attribute(PyObject *self, PyObject *args) {
    nl_error err;
    int attribute, value;
    if (!PyArg_ParseTuple(args, "ii:set_attribute", &attribute, &value))
        return NULL;
    return nl_py_none_or_raise(
        nl_kernel_set_attribute(((nl_py_kernel *)self)->kernel, attribute, value, &err), &err);
}

static int check_shared_size(Py_ssize_t shared) {
    if (shared >= 0)
        return 0;
    PyErr_SetString(PyExc_ValueError, "shared memory cannot be negative");
    return -1;
}

static PyObject *kernel_occupancy(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"block", "shared", NULL};
    nl_error err;
    int block, blocks;
    Py_ssize_t shared = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i|n:occupancy", names, &block, &shared) ||
        check_shared_size(shared) < 0)
        return NULL;
    if (block < 1)
        return PyErr_Format(PyExc_ValueError, "a block must have at least 1 thread, not %d", block);
    if (nl_kernel_occupancy(((nl_py_kernel *)self)->kernel, block, (size_t)shared, &blocks, &err) <
        0)
        return nl_py_raise(&err);
    return PyLong_FromLong(blocks);
}

static PyObject *kernel_max_block_size(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"shared", NULL};
    nl_error err;
    int grid, block;
    Py_ssize_t shared = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|n:max_block_size", names, &shared) ||
        check_shared_size(shared) < 0)
        return NULL;
    if (nl_kernel_best_block(((nl_py_kernel *)self)->kernel, (size_t)shared, &grid, &block, &err) <
        0)
        return nl_py_raise(&err);
    return Py_BuildValue("(ii)", grid, block);
}

/* ---- launching ---- */

static int launch_kernel(nl_py_kernel *k, const nl_launch *shape, void **values) {
    nl_error err;
    int result;
    nl_py_checks_record_caller();
    if (__builtin_expect(nl_py_callbacks_pending(), 0)) {
        /* the driver's queue may be full, and a callback that empties the queue may need the
         * interpreter's lock */
        NL_UNLOCKED(result = nl_launch_run(shape, k->kernel, values, &err));
    } else {
        result = nl_launch_run(shape, k->kernel, values, &err);
    }
    if (result < 0)
        nl_py_raise(&err);
    return result;
}

/* Launches during a capture: the kernel writes no fault record before its graph is launched. */
static __attribute__((noinline)) int run_capturing(nl_py_kernel *k, const nl_launch *shape,
                                                   void **values) {
    int kept = nl_py_capture_check_default_stream(shape->stream, "a launch");
    if (kept == 0)
        kept = nl_py_capture_keep_kernel(shape->stream, (PyObject *)k, k->hook != NULL);
    if (kept < 0 || launch_kernel(k, shape, values) < 0)
        return -1;
    return k->hook && !kept ? nl_py_fault_raise_recorded(k, shape->stream, values) : 0;
}

int nl_py_kernel_check_after_change(const nl_py_kernel *k) {
    PyErr_Format(
        PyExc_RuntimeError,
        "%s(): while its arguments were read, a device was closed or reset, "
        "or an array was moved (get_ipc_handle): the kernel was not launched; call it again",
        k->kernel->name);
    return -1;
}

int nl_py_kernel_launch(nl_py_kernel *k, const nl_launch *shape, void **values, uint64_t epoch) {
    if (nl_py_kernel_check_addresses(k, epoch) < 0)
        return -1;
    if (nl_capture_is_any_active())
        return run_capturing(k, shape, values);
    if (launch_kernel(k, shape, values) < 0)
        return -1;
    return k->hook ? nl_py_fault_raise_recorded(k, shape->stream, values) : 0;
}

/* ---- types ---- */

#define KEYWORDS(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyObject *module_references(PyObject *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLongLong(nl_atomic_load(&((nl_py_module *)self)->module->references));
}

static PyMethodDef module_methods[] = {
    {"function", KEYWORDS(module_function),
     "function(lowered, name, parameters, fault=None, claimed=False) -> Kernel: "
     "looks up a kernel by its symbol. "
     "parameters: tuples as numbalite.types.describe.Parameter, read from compiled code; "
     "claimed: the tuples are from a user's option. "
     "None: the parameters are unknown, so the kernel cannot be launched."},
    {"variable", KEYWORDS(module_variable),
     "variable(lowered, dtype, shape) -> DeviceArray over a __constant__ or __device__ variable. "
     "shape None: the array has one dimension and contains the whole variable."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef module_getset[] = {
    {"device", module_device, NULL, "Index of the device on which the module is loaded.", NULL},
    {"alive", module_alive, NULL, "False after a reset of the device.", NULL},
    {"references", module_references, NULL,
     "Number of references to the module: this object, its kernels, arrays over its variables.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef module_members[] = {
    {"kept", Py_T_OBJECT_EX, offsetof(nl_py_module, kept), 0,
     "Objects that must live as long as the module, because its variables point to their memory."},
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_module, weakrefs), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot module_slots[] = {
    {Py_tp_doc,
     "Module(image, stop): an image (cubin, PTX or simulated) loaded on the current device."},
    {Py_tp_new, module_new},
    {Py_tp_dealloc, module_dealloc},
    {Py_tp_methods, module_methods},
    {Py_tp_getset, module_getset},
    {Py_tp_members, module_members},
    {0, NULL}};

static PyType_Spec module_spec = {
    .name = "numbalite._core.Module",
    .basicsize = sizeof(nl_py_module),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = module_slots,
};

static PyMethodDef kernel_methods[] = {
    {"attribute", kernel_attribute, METH_O, "attribute(number) -> int: a CUfunction_attribute."},
    {"set_attribute", kernel_set_attribute, METH_VARARGS, "set_attribute(number, value)"},
    {"occupancy", KEYWORDS(kernel_occupancy),
     "occupancy(block, shared=0): "
     "returns how many blocks of `block` threads fit on a multiprocessor."},
    {"max_block_size", KEYWORDS(kernel_max_block_size),
     "max_block_size(shared=0) -> (grid, block): "
     "returns the block size with the best occupancy, and the grid that fills the device."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef kernel_getset[] = {
    {"name", kernel_name, NULL, "The kernel's name in the user's program.", NULL},
    {"parameters", kernel_parameters, NULL, "Descriptions of the parameters.", NULL},
    {"module", kernel_module, NULL, "The module that it is in.", NULL},
    {"device", kernel_device, NULL, "Index of the device on which the kernel is loaded.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef kernel_members[] = {
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(nl_py_kernel, weakrefs), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "A function of a loaded module, returned by Module.function."},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_methods, kernel_methods},
    {Py_tp_getset, kernel_getset},
    {Py_tp_members, kernel_members},
    {0, NULL}};

static PyType_Spec kernel_spec = {
    .name = "numbalite._core.Kernel",
    .basicsize = sizeof(nl_py_kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = kernel_slots,
};

int nl_py_kernel_exec(PyObject *module) {
    nl_py_state *state = nl_py_state_of(module);
    if (nl_py_state_add_type(module, &module_spec, NULL, &state->module_type) < 0)
        return -1;
    return nl_py_state_add_type(module, &kernel_spec, NULL, &state->kernel_type);
}
