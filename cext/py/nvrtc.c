/* py/nvrtc: compiles a source, which consists of Python strings, and returns the results as a dict.
 * The interpreter's lock is released while the compiler runs; the compiler reads copies of the
 * lists, which no other thread can change. */
#include "driver/nvrtc.h"

#include <string.h>
#include "base/mem.h"
#include "py/state.h"

static PyObject *nvrtc_open(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    int major = 0, minor = 0, status;
    PyObject *path = NULL;
    if (argument != Py_None && !PyUnicode_FSConverter(argument, &path))
        return NULL;
    const char *text = path != NULL ? PyBytes_AS_STRING(path) : NULL;
    NL_UNLOCKED(status = nl_nvrtc_open(text, &major, &minor, &err));
    Py_XDECREF(path);
    return status < 0 ? nl_py_raise(&err) : Py_BuildValue("ii", major, minor);
}

static PyObject *nvrtc_archs(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    nl_error err;
    int archs[256], count = 0;
    if (nl_nvrtc_list_archs(archs, 256, &count, &err) < 0)
        return nl_py_raise(&err);
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < count; ++i) {
        PyObject *arch = PyLong_FromLong(archs[i]);
        if (arch == NULL || PyList_Append(list, arch) < 0)
            Py_CLEAR(list);
        Py_XDECREF(arch);
    }
    return list;
}

static PyObject *nvrtc_install_headers(PyObject *Py_UNUSED(module), PyObject *argument) {
    nl_error err;
    int status;
    PyObject *folder = NULL;
    if (!PyUnicode_FSConverter(argument, &folder))
        return NULL;
    const char *text = PyBytes_AS_STRING(folder);
    NL_UNLOCKED(status = nl_nvrtc_install_headers(text, &err));
    Py_DECREF(folder);
    if (status < 0)
        return nl_py_raise(&err);
    Py_RETURN_NONE;
}

/* A tuple of str, and its C strings, which are valid as long as the tuple. */
typedef struct {
    PyObject *items;
    const char **texts;
} text_list;

static void text_list_clear(text_list *list) {
    nl_mem_free(list->texts);
    Py_CLEAR(list->items);
}

/* Returns the text of a str, or the bytes of a file that is not in UTF-8, and checks that it
 * contains no NUL. Returns NULL with an exception. */
static const char *read_source_text(PyObject *item) {
    Py_ssize_t size;
    const char *text;
    if (PyBytes_Check(item)) {
        text = PyBytes_AS_STRING(item);
        size = PyBytes_GET_SIZE(item);
    } else if (PyUnicode_Check(item)) {
        text = PyUnicode_AsUTF8AndSize(item, &size);
    } else {
        PyErr_Format(PyExc_TypeError, "expected str, not %.100s", Py_TYPE(item)->tp_name);
        return NULL;
    }
    if (text != NULL && strlen(text) != (size_t)size) {
        PyErr_SetString(PyExc_ValueError, "a text for the compiler contains a NUL character");
        return NULL;
    }
    return text;
}

/* Steals the reference to `sequence`. */
static int text_list_init(text_list *list, PyObject *sequence) {
    nl_error err;
    if (sequence == NULL)
        return -1;
    list->items = PySequence_Tuple(sequence);
    Py_DECREF(sequence);
    if (list->items == NULL)
        return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(list->items);
    list->texts = nl_mem_zalloc((size_t)(count + 1) * sizeof *list->texts, &err);
    if (list->texts == NULL) {
        nl_py_raise(&err);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        list->texts[i] = read_source_text(PyTuple_GET_ITEM(list->items, i));
        if (list->texts[i] == NULL)
            return -1;
    }
    return 0;
}

static int text_count(const text_list *list) {
    return (int)PyTuple_GET_SIZE(list->items);
}

/* Returns an output of the compiler as bytes, or None if the compiler has not written this
 * output. */
static PyObject *bytes_or_none(const char *data, size_t size) {
    if (data == NULL)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
}

static PyObject *lowered_dict(const nl_nvrtc_result *result, PyObject *expressions) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < result->lowered_count; ++i) {
        PyObject *name = PyUnicode_FromString(result->lowered[i]);
        if (name == NULL || PyDict_SetItem(dict, PyTuple_GET_ITEM(expressions, i), name) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(name);
    }
    return dict;
}

static PyObject *result_dict(const nl_nvrtc_result *result, PyObject *expressions) {
    const char *log = result->log != NULL ? result->log : "";
    /* the NUL at the end of PTX is not part of the text. */
    size_t ptx_size = result->ptx_size > 0 ? result->ptx_size - 1 : 0;
    PyObject *text = PyUnicode_DecodeUTF8(log, (Py_ssize_t)strlen(log), "replace");
    PyObject *cubin = bytes_or_none(result->cubin, result->cubin_size);
    PyObject *ltoir = bytes_or_none(result->ltoir, result->ltoir_size);
    PyObject *ptx = bytes_or_none(result->ptx, ptx_size);
    PyObject *lowered = lowered_dict(result, expressions);
    PyObject *dict = NULL;
    if (text != NULL && cubin != NULL && ltoir != NULL && ptx != NULL && lowered != NULL) {
        dict = Py_BuildValue("{si sO sO sO sO sO}", "status", (int)result->status, "log", text,
                             "cubin", cubin, "ltoir", ltoir, "ptx", ptx, "lowered", lowered);
    }
    Py_XDECREF(text);
    Py_XDECREF(cubin);
    Py_XDECREF(ltoir);
    Py_XDECREF(ptx);
    Py_XDECREF(lowered);
    return dict;
}

static PyObject *nvrtc_compile(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *text, *name, *headers, *options, *expressions, *dict = NULL;
    text_list names = {0}, contents = {0}, flags = {0}, wanted = {0};
    nl_nvrtc_result result = {0};
    nl_error err;
    int status;
    if (!PyArg_ParseTuple(args, "OUO!OO:nvrtc_compile", &text, &name, &PyDict_Type, &headers,
                          &options, &expressions)) {
        return NULL;
    }
    PyObject *copy = PyDict_Copy(headers);
    if (copy == NULL)
        return NULL;
    nl_nvrtc_source source = {.text = read_source_text(text), .name = read_source_text(name)};
    if (source.text == NULL || source.name == NULL)
        goto done;
    if (text_list_init(&names, PyDict_Keys(copy)) < 0)
        goto done;
    if (text_list_init(&contents, PyDict_Values(copy)) < 0)
        goto done;
    if (text_list_init(&flags, Py_NewRef(options)) < 0)
        goto done;
    if (text_list_init(&wanted, Py_NewRef(expressions)) < 0)
        goto done;
    source.header_count = text_count(&names);
    source.include_names = names.texts;
    source.headers = contents.texts;
    source.option_count = text_count(&flags);
    source.options = flags.texts;
    source.expression_count = text_count(&wanted);
    source.expressions = wanted.texts;
    NL_UNLOCKED(status = nl_nvrtc_compile(&source, &result, &err));
    dict = status < 0 ? nl_py_raise(&err) : result_dict(&result, wanted.items);
done:
    nl_nvrtc_result_clear(&result);
    text_list_clear(&wanted);
    text_list_clear(&flags);
    text_list_clear(&contents);
    text_list_clear(&names);
    Py_DECREF(copy);
    return dict;
}

static PyMethodDef methods[] = {
    {"nvrtc_open", nvrtc_open, METH_O,
     "nvrtc_open(path) -> (major, minor): "
     "loads NVRTC and returns its version; path None: the system's search path."},
    {"nvrtc_archs", nvrtc_archs, METH_NOARGS,
     "Architectures that NVRTC compiles for: [75, 80, ...]"},
    {"nvrtc_install_headers", nvrtc_install_headers, METH_O,
     "nvrtc_install_headers(folder): "
     "writes the headers that NVRTC 13.3 and newer versions contain."},
    {"nvrtc_compile", nvrtc_compile, METH_VARARGS,
     "nvrtc_compile(source, name, headers, options, expressions) -> dict\n\n"
     "headers: {name: text}. "
     "The dict contains status (0: success), log (str), cubin and ptx (bytes or None) "
     "and lowered ({expression: symbol})."},
    {NULL, NULL, 0, NULL},
};

int nl_py_nvrtc_exec(PyObject *module) {
    return nl_py_state_add_functions(module, methods);
}
