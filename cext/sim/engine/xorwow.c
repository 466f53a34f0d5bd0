/* sim/engine/xorwow: skips ahead in cuRAND's generator (Marsaglia 2003), which is linear over bits:
 * skipping multiplies the five words of its state by a power of the matrix of one step. The powers
 * are the same for all kernels; each power is computed once per process, when it is first
 * needed. */
#include "sim/engine/xorwow.h"

#include <stdint.h>
#include <string.h>
#include "base/lock.h"

enum {
    WORDS = 5,
    BITS = 160,
    /* number of stored powers, with exponents 2^k: offsets use the first 64 powers, sequences the
     * powers from index 67 on */
    POWERS = 131
};

/* A linear map of the state over GF(2), stored by columns: row[i] is the image of the state in
 * which only bit i is set. */
typedef struct matrix {
    unsigned row[BITS][WORDS];
} matrix;

static matrix powers[POWERS];
static uint32_t computed; /* number of computed powers */
static nl_mutex lock = NL_MUTEX_INIT;

static void apply_matrix(const matrix *m, unsigned *v) {
    unsigned result[WORDS] = {0};
    for (int i = 0; i < BITS; i++) {
        unsigned all = 0u - (v[i / 32] >> (i % 32) & 1);
        for (int k = 0; k < WORDS; k++)
            result[k] ^= m->row[i][k] & all;
    }
    memcpy(v, result, sizeof result);
}

static void advance_state(unsigned *v) {
    unsigned t = v[0] ^ (v[0] >> 2);
    memmove(v, v + 1, (WORDS - 1) * sizeof *v);
    v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
}

static void make_matrix_lock_held(uint32_t power) {
    matrix *m = &powers[power];
    if (power)
        *m = powers[power - 1];
    for (int i = 0; i < BITS; i++) {
        if (power) {
            apply_matrix(&powers[power - 1], m->row[i]);
        } else {
            m->row[i][i / 32] = 1u << (i % 32);
            advance_state(m->row[i]);
        }
    }
}

static const matrix *find_matrix(uint32_t power) {
    if (power >= nl_atomic_load32(&computed)) {
        nl_mutex_lock(&lock);
        for (uint32_t next = computed; next <= power; next++) {
            make_matrix_lock_held(next);
            nl_atomic_store32(&computed, next + 1);
        }
        nl_mutex_unlock(&lock);
    }
    return &powers[power];
}

void nl_sim_xorwow_jump(unsigned *state, unsigned long long steps, int scale) {
    for (uint32_t power = (uint32_t)scale; steps && power < POWERS; power++, steps >>= 1) {
        if (steps & 1)
            apply_matrix(find_matrix(power), state);
    }
}

void nl_sim_xorwow_reset_in_child(void) {
    nl_mutex_init(&lock);
}
