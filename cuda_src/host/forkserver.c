/* host/forkserver: loads a compiler once and runs it many times
 * (numbalite/compilers/forkserver.py).
 *
 * This library is preloaded into a program whose libraries take long to load. The library replaces
 * the call of main() by a server, after the libraries were relocated and initialized. For each
 * request the server forks, and the child calls main() with the arguments of the request. The
 * server has only one thread when it forks, so forking is safe.
 *
 * The client sends each request as one message on a socket. A message contains the number of the
 * command's arguments, the working directory, the arguments and the environment variables, each
 * with a terminating zero byte, and four file descriptors: standard input, output and error, and a
 * socket for the answer. The answer is an 8-byte integer, the child's wait status. If the client
 * closes its end of the answer socket or shuts it down, the server kills the child and all
 * processes that it started. If all clients have closed the request socket, the server kills all
 * children and exits.
 *
 * The server needs glibc, which reads the environment from `environ`; for other C libraries this
 * file is empty. */
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

static int requests; /* socket that requests arrive on */
static char text[MAX_BYTES];
/* argument list and environment of the command, each with a terminating NULL */
static char *words[MAX_WORDS + 4];
static struct {
    pid_t pid; /* 0: free */
    int answer;
    int is_wanted;
} runs[MAX_RUNS];

static void write_answer(int file, int64_t number) {
    if (write(file, &number, sizeof number) < 0)
        return; /* the client has closed the socket */
}

static void kill_run(int i) {
    if (runs[i].pid && runs[i].is_wanted)
        kill(-runs[i].pid, SIGKILL);
    runs[i].is_wanted = 0;
}

static void end_server(void) {
    for (int i = 0; i < MAX_RUNS; i++)
        kill_run(i);
    _exit(0);
}

static void interrupt_poll(int number) {
    (void)number; /* the signal handler is empty: the signal only interrupts ppoll */
}

/* Collects finished children and sends their status to their clients. */
static void collect_ended_children(void) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int i = 0; i < MAX_RUNS; i++)
            if (runs[i].pid == pid) {
                write_answer(runs[i].answer, status);
                close(runs[i].answer);
                runs[i].pid = runs[i].is_wanted = 0;
            }
}

typedef struct request {
    int files[FILES];
    int count; /* arguments of the command */
    char *folder;
} request;

/* Returns the next string of the message in [*at, end). Exits if the message has no further
 * string. */
static char *next_string(char **at, const char *end) {
    char *found = *at;
    if (found >= end)
        end_server();
    *at += strlen(found) + 1;
    return found;
}

static void receive_request(request *asked) {
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
    asked->count = atoi(next_string(&at, end));
    asked->folder = next_string(&at, end);
    int stored = 0;
    for (int i = 0; at < end && stored <= MAX_WORDS; i++) {
        if (i == asked->count)
            words[stored++] = NULL;
        words[stored++] = next_string(&at, end);
    }
    words[stored] = words[stored + 1] = NULL; /* the environment may be empty */
}

/* Applies the request to this process: environment, directory and descriptors; called in the
 * child. */
static void apply_request(const request *asked, pid_t server) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server)
        _exit(127); /* the server has already ended, so PDEATHSIG will not be sent */
    for (int i = 0; i < MAX_RUNS; i++)
        if (runs[i].pid)
            close(runs[i].answer);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0); /* the child gets a process group of its own, which is killed together with all
                    * its processes */
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

/* Waits for a request. While waiting, kills children whose client has gone, and reports the status
 * of finished children. */
static void wait_for_request(const sigset_t *heard) {
    for (;;) {
        struct pollfd files[MAX_RUNS + 1] = {{requests, POLLIN, 0}};
        int run_of[MAX_RUNS + 1],
            /* polls only open descriptors, because ppoll fails for more than RLIMIT_NOFILE
             * descriptors */
            count = 1;
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
                kill_run(run_of[at]);
        collect_ended_children();
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

/* Serves requests. Returns only in a child process: the number of the command's arguments. */
static int serve_requests(void) {
    sigset_t child, none;
    pid_t server = getpid();
    sigemptyset(&none);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL); /* SIGCHLD is blocked except during ppoll */
    signal(SIGCHLD, interrupt_poll);
    for (;;) {
        request asked;
        wait_for_request(&none);
        receive_request(&asked);
        int slot = free_slot();
        pid_t pid = slot >= 0 ? fork() : -1;
        if (pid == 0) {
            sigprocmask(SIG_SETMASK, &none, NULL);
            apply_request(&asked, server);
            return asked.count;
        }
        for (int i = 0; i < ANSWER; i++)
            close(asked.files[i]);
        if (pid < 0) {
            /* closed without an answer, which tells the client to run the command itself */
            close(asked.files[ANSWER]);
            continue;
        }
        setpgid(pid, pid); /* the parent and the child call setpgid, so that the group exists before
                            * it can be killed */
        runs[slot].pid = pid;
        runs[slot].answer = asked.files[ANSWER];
        runs[slot].is_wanted = 1;
    }
}

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
                           void (*)(void), void *);

/* Replaces the C library's __libc_start_main, which calls main(). */
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
        count = serve_requests();
        arguments = words;
    }
    return start(program, count, arguments, init, fini, leave, stack);
}

#endif
