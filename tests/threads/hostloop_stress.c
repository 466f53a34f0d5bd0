/* Loops of the parallel target from several threads at once, with faults, nested loops and a fork.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/hostloop.h"

enum { COUNT = 20000, THREADS = 4, ROUNDS = 60 };

static void square_elements(char *const *data, long long count, const long long *strides,
                   const void *extra) {
    for (long long k = 0; k < count; k++) {
        double x = *(const double *)(data[0] + k * strides[0]);
        if (extra != NULL && x == *(const double *)extra)
            nl_hostloop_runtime.fault(&(nl_host_fault){"found it", "stress.c", 7, 0, NULL, 0});
        *(double *)(data[1] + k * strides[1]) = x * x;
    }
}

/* A loop whose iterations are loops. */
static void square_in_nested_loops(char *const *data, long long count, const long long *strides, const void *extra) {
    static unsigned cost;
    const long long inner[] = {8, 8};
    for (long long k = 0; k < count; k++) {
        char *at[] = {data[0] + k * strides[0], data[1] + k * strides[1]};
        nl_hostloop_runtime.parallel(square_elements, 2, at, 1000, inner, extra, &cost);
    }
}

static void require(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static void *run_loops(void *unused) {
    double *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    char *data[] = {(char *)x, (char *)y};
    const long long strides[] = {8, 8}, rows[] = {8000, 8000};
    float slow = 1000;
    unsigned expensive;
    memcpy(&expensive, &slow, sizeof slow);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++)
            x[i] = i, y[i] = -1;
        unsigned cost = round % 2 ? expensive : 0;
        int status;
        if (round % 3 == 0)
            status = nl_hostloop_runtime.parallel(square_in_nested_loops, 2, data, COUNT / 1000, rows, NULL, &cost);
        else
            status = nl_hostloop_runtime.parallel(square_elements, 2, data, COUNT, strides, NULL, &cost);
        require(status == 0, "failed");
        for (int i = 0; i < COUNT; i++)
            require(y[i] == (double)i * i, "wrong");
        double wanted = round * 300;
        cost = expensive;
        status = nl_hostloop_runtime.parallel(square_elements, 2, data, COUNT, strides, &wanted, &cost);
        nl_fault fault;
        char text[200] = "";
        if (status == -1) {
            nl_hostloop_pop_fault(&fault);
            nl_fault_sentence(&fault, text, sizeof text);
        }
        require(status == -1 && strstr(text, "stress.c(7): found it") != NULL,
              "no fault");
    }
    free(x);
    free(y);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    nl_hostloop_threads_limit(5);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_loops, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (count > 1 && strcmp(arguments[1], "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            run_loops(NULL);
            _exit(0);
        }
        int status = 1;
        waitpid(child, &status, 0);
        require(status == 0, "the child failed");
    }
    puts("good");
    return 0;
}
