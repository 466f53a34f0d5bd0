/* base/lock: wraps threads, locks and atomics. Other files of cext use pthread only through this
 * header, except sim/engine/fiber.c, which reads the bounds of a thread's stack. Atomics are the
 * compiler's __atomic builtins, which this header wraps so that memory orders are chosen in one
 * file. */
#ifndef NL_BASE_LOCK_H
#define NL_BASE_LOCK_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include "base/error.h"

typedef pthread_mutex_t nl_mutex;
typedef pthread_cond_t nl_cond;
typedef pthread_t nl_thread;

#define NL_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define NL_COND_INIT PTHREAD_COND_INITIALIZER

/* Access to a thread-local variable of a library loaded with dlopen is a function call, unless the
 * variable uses the static TLS space that the C library reserves (initial-exec model). The
 * variables of this library use the static TLS space, because the simulator requires it. */
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define NL_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local
#else
#define NL_THREAD_LOCAL _Thread_local
#endif

/* The number of locks that the calling thread holds. */
extern NL_THREAD_LOCAL int nl_mutex_held;

static inline void nl_mutex_lock(nl_mutex *m) {
    pthread_mutex_lock(m);
    nl_mutex_held++;
}
static inline void nl_mutex_unlock(nl_mutex *m) {
    nl_mutex_held--;
    pthread_mutex_unlock(m);
}
static inline void nl_mutex_init(nl_mutex *m) {
    pthread_mutex_init(m, NULL);
}
static inline void nl_mutex_destroy(nl_mutex *m) {
    pthread_mutex_destroy(m);
}
static inline void nl_cond_init(nl_cond *c) {
    pthread_cond_init(c, NULL);
}
static inline void nl_cond_destroy(nl_cond *c) {
    pthread_cond_destroy(c);
}
static inline void nl_cond_wait(nl_cond *c, nl_mutex *m) {
    pthread_cond_wait(c, m);
}
/* Waits at most `nanoseconds`. */
void nl_cond_wait_for(nl_cond *c, nl_mutex *m, uint64_t nanoseconds);
static inline void nl_cond_signal(nl_cond *c) {
    pthread_cond_signal(c);
}
static inline void nl_cond_broadcast(nl_cond *c) {
    pthread_cond_broadcast(c);
}

int nl_thread_start(nl_thread *t, void *(*body)(void *), void *arg, size_t stack_size,
                    nl_error *err);
void nl_thread_join(nl_thread t);
static inline void nl_thread_detach(nl_thread t) {
    pthread_detach(t);
}
/* Blocks the signals of the set in the calling thread, which belongs to this library, so that other
 * threads receive these signals. */
static inline void nl_thread_block_signals(const sigset_t *set) {
    pthread_sigmask(SIG_BLOCK, set, NULL);
}
/* Swaps the signal mask; call it before and after starting a thread of this library, because a new
 * thread inherits the signal mask. */
static inline void nl_thread_swap_signals(const sigset_t *set, sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, set, before);
}
static inline void nl_thread_set_signals(const sigset_t *set) {
    pthread_sigmask(SIG_SETMASK, set, NULL);
}
/* Returns whether the calling thread is the process's first thread. */
int nl_thread_is_main(void);
static inline nl_thread nl_thread_self(void) {
    return pthread_self();
}
static inline void nl_thread_signal(nl_thread t, int number) {
    pthread_kill(t, number);
}
static inline void nl_thread_yield(void) {
    sched_yield();
}
/* Pauses briefly; call it between two polls of a variable that another thread is about to
 * change. */
static inline void nl_thread_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Calls `child` in every process forked from this one. A function is registered only once. */
void nl_thread_call_in_child(void (*child)(void));

static inline uint64_t nl_atomic_add(uint64_t *p, uint64_t v) {
    return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
}
static inline uint64_t nl_atomic_sub(uint64_t *p, uint64_t v) {
    return __atomic_fetch_sub(p, v, __ATOMIC_ACQ_REL);
}
/* A sequentially consistent fence. */
static inline void nl_atomic_fence(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline uint64_t nl_atomic_or(uint64_t *p, uint64_t v) {
    return __atomic_fetch_or(p, v, __ATOMIC_ACQ_REL);
}
static inline uint64_t nl_atomic_load(const uint64_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
static inline void nl_atomic_store(uint64_t *p, uint64_t v) {
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline uint64_t nl_atomic_swap(uint64_t *p, uint64_t v) {
    return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL);
}
/* Atomic load and store of a variable of any type, such as a function pointer in a table through
 * which other threads make calls. */
#define nl_atomic_load_entry(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define nl_atomic_store_entry(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

static inline uint32_t nl_atomic_load32(const uint32_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
static inline void nl_atomic_store32(uint32_t *p, uint32_t v) {
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}
/* The atomics below are relaxed: use them only for counters and flags that do not order other
 * accesses. */
static inline uint32_t nl_atomic_load32_relaxed(const uint32_t *p) {
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
static inline void nl_atomic_store32_relaxed(uint32_t *p, uint32_t v) {
    __atomic_store_n(p, v, __ATOMIC_RELAXED);
}
/* Stores `v` if *p is `expected`. Returns whether it did. */
static inline int nl_atomic_compare_swap(uint64_t *p, uint64_t expected, uint64_t v) {
    return __atomic_compare_exchange_n(p, &expected, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Load and store a pointer in a cache that several threads may fill. A thread that loads the new
 * pointer also sees all writes that precede the store of the pointer. */
static inline void *nl_atomic_load_pointer(void *const *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
static inline void nl_atomic_store_pointer(void **p, void *v) {
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}
static inline void *nl_atomic_swap_pointer(void **p, void *v) {
    return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL);
}
/* Stores v and returns 1 if *p is equal to *expected; otherwise sets *expected to *p and returns
 * 0. */
static inline int nl_atomic_replace_pointer(void **p, void **expected, void *v) {
    return __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

#endif
