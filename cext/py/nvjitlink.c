/* py/nvjitlink: links inputs, which are Python bytes, and returns the results as a dict. The
 * interpreter's lock is released while the linker runs; the tuples of the arguments keep the inputs
 * alive. */
#include "driver/nvjitlink.h"

#include "base/mem.h"
#include "core/image.h"
#include "py/state.h"

enum { CUBIN = 1, FATBIN = 4, OBJECT = 5 }; /* nvJitLinkInputType */

/* Fills `texts` with the C strings of a tuple of str. */
static int read_options(PyObject *options, const char **texts) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(options); ++i) {
        texts[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(options, i));
        if (texts[i] == NULL)
            return -1;
    }
    return 0;
}

static int read_inputs(PyObject *tuple, nl_nvjitlink_input *inputs) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        PyObject *data = NULL, *name = NULL;
        if (!PyTuple_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "an input must be a tuple (type, data, name)");
            return -1;
        }
        if (!PyArg_ParseTuple(item, "iSU:nvjitlink", &inputs[i].type, &data, &name))
            return -1;
        inputs[i].data = PyBytes_AS_STRING(data);
        inputs[i].size = (size_t)PyBytes_GET_SIZE(data);
        inputs[i].name = PyUnicode_AsUTF8(name);
        if (inputs[i].name == NULL)
            return -1;
    }
    return 0;
}

static PyObject *result_dict(const nl_nvjitlink_result *result) {
    return Py_BuildValue("{si ss sy#}", "status", result->status, "log",
                         result->log != NULL ? result->log : "", "cubin",
                         result->cubin != NULL ? result->cubin : "",
                         result->cubin != NULL ? (Py_ssize_t)result->cubin_size : 0);
}

/* Returns the first input that has not all bytes that its headers describe, or NULL. The linker
 * reads past the end of such an input: it may report an error, crash, or run forever. */
static const nl_nvjitlink_input *find_incomplete_input(const nl_nvjitlink_input *inputs,
                                                       Py_ssize_t count, nl_error *err) {
    for (const nl_nvjitlink_input *input = inputs; input < inputs + count; input++) {
        int has_lengths = input->type == CUBIN || input->type == FATBIN || input->type == OBJECT;
        if (has_lengths && nl_image_check(input->data, input->size, err) < 0)
            return input;
    }
    return NULL;
}

static PyObject *nvjitlink(PyObject *Py_UNUSED(module), PyObject *args) {
    nl_error err;
    const nl_nvjitlink_input *incomplete;
    nl_nvjitlink_result result = {0};
    nl_nvjitlink_input *inputs = NULL;
    const char **texts = NULL;
    PyObject *path = NULL, *options, *tuple, *dict = NULL;
    int status = -1;
    if (!PyArg_ParseTuple(args, "O&O!O!:nvjitlink", PyUnicode_FSConverter, &path, &PyTuple_Type,
                          &options, &PyTuple_Type, &tuple))
        return NULL;
    Py_ssize_t option_count = PyTuple_GET_SIZE(options), count = PyTuple_GET_SIZE(tuple);
    texts = nl_mem_zalloc((size_t)(option_count + 1) * sizeof *texts, &err);
    inputs = texts != NULL ? nl_mem_zalloc((size_t)(count + 1) * sizeof *inputs, &err) : NULL;
    if (inputs == NULL) {
        nl_py_raise(&err);
        goto done;
    }
    if (read_options(options, texts) < 0 || read_inputs(tuple, inputs) < 0)
        goto done;
    incomplete = find_incomplete_input(inputs, count, &err);
    if (incomplete) {
        dict =
            Py_BuildValue("{si sN sy}", "status", -1, "log",
                          PyUnicode_FromFormat("%s: %s", incomplete->name, err.text), "cubin", "");
        goto done;
    }
    NL_UNLOCKED(status = nl_nvjitlink_link(PyBytes_AS_STRING(path), (int)option_count, texts,
                                           (int)count, inputs, &result, &err));
    dict = status < 0 ? nl_py_raise(&err) : result_dict(&result);
done:
    nl_nvjitlink_result_clear(&result);
    nl_mem_free(inputs);
    nl_mem_free(texts);
    Py_DECREF(path);
    return dict;
}

static PyMethodDef methods[] = {
    {"nvjitlink", nvjitlink, METH_VARARGS,
     "nvjitlink(path, options, inputs) -> dict\n\n"
     "path: path of the library; options: a tuple of str; "
     "inputs: a tuple of (nvJitLinkInputType, bytes, name). "
     "The dict contains status (0: success), log (str) and cubin (bytes)."},
    {NULL, NULL, 0, NULL},
};

int nl_py_nvjitlink_exec(PyObject *module) {
    return nl_py_state_add_functions(module, methods);
}
