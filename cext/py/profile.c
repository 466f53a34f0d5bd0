/* py/profile: copies the counters of profiled launches from the driver to Python
 * (numbalite.runtime.profiles). */
#include "base/mem.h"
#include "driver/driver.h"
#include "driver/timed.h"
#include "py/state.h"

static PyObject *profile_open(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    uint64_t token = nl_cu.OpenProfile ? nl_cu.OpenProfile() : nl_timed_open();
    if (!token)
        return PyErr_NoMemory();
    return PyLong_FromUnsignedLongLong(token);
}

static PyObject *profile_close(PyObject *Py_UNUSED(module), PyObject *number) {
    unsigned long long token = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred())
        return NULL;
    if (nl_cu.CloseProfile)
        nl_cu.CloseProfile(token);
    else
        nl_timed_close(token);
    Py_RETURN_NONE;
}

static PyObject *tuple_of_numbers(const uint64_t *numbers, Py_ssize_t count) {
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made && i < count; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(numbers[i]);
        if (!value)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, value);
    }
    return made;
}

static PyObject *tuple_of_samples(const nl_profile_line *line) {
    PyObject *made = PyTuple_New(NL_PROFILE_SAMPLES);
    for (Py_ssize_t i = 0; made && i < NL_PROFILE_SAMPLES; i++) {
        const nl_profile_sample *sample = &line->samples[i];
        PyObject *one = Py_BuildValue("(IIN)", sample->size, sample->mask,
                                      tuple_of_numbers(sample->address, 32));
        if (!one)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, one);
    }
    return made;
}

/* if one of the objects is NULL, the format N of Py_BuildValue frees the others */
static PyObject *dict_of_line(const nl_profile_line *line) {
    return Py_BuildValue(
        "(siN(NN)N)", line->file, line->line, tuple_of_numbers(line->counters, NL_PROFILE_COUNT),
        tuple_of_numbers(line->widened[0], NL_PROFILE_COUNT),
        tuple_of_numbers(line->widened[1], NL_PROFILE_COUNT), tuple_of_samples(line));
}

static PyObject *list_of_lines(const nl_profile *p) {
    PyObject *lines = PyTuple_New((Py_ssize_t)p->count);
    for (unsigned i = 0; lines && i < p->count; i++) {
        PyObject *line = dict_of_line(&p->lines[i]);
        if (!line)
            Py_CLEAR(lines);
        else
            PyTuple_SET_ITEM(lines, (Py_ssize_t)i, line);
    }
    return lines;
}

static PyObject *tuple_of_measured(const nl_profile_measured *m) {
    if (!m->is_there)
        Py_RETURN_NONE;
    return Py_BuildValue("(diiii)", m->milliseconds, m->registers, m->local_bytes,
                         m->static_shared_bytes, m->resident_blocks);
}

static PyObject *profile_take(PyObject *Py_UNUSED(module), PyObject *number) {
    unsigned long long token = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred())
        return NULL;
    nl_profile *p = nl_cu.TakeProfile ? nl_cu.TakeProfile(token) : nl_timed_pop(token);
    if (!p)
        Py_RETURN_NONE;
    PyObject *lines = list_of_lines(p), *made = NULL;
    if (lines)
        made = Py_BuildValue(
            "(ssK(III)(III)KKKNNNN)", p->kernel, p->symbol, (unsigned long long)p->image,
            p->grid[0], p->grid[1], p->grid[2], p->block[0], p->block[1], p->block[2],
            (unsigned long long)p->shared_bytes, (unsigned long long)p->loaded_sectors,
            (unsigned long long)p->stored_sectors, tuple_of_numbers(p->reuse, NL_PROFILE_REUSE),
            PyBool_FromLong(p->incomplete), lines, tuple_of_measured(&p->measured));
    nl_mem_free(p);
    return made;
}

static PyMethodDef methods[] = {
    {"profile_open", profile_open, METH_NOARGS,
     "profile_open(): starts counting accesses of launches; returns a token for set_checks. "
     "On a GPU, starts measuring the times of the thread's launches."},
    {"profile_take", profile_take, METH_O,
     "profile_take(token): returns the oldest finished launch, or None, as "
     "(kernel, symbol, checksum of the image, grid, block, dynamic shared bytes, "
     "distinct sectors read, distinct sectors written, sectors by reuse distance, "
     "is incomplete, lines, times). "
     "A line is (file, line, counters, (counters of accesses of 8 bytes, of 16 bytes), samples); "
     "a sample is (bytes of a lane, mask, addresses), "
     "for the first global load, global store, shared load and shared store. "
     "The times, on a GPU, are (milliseconds, registers, local bytes, static shared bytes, "
     "resident blocks)."},
    {"profile_close", profile_close, METH_O, "profile_close(token): stops counting for the token."},
    {NULL, NULL, 0, NULL},
};

static int add_counter_names(PyObject *module) {
    static const char *const names[] = {
#define NL_NAME(name) #name,
        NL_PROFILE_COUNTERS(NL_NAME)
#undef NL_NAME
    };
    PyObject *all = PyTuple_New(NL_PROFILE_COUNT);
    for (Py_ssize_t i = 0; all && i < NL_PROFILE_COUNT; i++) {
        PyObject *name = PyUnicode_InternFromString(names[i]);
        if (!name)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, i, name);
    }
    if (!all)
        return -1;
    int status = PyModule_AddObjectRef(module, "profile_counters", all);
    Py_DECREF(all);
    return status;
}

int nl_py_profile_exec(PyObject *module) {
    return nl_py_state_add_functions(module, methods) < 0 ? -1 : add_counter_names(module);
}
