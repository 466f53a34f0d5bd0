/* py/counter: the state of a counter-based random bit generator: a key, and a counter of 128 bits,
 * which several threads may advance. */
#include "py/state.h"
#include "base/lock.h"

typedef struct counter {
    PyObject_HEAD nl_mutex lock;
    PyObject *key;
    uint64_t low, high;
} counter;

/* Reads a Python int of at most 64 bits. 0, or -1 with an exception. */
static int read_64_bit_integer(PyObject *number, uint64_t *word) {
    *word = PyLong_AsUnsignedLongLong(number);
    return *word == (uint64_t)-1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *counter_reserve_range(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    counter *self = (counter *)object;
    uint64_t low, high = 0, old_low, old_high;
    if (count != 1 && count != 2)
        return PyErr_Format(PyExc_TypeError, "take() takes one or two numbers, not %zd", count);
    if (read_64_bit_integer(args[0], &low) < 0 ||
        (count == 2 && read_64_bit_integer(args[1], &high) < 0))
        return NULL;
    nl_mutex_lock(&self->lock);
    old_low = self->low;
    old_high = self->high;
    self->low = old_low + low;
    self->high = old_high + high + (self->low < low);
    nl_mutex_unlock(&self->lock);
    return Py_BuildValue("(OKK)", self->key, (unsigned long long)old_low,
                         (unsigned long long)old_high);
}

static PyObject *counter_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords)) {
    PyObject *key, *low, *high;
    if (!PyArg_ParseTuple(args, "OOO:Counter", &key, &low, &high))
        return NULL;
    counter *self = (counter *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    nl_mutex_init(&self->lock);
    self->key = Py_NewRef(key);
    if (read_64_bit_integer(low, &self->low) < 0 || read_64_bit_integer(high, &self->high) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void counter_dealloc(PyObject *object) {
    counter *self = (counter *)object;
    nl_mutex_destroy(&self->lock);
    Py_CLEAR(self->key);
    nl_py_free_object(object);
}

static PyMethodDef methods[] = {{"take", (PyCFunction)(void (*)(void))counter_reserve_range,
                                 METH_FASTCALL,
                                 "take(low, high=0): "
                                 "returns the key and both halves of the counter, "
                                 "then adds high * 2**64 + low to the counter."},
                                {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Counter(key, low, high): stores a key and a counter of 128 bits in two halves. "
                "Several threads may call take()."},
    {Py_tp_new, counter_new},
    {Py_tp_dealloc, counter_dealloc},
    {Py_tp_methods, methods},
    {0, NULL}};

static PyType_Spec spec = {
    .name = "numbalite._core.Counter",
    .basicsize = sizeof(counter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int nl_py_counter_exec(PyObject *module) {
    PyTypeObject *type = NULL;
    int status = nl_py_state_add_type(module, &spec, NULL, &type);
    Py_XDECREF(type);
    return status;
}
