/* base/fault: formats the message of a kernel error. */
#include "base/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"

void nl_fault_init(nl_fault *f, uint32_t kind, nl_fault_head head, const char *kernel) {
    memset(f, 0, offsetof(nl_fault, what));
    f->what[0] = '\0';
    f->kind = kind;
    f->head = head;
    snprintf(f->kernel, sizeof f->kernel, "%s", kernel);
}

void nl_fault_set_text(nl_fault *f, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->what, sizeof f->what, format, arguments);
    va_end(arguments);
}

void nl_fault_set_location(nl_fault_side *side, const char *file, int line) {
    snprintf(side->file, sizeof side->file, "%s", file ? file : "");
    side->line = file ? line : 0;
}

void nl_fault_set_header_location(nl_fault_side *side, const char *file, int line) {
    side->header[0] = '\0';
    if (file)
        snprintf(side->header, sizeof side->header, "%s, line %d", file, line);
}

void nl_fault_set_name(nl_fault_element *element, const char *name) {
    const char *last = name;
    for (const char *at = strstr(name, "::"); at; at = strstr(at + 2, "::"))
        last = at + 2;
    snprintf(element->array, sizeof element->array, "%s", last);
}

static void append_dim(nl_text *t, const char *noun, const unsigned *dim) {
    nl_text_append(t, "%s (%u,%u,%u)", noun, dim[0], dim[1], dim[2]);
}

static void append_finding_head(nl_text *t, const nl_fault *f) {
    nl_text_append(t, "%s", f->kernel);
    if (f->at.file[0]) {
        nl_text_append(t, " (%s", f->at.file);
        if (f->at.line > 0)
            nl_text_append(t, ", line %d", f->at.line);
        if (f->at.header[0])
            nl_text_append(t, ", in %s", f->at.header);
        nl_text_append(t, ")");
    }
    append_dim(t, ": block", f->at.block);
    append_dim(t, ", thread", f->at.thread);
    nl_text_append(t, " ");
}

static void append_line_head(nl_text *t, const nl_fault *f) {
    if (f->at.file[0])
        nl_text_append(t, "%s(%d): ", f->at.file, f->at.line);
    if (f->kernel[0])
        nl_text_append(t, "%s: ", f->kernel);
}

static void append_kernel_head(nl_text *t, const nl_fault *f) {
    nl_text_append(t, "kernel %s", f->kernel);
    if (f->head >= NL_FAULT_HEAD_BLOCK)
        append_dim(t, ", block", f->at.block);
    if (f->head == NL_FAULT_HEAD_THREAD && f->at.has_thread)
        append_dim(t, ", thread", f->at.thread);
    if (f->head == NL_FAULT_HEAD_THREAD && f->at.file[0])
        nl_text_append(t, ", %s:%d", f->at.file, f->at.line);
    if (f->head == NL_FAULT_HEAD_THREAD && f->at.header[0])
        nl_text_append(t, " (in %s)", f->at.header);
    nl_text_append(t, ": ");
}

static void append_head(nl_text *t, const nl_fault *f) {
    if (f->head == NL_FAULT_HEAD_FINDING)
        append_finding_head(t, f);
    else if (f->head == NL_FAULT_HEAD_LINE)
        append_line_head(t, f);
    else if (f->head != NL_FAULT_HEAD_NONE)
        append_kernel_head(t, f);
}

void nl_fault_sentence(const nl_fault *f, char *text, size_t size) {
    nl_text t = nl_text_over_buffer(text, size);
    append_head(&t, f);
    nl_text_append(&t, "%s", f->what);
    if (f->is_shuffled)
        nl_text_append(&t, "; seed=%llu gives this order again", (unsigned long long)f->seed);
    if (f->schedule[0])
        nl_text_append(&t, "; NUMBALITE_SIM_SCHEDULE=%s gives this order again", f->schedule);
    if (f->launch[0])
        nl_text_append(&t, "; launched at %s", f->launch);
    if (f->others)
        nl_text_append(&t, " (and %llu more, in %u place%s)", (unsigned long long)f->others,
                       f->places, f->places == 1 ? "" : "s");
}
