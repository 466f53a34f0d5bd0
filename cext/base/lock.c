/* base/lock: starts threads, and calls handlers in forked children. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "base/lock.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"

NL_THREAD_LOCAL int nl_mutex_held;

int nl_thread_start(nl_thread *t, void *(*body)(void *), void *arg, size_t stack_size,
                    nl_error *err) {
    pthread_attr_t attributes;
    int status = nl_mem_must_fail() ? EAGAIN : pthread_attr_init(&attributes);
    if (status == 0) {
        if (stack_size != 0)
            status = pthread_attr_setstacksize(&attributes, stack_size);
        if (status == 0)
            status = pthread_create(t, &attributes, body, arg);
        pthread_attr_destroy(&attributes);
    }
    if (status == 0)
        return 0;
    return nl_error_set(err, NL_ERR_RUNTIME, "cannot start a thread: %s", strerror(status));
}

int nl_thread_is_main(void) {
    return syscall(SYS_gettid) == getpid();
}

void nl_cond_wait_for(nl_cond *c, nl_mutex *m, uint64_t nanoseconds) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    nanoseconds += (uint64_t)end.tv_nsec;
    end.tv_sec += (time_t)(nanoseconds / 1000000000u);
    end.tv_nsec = (long)(nanoseconds % 1000000000u);
    pthread_cond_timedwait(c, m, &end);
}

void nl_thread_join(nl_thread t) {
    pthread_join(t, NULL);
}

#define MAX_CHILDREN 16
static nl_mutex fork_lock = NL_MUTEX_INIT;
static void (*children[MAX_CHILDREN])(void);

/* Runs in a forked child, in its only thread. Initializes the lock again, because another thread of
 * the parent may have held it during the fork. */
static void reset_lock_in_child(void) {
    nl_mutex_init(&fork_lock);
    for (int i = 0; i < MAX_CHILDREN && children[i] != NULL; ++i)
        children[i]();
}

void nl_thread_call_in_child(void (*child)(void)) {
    nl_mutex_lock(&fork_lock);
    int i = 0;
    while (i < MAX_CHILDREN && children[i] != NULL && children[i] != child)
        ++i;
    if (i < MAX_CHILDREN && children[i] == NULL) {
        if (i == 0)
            pthread_atfork(NULL, NULL, reset_lock_in_child);
        children[i] = child;
    }
    nl_mutex_unlock(&fork_lock);
}
