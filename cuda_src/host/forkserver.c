/* host/forkserver: lets a compiler start once and run many times
 * (numbalite/compilers/forkserver.py).
 *
 * Preloaded into a program whose libraries take long to load, it takes over just before main(): by
 * then the libraries are relocated and initialised. Each request is answered by a fork, which goes
 * on to main() with the words that it was given. The process has one thread then, so that forking
 * is safe.
 *
 * A request is one message on a socket: how many words the command has, the folder to run in, the
 * words, the variables of the environment, each ended by a zero byte; and four open files: standard
 * input, output and error, and a socket for the answer. The answer is a number of 8 bytes, the
 * status with which the run has ended. When nobody is left at the other end of it, or says that
 * nobody waits (shutdown), the run is ended, with all that it started; when nobody is left who
 * could ask, all runs are, and the server.
 *
 * Of the C libraries, glibc takes the environment from `environ`; under others this does nothing.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __GLIBC__

enum { FILES = 4, ANSWER = 3, MAX_WORDS = 4096, MAX_BYTES = 1 << 18, MAX_RUNS = 256 };

static int requests; /* the socket */
static char text[MAX_BYTES];
static char *words[MAX_WORDS + 4]; /* the command and the environment, each ended by NULL */
static struct {
    pid_t pid; /* 0: free */
    int answer;
    int is_wanted;
} runs[MAX_RUNS];

static void answer(int file, int64_t number) {
    if (write(file, &number, sizeof number) < 0)
        return; /* nobody waits for it any more */
}

static void end_run(int i) {
    if (runs[i].pid && runs[i].is_wanted)
        kill(-runs[i].pid, SIGKILL);
    runs[i].is_wanted = 0;
}

static void end_server(void) {
    for (int i = 0; i < MAX_RUNS; i++)
        end_run(i);
    _exit(0);
}

static void on_child(int number) {
    (void)number; /* it interrupts the wait */
}

/* Tells of the processes that have ended. */
static void reap(void) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int i = 0; i < MAX_RUNS; i++)
            if (runs[i].pid == pid) {
                answer(runs[i].answer, status);
                close(runs[i].answer);
                runs[i].pid = runs[i].is_wanted = 0;
            }
}

typedef struct request {
    int files[FILES];
    int count; /* words of the command */
    char *folder;
} request;

/* The next string of the message, which ends at `end`. */
static char *next(char **at, const char *end) {
    char *found = *at;
    if (found >= end)
        end_server();
    *at += strlen(found) + 1;
    return found;
}

static void receive(request *asked) {
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(FILES * sizeof(int))];
    } control;
    struct iovec part = {text, sizeof text - 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t size = recvmsg(requests, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *given = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!given || given->cmsg_len != CMSG_LEN(FILES * sizeof(int)))
        end_server();
    memcpy(asked->files, CMSG_DATA(given), FILES * sizeof(int));
    text[size] = '\0';
    char *at = text, *end = text + size;
    asked->count = atoi(next(&at, end));
    asked->folder = next(&at, end);
    int stored = 0;
    for (int i = 0; at < end && stored <= MAX_WORDS; i++) {
        if (i == asked->count)
            words[stored++] = NULL;
        words[stored++] = next(&at, end);
    }
    words[stored] = words[stored + 1] = NULL; /* there may be no environment */
}

/* In the fork: what the request says becomes of this process. */
static void become(const request *asked, pid_t server) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server)
        _exit(127); /* it has ended before */
    for (int i = 0; i < MAX_RUNS; i++)
        if (runs[i].pid)
            close(runs[i].answer);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0); /* a group of its own, to be ended with all that it starts */
    for (int i = 0; i < ANSWER; i++)
        if (dup2(asked->files[i], i) < 0)
            _exit(127);
    for (int i = 0; i < FILES; i++)
        if (asked->files[i] >= ANSWER)
            close(asked->files[i]);
    close(requests);
    if (chdir(asked->folder) < 0)
        _exit(127);
    environ = words + asked->count + 1;
}

/* Waits for a request; ends the runs that nobody waits for any more, and tells of those that have
 * ended. */
static void wait_for_request(const sigset_t *heard) {
    for (;;) {
        struct pollfd files[MAX_RUNS + 1] = {{requests, POLLIN, 0}};
        int run_of[MAX_RUNS + 1],
            count = 1; /* no more than are open: a low limit is none of ours */
        for (int i = 0; i < MAX_RUNS; i++) {
            if (!runs[i].is_wanted)
                continue;
            files[count] = (struct pollfd){runs[i].answer, POLLRDHUP, 0};
            run_of[count++] = i;
        }
        int ready = ppoll(files, (nfds_t)count, NULL, heard);
        if (ready < 0 && errno != EINTR)
            end_server();
        for (int at = 1; ready > 0 && at < count; at++)
            if (files[at].revents)
                end_run(run_of[at]);
        reap();
        if (ready > 0 && files[0].revents)
            return;
    }
}

static int free_slot(void) {
    for (int i = 0; i < MAX_RUNS; i++)
        if (!runs[i].pid)
            return i;
    return -1;
}

/* Answers requests; returns in a fork only, the number of words of its command. */
static int serve(void) {
    sigset_t child, none;
    pid_t server = getpid();
    sigemptyset(&none);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL); /* heard in ppoll alone */
    signal(SIGCHLD, on_child);
    for (;;) {
        request asked;
        wait_for_request(&none);
        receive(&asked);
        int slot = free_slot();
        pid_t pid = slot >= 0 ? fork() : -1;
        if (pid == 0) {
            sigprocmask(SIG_SETMASK, &none, NULL);
            become(&asked, server);
            return asked.count;
        }
        for (int i = 0; i < ANSWER; i++)
            close(asked.files[i]);
        if (pid < 0) {
            close(asked.files[ANSWER]); /* no answer: it has to be run otherwise */
            continue;
        }
        setpgid(pid, pid); /* whoever is first, before anybody ends it */
        runs[slot].pid = pid;
        runs[slot].answer = asked.files[ANSWER];
        runs[slot].is_wanted = 1;
    }
}

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
                           void (*)(void), void *);

/* The C library's, which calls main(). */
__attribute__((visibility("default"))) int __libc_start_main(main_function *program, int count,
                                                             char **arguments, void (*init)(void),
                                                             void (*fini)(void),
                                                             void (*leave)(void), void *stack) {
    start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    const char *number = getenv("NUMBALITE_FORKSERVER");
    if (number) {
        requests = atoi(number);
        signal(SIGPIPE, SIG_IGN);
        if (send(requests, "", 1, 0) < 0)
            _exit(0);
        count = serve();
        arguments = words;
    }
    return start(program, count, arguments, init, fini, leave, stack);
}

#endif
