/* py/keywords: the keywords of a ufunc call, with NumPy's names and NumPy's error messages. Names
 * are interned, so in most cases it is sufficient to compare pointers. */
#include "py/keywords.h"

#include <string.h>

/* `names` are the names of the keywords, in the order of nl_py_keyword. `rules` are the values of
 * casting=; the index of a value is part of cache keys. */
static const char *const names_of_keys[NL_PY_KEY_COUNT] = {
    "out",   "where",  "dtype", "signature", "casting",  "order",
    "subok", "stream", "axes",  "axis",      "keepdims", "sig"};
static const char *const rules[] = {"same_kind", "safe", "unsafe", "no", "equiv"};
#define RULES (int)(sizeof rules / sizeof *rules)

void nl_py_keywords_init(const nl_py_state *state, nl_py_keywords *k) {
    memset(k->given, 0, sizeof k->given);
    k->casting = PyTuple_GET_ITEM(state->ufunc_keys, NL_PY_KEY_COUNT);
    k->casting_code = k->is_unsafe = 0;
    k->order = 'K';
    k->arrays = 0;
}

static int keyword_index(const nl_py_state *state, PyObject *name) {
    for (int i = 0; i < NL_PY_KEY_COUNT; i++)
        if (PyTuple_GET_ITEM(state->ufunc_keys, i) == name)
            return i;
    for (int i = 0; i < NL_PY_KEY_COUNT; i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(state->ufunc_keys, i), name) == 0)
            return i;
    return -1;
}

static int set_casting(const nl_py_state *state, PyObject *value, nl_py_keywords *k) {
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "casting must be str, not %.80s", Py_TYPE(value)->tp_name);
        return -1;
    }
    for (int i = 0; i < RULES; i++) {
        PyObject *rule = PyTuple_GET_ITEM(state->ufunc_keys, NL_PY_KEY_COUNT + i);
        if (rule == value || PyUnicode_Compare(rule, value) == 0) {
            k->casting = rule;
            k->casting_code = (uint8_t)i;
            k->is_unsafe = strcmp(rules[i], "unsafe") == 0;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe' (got %R)",
                 value);
    return -1;
}

static int set_order(PyObject *value, nl_py_keywords *k) {
    if (value == Py_None)
        return 0;
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "order must be str, not %.80s", Py_TYPE(value)->tp_name);
        return -1;
    }
    Py_UCS4 letter =
        PyUnicode_GET_LENGTH(value) == 1 ? Py_UNICODE_TOUPPER(PyUnicode_READ_CHAR(value, 0)) : 0;
    if (letter == 'C' || letter == 'F' || letter == 'A' || letter == 'K') {
        k->order = (char)letter;
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "order must be one of 'C', 'F', 'A', or 'K' (got %R)", value);
    return -1;
}

int nl_py_keywords_read(const nl_py_state *state, PyObject *ufunc_name, PyObject *names,
                        PyObject *const *values, unsigned refused, nl_py_keywords *k) {
    Py_ssize_t n = PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        int key = keyword_index(state, name);
        if (key < 0 || refused >> key & 1) {
            PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%U'",
                         ufunc_name, name);
            return -1;
        }
        k->given[key] = values[i];
    }
    for (int key = 0; key < NL_PY_KEY_COUNT; key++)
        if (k->given[key] == Py_None && key != NL_PY_KEY_WHERE && key != NL_PY_KEY_CASTING &&
            key != NL_PY_KEY_KEEPDIMS && key != NL_PY_KEY_AXES && key != NL_PY_KEY_AXIS)
            k->given[key] = NULL;
    if (k->given[NL_PY_KEY_OUT] == Py_Ellipsis) {
        k->given[NL_PY_KEY_OUT] = NULL;
        k->arrays = 1;
    }
    if (k->given[NL_PY_KEY_SIG]) {
        if (k->given[NL_PY_KEY_SIGNATURE]) {
            PyErr_SetString(PyExc_TypeError, "cannot specify both 'sig' and 'signature'");
            return -1;
        }
        k->given[NL_PY_KEY_SIGNATURE] = k->given[NL_PY_KEY_SIG];
    }
    if (k->given[NL_PY_KEY_SIGNATURE] && k->given[NL_PY_KEY_DTYPE]) {
        PyErr_SetString(PyExc_TypeError, "cannot specify both 'signature' and 'dtype'");
        return -1;
    }
    PyObject *casting = k->given[NL_PY_KEY_CASTING], *order = k->given[NL_PY_KEY_ORDER];
    if ((casting && set_casting(state, casting, k) < 0) || (order && set_order(order, k) < 0))
        return -1;
    return 0;
}

static PyObject *null_if_none(PyObject *obj) {
    return obj == Py_None ? NULL : obj;
}

int nl_py_keywords_read_outs(PyObject *ufunc_name, int nin, int nout, PyObject *const *args,
                             Py_ssize_t nargs, const nl_py_keywords *k, PyObject **outs) {
    PyObject *out = k->given[NL_PY_KEY_OUT];
    if (nargs < nin || nargs > nin + nout) {
        if (nout == 0)
            PyErr_Format(PyExc_TypeError, "%U() takes %d positional arguments but %zd %s given",
                         ufunc_name, nin, nargs, nargs == 1 ? "was" : "were");
        else
            PyErr_Format(PyExc_TypeError,
                         "%U() takes from %d to %d positional arguments but %zd %s given",
                         ufunc_name, nin, nin + nout, nargs, nargs == 1 ? "was" : "were");
        return -1;
    }
    for (int i = 0; i < nout; i++)
        outs[i] = nin + i < nargs ? null_if_none(args[nin + i]) : NULL;
    if (!out)
        return 0;
    if (nargs > nin) {
        PyErr_SetString(PyExc_TypeError,
                        "cannot specify 'out' as both a positional and keyword argument");
        return -1;
    }
    if (!PyTuple_CheckExact(out)) {
        if (nout != 1) {
            PyErr_SetString(PyExc_TypeError, "'out' must be a tuple of arrays");
            return -1;
        }
        outs[0] = out;
        return 0;
    }
    if (PyTuple_GET_SIZE(out) != nout) {
        PyErr_SetString(PyExc_ValueError,
                        "The 'out' tuple must have exactly one entry per ufunc output");
        return -1;
    }
    for (int i = 0; i < nout; i++)
        outs[i] = null_if_none(PyTuple_GET_ITEM(out, i));
    return 0;
}

int nl_py_keywords_match(const char *const *names, int count, int most_positional,
                         PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
                         PyObject **values) {
    Py_ssize_t named = nl_py_count_keywords(keywords);
    if (nargs > most_positional)
        return 0;
    for (Py_ssize_t i = 0; i < nargs; i++)
        values[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i);
        int which = 0;
        while (which < count && PyUnicode_CompareWithASCIIString(name, names[which]))
            which++;
        if (which == count || values[which])
            return 0;
        values[which] = args[nargs + i];
    }
    return values[0] != NULL;
}

int nl_py_keywords_exec(PyObject *module) {
    PyObject *keys = PyTuple_New(NL_PY_KEY_COUNT + RULES);
    for (int i = 0; keys && i < NL_PY_KEY_COUNT + RULES; i++) {
        PyObject *name = PyUnicode_InternFromString(
            i < NL_PY_KEY_COUNT ? names_of_keys[i] : rules[i - NL_PY_KEY_COUNT]);
        if (!name)
            Py_CLEAR(keys);
        else
            PyTuple_SET_ITEM(keys, i, name);
    }
    nl_py_state_of(module)->ufunc_keys = keys;
    return keys ? 0 : -1;
}
