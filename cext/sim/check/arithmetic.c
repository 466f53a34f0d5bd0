/* sim/check/arithmetic: reports errors in a checked kernel's arithmetic
 * (cuda_src/sim/arithmetic.h). The thread continues with the value that a GPU would compute. */
#include "sim/check/arithmetic.h"

#include <math.h>
#include <stdio.h>
#include "sim/check/check.h"
#include "sim/debuginfo/lines.h"
#include "sim/engine/job.h"

static void format_number(char *text, size_t size, const nl_sim_arithmetic *what) {
    if (what->is_signed)
        snprintf(text, size, "%lld", what->dividend);
    else
        snprintf(text, size, "%llu", (unsigned long long)what->dividend);
}

/* "computes an index by 131072 * 131072, which does not fit into int: it wraps to 0" */
static void describe_index(const nl_sim_arithmetic *what, char *text, size_t size) {
    uint64_t a = (uint64_t)what->dividend, b = (uint64_t)what->divisor;
    uint64_t wide = what->operation == '+' ? a + b : what->operation == '-' ? a - b : a * b;
    long long wrapped = what->bits == 32 ? (int32_t)wide : (int64_t)wide;
    snprintf(text, size,
             "computes an index by %lld %c %lld, which does not fit into %s: it wraps to %lld",
             what->dividend, what->operation, what->divisor, what->bits == 32 ? "int" : "64 bits",
             wrapped);
}

static void describe_operation(const nl_sim_arithmetic *what, char *text, size_t size) {
    char dividend[32];
    const char *made = isnan(what->result) ? "NaN" : "infinity";
    format_number(dividend, sizeof dividend, what);
    switch (what->kind) {
    case NL_SIM_ARITHMETIC_ZERO:
        if (what->unknown)
            snprintf(text, size, "divides an integer by zero");
        else
            snprintf(text, size, "divides the integer %s by zero", dividend);
        break;
    case NL_SIM_ARITHMETIC_OVERFLOW:
        if (what->unknown)
            snprintf(text, size, "divides the least integer of its type by -1, which overflows");
        else
            snprintf(text, size, "divides %s by -1, which overflows", dividend);
        break;
    case NL_SIM_ARITHMETIC_INDEX:
        describe_index(what, text, size);
        break;
    case NL_SIM_ARITHMETIC_FLOAT_ZERO:
        snprintf(text, size, "divides a floating-point number by zero");
        break;
    default:
        if (what->operation == 'h')
            snprintf(text, size, "makes infinity of a finite number: %.9g is too large for float16",
                     what->a);
        else if (what->operation != 'f')
            snprintf(text, size, "makes %s of finite numbers: %.9g %c %.9g", made, what->a,
                     what->operation, what->b);
        else if (what->a == what->b)
            snprintf(text, size, "makes %s of a finite number: a function of %.9g", made, what->a);
        else
            snprintf(text, size, "makes %s of finite numbers: a function of %.9g and %.9g", made,
                     what->a, what->b);
        break;
    }
}

void nl_sim_arithmetic_check(const nl_sim_arithmetic *what, const void *pc) {
    nl_sim_worker *w = nl_sim_worker_current;
    unsigned kind = what->kind >= NL_SIM_ARITHMETIC_FLOAT_ZERO ? NL_CHECK_NAN
                    : what->kind == NL_SIM_ARITHMETIC_INDEX    ? NL_CHECK_OVERFLOW
                                                               : NL_CHECK_DIVIDE;
    /* If the reported line is in a header of this library, the line of the user's source that calls
     * the header is looked up by `pc`. */
    int is_users = what->line && !nl_sim_lines_is_numbalite_file(what->file);
    nl_sim_site site = {.file = is_users ? what->file : NULL, .line = is_users ? what->line : 0};
    if (!nl_sim_launch_check_is_on(w, kind) ||
        nl_sim_findings_contain(&w->job->check->findings, kind, pc, site, 0, w->next))
        return;
    nl_sim_finding f = {.kind = kind, .pc = is_users ? NULL : pc, .site = site};
    describe_operation(what, f.text, sizeof f.text);
    nl_sim_launch_check_report(w, &f);
}
