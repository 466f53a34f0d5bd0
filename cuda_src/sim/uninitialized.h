/* sim/uninitialized: detects reads of uninitialized local variables in instrumented images, for
 * clang++. Each variable that is declared without a value has a shadow variable of the same size,
 * whose bytes are zero as long as the corresponding bytes are unwritten
 * (numbalite/compilers/sim/locals.py, which inserts calls of these functions). */
#ifndef NUMBALITE_SIM_UNINITIALIZED_H
#define NUMBALITE_SIM_UNINITIALIZED_H

#define NUMBALITE_SIM_UNSET \
    extern "C" __attribute__((visibility("hidden"), used)) NUMBALITE_SIM_UNCHECKED

static NUMBALITE_SIM_UNCHECKED __attribute__((noinline, cold)) void
nl_sim_report_unset(const char *name, int count, long long i, long long j, long long k) {
    nl_sim_local what = {name, count, {i, j, k}};
    numbalite_sim::checker->unset(&what, __builtin_return_address(0));
}
/* Checks a read of a variable, or of an element. `count` is the number of indices, or -1 for a
 * field. */
extern "C" __attribute__((visibility("hidden"), used, always_inline)) inline void
nl_sim_unset(bool is_unset, const char *name, int count, long long i, long long j, long long k) {
    if (__builtin_expect(is_unset, 0))
        nl_sim_report_unset(name, count, i, j, k);
}
/* Copies the state of the bytes when memory is copied to or from a variable. */
NUMBALITE_SIM_UNSET __attribute__((noinline)) void
nl_sim_fetch_written(unsigned char *second, const void *from, unsigned long long size) {
    const nl_sim_checker *c = numbalite_sim::checker;
    unsigned long long at = reinterpret_cast<unsigned long long>(from) - c->low;
    bool is_inside = at < c->span && size <= c->span - at;
    for (unsigned long long i = 0; i < size; ++i)
        second[i] = !is_inside || c->shadow[at + i] != NL_SIM_THERE;
}
NUMBALITE_SIM_UNSET __attribute__((noinline)) void
nl_sim_put_written(void *to, const unsigned char *second, unsigned long long size) {
    const nl_sim_checker *c = numbalite_sim::checker;
    unsigned long long at = reinterpret_cast<unsigned long long>(to) - c->low;
    for (unsigned long long i = 0; i < size && at < c->span && size <= c->span - at; ++i) {
        if (!second[i] && c->shadow[at + i])
            c->shadow[at + i] = NL_SIM_THERE;
    }
}

#endif
