/* curand_kernel.h for the simulator: the generators XORWOW (the default) and Philox, with the same
 * sequences as cuRAND. */
#ifndef NUMBALITE_SIM_CURAND_KERNEL_H
#define NUMBALITE_SIM_CURAND_KERNEL_H

#define CURAND_2POW32_INV (2.3283064e-10f)
#define CURAND_2POW32_INV_DOUBLE (2.3283064365386963e-10)
#define CURAND_2POW53_INV_DOUBLE (1.1102230246251565e-16)
#define CURAND_2POW32_INV_2PI (2.3283064e-10f * 6.2831855f)
#define CURAND_2POW53_INV_2PI_DOUBLE (1.1102230246251565e-16 * 6.2831853071795860)

struct curandStateXORWOW {
    unsigned d, v[5];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
struct curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned STATE;
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW curandState;
typedef curandStateXORWOW curandState_t;
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

/* Other generators, and functions that need a table, exist only in the toolkit's header, which is
 * included if the source uses them. */
#define NUMBALITE_SIM_NO_CURAND(name) \
    NUMBALITE_SIM_CANNOT(#name " needs the headers of cuRAND: pip install nvidia-curand")
#define NUMBALITE_SIM_NO_GENERATOR(name) \
    typedef NUMBALITE_SIM_NO_CURAND(name) int name; \
    typedef NUMBALITE_SIM_NO_CURAND(name##_t) int name##_t;
NUMBALITE_SIM_NO_GENERATOR(curandStateMRG32k3a)
NUMBALITE_SIM_NO_GENERATOR(curandStateMtgp32)
NUMBALITE_SIM_NO_GENERATOR(curandStateSobol32)
NUMBALITE_SIM_NO_GENERATOR(curandStateSobol64)
NUMBALITE_SIM_NO_GENERATOR(curandStateScrambledSobol32)
NUMBALITE_SIM_NO_GENERATOR(curandStateScrambledSobol64)
NUMBALITE_SIM_NO_GENERATOR(curandDirectionVectors32)
NUMBALITE_SIM_NO_GENERATOR(curandDirectionVectors64)
NUMBALITE_SIM_NO_GENERATOR(curandDiscreteDistribution)
#undef NUMBALITE_SIM_NO_GENERATOR
#define NUMBALITE_SIM_NO_POISSON(name, type) \
    template <class State> NUMBALITE_SIM_NO_CURAND(name) type name(State *, double);
NUMBALITE_SIM_NO_POISSON(curand_poisson, unsigned)
NUMBALITE_SIM_NO_POISSON(curand_poisson4, uint4)
NUMBALITE_SIM_NO_POISSON(curand_discrete, unsigned)
NUMBALITE_SIM_NO_POISSON(curand_discrete4, uint4)
#undef NUMBALITE_SIM_NO_POISSON
#undef NUMBALITE_SIM_NO_CURAND

/* Functions that use a state. In checked images these functions are inlined, so that reports
 * contain the line of the call. */
#ifdef NUMBALITE_SIM_CHECKED
#define NUMBALITE_SIM_STATED NUMBALITE_SIM_INLINE
#else
#define NUMBALITE_SIM_STATED inline
#endif

namespace numbalite_sim {

NUMBALITE_SIM_INLINE unsigned xorwow_step(unsigned *v) {
    unsigned t = v[0] ^ (v[0] >> 2);
    v[0] = v[1];
    v[1] = v[2];
    v[2] = v[3];
    v[3] = v[4];
    v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
    return v[4];
}

NUMBALITE_SIM_OWN void xorwow_jump_scaled(unsigned *state, unsigned long long steps, int scale) {
    ops->xorwow_jump(state, steps, scale);
}
/* Calls the engine, which contains the tables for jumps. The engine receives a copy of the state,
 * so that only this function accesses the state itself, and the checks see this access. */
NUMBALITE_SIM_STATED void xorwow_jump(unsigned *v, unsigned long long steps, int scale) {
    unsigned state[5] = {v[0], v[1], v[2], v[3], v[4]};
    xorwow_jump_scaled(state, steps, scale);
    for (int k = 0; k < 5; ++k)
        v[k] = state[k];
}

NUMBALITE_SIM_INLINE uint4 philox(uint4 c, uint2 k) {
    for (int round = 0; round < 10; ++round) {
        unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = uint4{high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0};
        k.x += 0x9E3779B9u;
        k.y += 0xBB67AE85u;
    }
    return c;
}
/* Adds to the lower or the upper half of the 128-bit counter. */
NUMBALITE_SIM_STATED void philox_advance(uint4 *c, unsigned long long by) {
    unsigned long long low = static_cast<unsigned long long>(c->y) << 32 | c->x, sum = low + by;
    c->x = static_cast<unsigned>(sum);
    c->y = static_cast<unsigned>(sum >> 32);
    if (sum < low && ++c->z == 0)
        ++c->w;
}

} // namespace numbalite_sim

/* ---- starting and jumping ---- */

NUMBALITE_SIM_STATED void skipahead(unsigned long long n, curandStateXORWOW *state) {
    numbalite_sim::xorwow_jump(state->v, n, 0);
    state->d += 362437u * static_cast<unsigned>(n);
}
NUMBALITE_SIM_STATED void skipahead_sequence(unsigned long long n, curandStateXORWOW *state) {
    numbalite_sim::xorwow_jump(state->v, n, 67);
}
NUMBALITE_SIM_STATED void curand_init(unsigned long long seed, unsigned long long subsequence,
                                      unsigned long long offset, curandStateXORWOW *state) {
    unsigned s0 = static_cast<unsigned>(seed) ^ 0xaad26b49u;
    unsigned s1 = static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu;
    unsigned t0 = 1099087573u * s0, t1 = 2591861531u * s1;
    state->d = 6615241u + t1 + t0;
    state->v[0] = 123456789u + t0;
    state->v[1] = 362436069u ^ t0;
    state->v[2] = 521288629u + t1;
    state->v[3] = 88675123u ^ t1;
    state->v[4] = 5783321u + t0;
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
    state->boxmuller_flag = state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0;
    state->boxmuller_extra_double = 0;
}

NUMBALITE_SIM_STATED void skipahead(unsigned long long n, curandStatePhilox4_32_10 *state) {
    state->STATE += static_cast<unsigned>(n & 3);
    n /= 4;
    if (state->STATE > 3) {
        ++n;
        state->STATE -= 4;
    }
    numbalite_sim::philox_advance(&state->ctr, n);
    state->output = numbalite_sim::philox(state->ctr, state->key);
}
NUMBALITE_SIM_STATED void skipahead_sequence(unsigned long long n,
                                             curandStatePhilox4_32_10 *state) {
    unsigned long long high =
        (static_cast<unsigned long long>(state->ctr.w) << 32 | state->ctr.z) + n;
    state->ctr.z = static_cast<unsigned>(high);
    state->ctr.w = static_cast<unsigned>(high >> 32);
    state->output = numbalite_sim::philox(state->ctr, state->key);
}
NUMBALITE_SIM_STATED void curand_init(unsigned long long seed, unsigned long long subsequence,
                                      unsigned long long offset, curandStatePhilox4_32_10 *state) {
    state->ctr = uint4{0, 0, 0, 0};
    state->key = uint2{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
    state->STATE = 0;
    state->boxmuller_flag = state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0;
    state->boxmuller_extra_double = 0;
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
}

/* ---- bits ---- */

NUMBALITE_SIM_INLINE unsigned curand(curandStateXORWOW *state) {
    state->d += 362437u;
    return numbalite_sim::xorwow_step(state->v) + state->d;
}
NUMBALITE_SIM_STATED unsigned curand(curandStatePhilox4_32_10 *state) {
    const uint4 o = state->output;
    unsigned result = state->STATE == 0   ? o.x
                      : state->STATE == 1 ? o.y
                      : state->STATE == 2 ? o.z
                                          : o.w;
    if (++state->STATE == 4) {
        numbalite_sim::philox_advance(&state->ctr, 1);
        state->output = numbalite_sim::philox(state->ctr, state->key);
        state->STATE = 0;
    }
    return result;
}
NUMBALITE_SIM_STATED uint4 curand4(curandStatePhilox4_32_10 *state) {
    const uint4 old = state->output;
    numbalite_sim::philox_advance(&state->ctr, 1);
    state->output = numbalite_sim::philox(state->ctr, state->key);
    const uint4 next = state->output;
    switch (state->STATE) {
    case 0:
        return old;
    case 1:
        return uint4{old.y, old.z, old.w, next.x};
    case 2:
        return uint4{old.z, old.w, next.x, next.y};
    default:
        return uint4{old.w, next.x, next.y, next.z};
    }
}

/* ---- distributions ---- */

namespace numbalite_sim {
NUMBALITE_SIM_INLINE float uniform_from_word(unsigned x) {
    return x * CURAND_2POW32_INV + CURAND_2POW32_INV / 2.0f;
}
NUMBALITE_SIM_INLINE double uniform_from_word(unsigned x, unsigned y) {
    unsigned long long z = x ^ static_cast<unsigned long long>(y) << (53 - 32);
    return z * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2.0;
}
inline float2 box_muller(unsigned x, unsigned y) {
    float u = x * CURAND_2POW32_INV + CURAND_2POW32_INV / 2;
    float v = y * CURAND_2POW32_INV_2PI + CURAND_2POW32_INV_2PI / 2;
    float radius = sqrtf(-2.0f * logf(u)), s, c;
    sincosf(v, &s, &c);
    return float2{s * radius, c * radius};
}
inline double2 box_muller(unsigned x0, unsigned x1, unsigned y0, unsigned y1) {
    unsigned long long zx = x0 ^ static_cast<unsigned long long>(x1) << (53 - 32);
    unsigned long long zy = y0 ^ static_cast<unsigned long long>(y1) << (53 - 32);
    double u = zx * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2.0;
    double v = zy * (CURAND_2POW53_INV_DOUBLE * 2.0) + CURAND_2POW53_INV_DOUBLE;
    double radius = sqrt(-2.0 * log(u)), s, c;
    sincospi(v, &s, &c);
    return double2{s * radius, c * radius};
}
} // namespace numbalite_sim

template <class S> NUMBALITE_SIM_STATED float curand_uniform(S *state) {
    return numbalite_sim::uniform_from_word(curand(state));
}
NUMBALITE_SIM_STATED double curand_uniform_double(curandStateXORWOW *state) {
    unsigned x = curand(state), y = curand(state);
    return numbalite_sim::uniform_from_word(x, y);
}
NUMBALITE_SIM_STATED double
curand_uniform_double(curandStatePhilox4_32_10 *state) { /* uses only 32 bits, as cuRAND does */
    return curand(state) * CURAND_2POW32_INV_DOUBLE + CURAND_2POW32_INV_DOUBLE / 2.0;
}
template <class S> NUMBALITE_SIM_STATED float2 curand_normal2(S *state) {
    unsigned x = curand(state), y = curand(state);
    return numbalite_sim::box_muller(x, y);
}
template <class S> NUMBALITE_SIM_STATED double2 curand_normal2_double(S *state) {
    unsigned x0 = curand(state), x1 = curand(state), y0 = curand(state), y1 = curand(state);
    return numbalite_sim::box_muller(x0, x1, y0, y1);
}
template <class S> NUMBALITE_SIM_STATED float curand_normal(S *state) {
    if (state->boxmuller_flag) {
        state->boxmuller_flag = 0;
        return state->boxmuller_extra;
    }
    float2 pair = curand_normal2(state);
    state->boxmuller_extra = pair.y;
    state->boxmuller_flag = 1;
    return pair.x;
}
template <class S> NUMBALITE_SIM_STATED double curand_normal_double(S *state) {
    if (state->boxmuller_flag_double) {
        state->boxmuller_flag_double = 0;
        return state->boxmuller_extra_double;
    }
    double2 pair = curand_normal2_double(state);
    state->boxmuller_extra_double = pair.y;
    state->boxmuller_flag_double = 1;
    return pair.x;
}
template <class S>
NUMBALITE_SIM_STATED float curand_log_normal(S *state, float mean, float deviation) {
    return expf(mean + deviation * curand_normal(state));
}
template <class S>
NUMBALITE_SIM_STATED double curand_log_normal_double(S *state, double mean, double deviation) {
    return exp(mean + deviation * curand_normal_double(state));
}
NUMBALITE_SIM_STATED float4 curand_uniform4(curandStatePhilox4_32_10 *state) {
    uint4 x = curand4(state);
    return float4{numbalite_sim::uniform_from_word(x.x), numbalite_sim::uniform_from_word(x.y),
                  numbalite_sim::uniform_from_word(x.z), numbalite_sim::uniform_from_word(x.w)};
}
NUMBALITE_SIM_STATED double2 curand_uniform2_double(curandStatePhilox4_32_10 *state) {
    uint4 x = curand4(state);
    return double2{numbalite_sim::uniform_from_word(x.x, x.y), numbalite_sim::uniform_from_word(x.z, x.w)};
}
NUMBALITE_SIM_STATED float4 curand_normal4(curandStatePhilox4_32_10 *state) {
    uint4 x = curand4(state);
    float2 a = numbalite_sim::box_muller(x.x, x.y), b = numbalite_sim::box_muller(x.z, x.w);
    return float4{a.x, a.y, b.x, b.y};
}

#endif
