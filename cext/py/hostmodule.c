/* py/hostmodule: the type HostModule: loaded code of the cpu and parallel targets.
 *
 * An image is a shared object. The code is unloaded when the HostModule is freed, so code that
 * stores an address must keep the HostModule alive. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* the definition is equal to that in pyconfig.h */
#endif
#include "py/hostmodule.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include "base/library.h"
#include "core/hostloop.h"
#include "py/state.h"

typedef struct {
    PyObject_HEAD void *library;
    const void *code; /* address range that was passed to nl_hostloop_add_trap_range */
    const nl_host_image *image;
} hostmodule;

typedef struct code_search {
    uintptr_t base, low, high;
} code_search;

/* Callback of dl_iterate_phdr: finds the executable segment of the object loaded at `base`. */
static int find_code_segment(struct dl_phdr_info *info, size_t Py_UNUSED(size), void *argument) {
    code_search *search = argument;
    if (info->dlpi_addr != search->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
            search->low = info->dlpi_addr + segment->p_vaddr;
            search->high = search->low + segment->p_memsz;
        }
    }
    return 1;
}

static int load_host_object(hostmodule *self, const char *bytes, size_t size) {
    self->library = nl_library_open(bytes, size);
    if (self->library == NULL) {
        const char *why = dlerror();
        PyErr_Format(PyExc_ImportError, "host code cannot be loaded: %s", why ? why : "no memory");
        return -1;
    }
    self->image = dlsym(self->library, NL_HOST_IMAGE_TABLE);
    Dl_info info;
    if (self->image == NULL || self->image->abi != NL_HOST_ABI || !dladdr(self->image, &info)) {
        PyErr_SetString(PyExc_ImportError, "this is no image for the CPU");
        return -1;
    }
    code_search search = {.base = (uintptr_t)info.dli_fbase};
    dl_iterate_phdr(find_code_segment, &search);
    if (search.low != search.high) {
        if (nl_hostloop_add_trap_range((void *)search.low, (void *)search.high) < 0) {
            PyErr_NoMemory();
            return -1;
        }
        self->code = (void *)search.low;
    }
    self->image->init(&nl_hostloop_runtime);
    return 0;
}

static PyObject *hostmodule_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", NULL};
    Py_buffer data;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*:HostModule", names, &data))
        return NULL;
    hostmodule *self = (hostmodule *)type->tp_alloc(type, 0);
    /* dlopen also rejects data that is not a shared object, but with a less helpful message */
    if (self != NULL && (data.len < 64 || memcmp(data.buf, "\177ELF", 4) != 0)) {
        PyErr_SetString(PyExc_ImportError, "this is no image for the CPU");
        Py_CLEAR(self);
    }
    if (self != NULL && load_host_object(self, data.buf, (size_t)data.len) < 0)
        Py_CLEAR(self);
    PyBuffer_Release(&data);
    return (PyObject *)self;
}

static void hostmodule_dealloc(PyObject *object) {
    hostmodule *self = (hostmodule *)object;
    if (self->code != NULL)
        nl_hostloop_remove_trap_range(self->code);
    nl_library_close(self->library);
    nl_py_free_object(object);
}

static void *find_symbol(const hostmodule *self, const char *name) {
    for (unsigned i = 0; i < self->image->count; i++)
        if (strcmp(self->image->entries[i].name, name) == 0)
            return self->image->entries[i].address;
    PyErr_Format(PyExc_KeyError, "%s", name);
    return NULL;
}

void *nl_py_hostmodule_find(PyObject *module, const char *name) {
    nl_py_state *state = nl_py_state_of_object(module);
    if (state == NULL || !PyObject_TypeCheck(module, state->hostmodule_type)) {
        PyErr_Format(PyExc_TypeError, "a HostModule, not %.100s", Py_TYPE(module)->tp_name);
        return NULL;
    }
    return find_symbol((hostmodule *)module, name);
}

static PyObject *hostmodule_address(PyObject *self, PyObject *name) {
    const char *text = PyUnicode_AsUTF8(name);
    void *address = text ? find_symbol((hostmodule *)self, text) : NULL;
    return address ? PyLong_FromVoidPtr(address) : NULL;
}

static PyObject *hostmodule_names(PyObject *self, void *Py_UNUSED(closure)) {
    const nl_host_image *image = ((hostmodule *)self)->image;
    PyObject *names = PyTuple_New(image->count);
    for (unsigned i = 0; names != NULL && i < image->count; i++) {
        PyObject *name = PyUnicode_FromString(image->entries[i].name);
        if (name == NULL)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, i, name);
    }
    return names;
}

static PyMethodDef methods[] = {
    {"address", hostmodule_address, METH_O,
     "address(name) -> int: "
     "returns the address of a function or variable, which is valid while the module exists. "
     "Raises KeyError for an unknown name."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"names", hostmodule_names, NULL, "The names that address() accepts.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, hostmodule_new},
    {Py_tp_dealloc, hostmodule_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, "HostModule(data): loads an image of kind \"host\". "
                "Raises ImportError for other data."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "numbalite._core.HostModule",
    .basicsize = sizeof(hostmodule),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* Raises a fault of host code as numbalite.errors.KernelError. Parallel loops call this function
 * without the interpreter's lock. */
static int raise_fault(void) {
    nl_error err;
    nl_hostloop_pop_fault(&err.fault);
    nl_error_fault(&err);
    PyGILState_STATE gil = PyGILState_Ensure();
    nl_py_raise(&err);
    PyGILState_Release(gil);
    return -1;
}

static PyObject *threads_limit(PyObject *Py_UNUSED(module), PyObject *value) {
    long most = PyLong_AsLong(value);
    if (most == -1 && PyErr_Occurred())
        return NULL;
    nl_hostloop_threads_limit((int)most);
    Py_RETURN_NONE;
}

static PyObject *threads_get(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyLong_FromLong(nl_hostloop_threads_get());
}

static PyObject *threads_set(PyObject *Py_UNUSED(module), PyObject *value) {
    long count = PyLong_AsLong(value);
    if (count == -1 && PyErr_Occurred())
        return NULL;
    nl_hostloop_threads_set((int)count);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"host_threads_limit", threads_limit, METH_O, "Maximum threads of parallel loops."},
    {"host_threads_get", threads_get, METH_NOARGS,
     "host_threads_get(): returns the number of threads of the calling thread's parallel loops."},
    {"host_threads_set", threads_set, METH_O,
     "host_threads_set(count): sets the number of threads of the calling thread's loops; 0: all."},
    {NULL, NULL, 0, NULL},
};

int nl_py_hostmodule_exec(PyObject *module) {
    nl_hostloop_set_raise_hook(raise_fault);
    if (nl_py_state_add_functions(module, functions) < 0)
        return -1;
    return nl_py_state_add_type(module, &spec, NULL, &nl_py_state_of(module)->hostmodule_type);
}
