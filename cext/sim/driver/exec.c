/* sim/driver/exec: implements executable graphs as lists of operations. A node is a copy of one of
 * the graph's operations, and is identified by that operation. */
#include "sim/driver/exec.h"

#include <stdlib.h>
#include "sim/driver/stream.h"
#include "sim/driver/streamclock.h"

typedef struct exec_node {
    const void *node; /* the graph's operation */
    nl_sim_op *op;
} exec_node;

struct nl_sim_exec {
    size_t count;
    nl_sim_stream *last; /* stream of the last launch, and the ticket of its last operation */
    uint64_t ticket;
    exec_node nodes[];
};

static void free_exec(nl_sim_exec *exec) {
    for (size_t i = 0; i < exec->count; i++)
        nl_sim_op_destroy(exec->nodes[i].op);
    free(exec);
}

CUresult nl_sim_exec_create(const nl_sim_graph *graph, nl_sim_exec **out) {
    nl_sim_exec *exec = calloc(1, sizeof *exec + graph->count * sizeof exec->nodes[0]);
    if (!exec)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (const nl_sim_op *op = graph->head; op; op = op->next) {
        nl_sim_op *copy = op->copy ? op->copy(op) : NULL;
        if (!copy) {
            free_exec(exec);
            return op->copy ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_SUPPORTED;
        }
        exec->nodes[exec->count++] = (exec_node){op, copy};
    }
    *out = exec;
    return CUDA_SUCCESS;
}

void nl_sim_exec_destroy(nl_sim_exec *exec) {
    if (exec->last) {
        nl_sim_streams_lock();
        nl_sim_stream_release_lock_held(exec->last);
        nl_sim_streams_unlock();
    }
    free_exec(exec);
}

/* Returns a list of copies of all operations, or NULL if memory runs out. */
static nl_sim_op *clone_operations(const nl_sim_exec *exec) {
    nl_sim_op *head = NULL, **tail = &head;
    for (size_t i = 0; i < exec->count; i++) {
        const nl_sim_op *op = exec->nodes[i].op;
        *tail = op->copy(op);
        if (!*tail)
            break;
        tail = &(*tail)->next;
        *tail = NULL;
        if (i + 1 == exec->count)
            return head;
    }
    for (nl_sim_op *next; head; head = next) {
        next = head->next;
        nl_sim_op_destroy(head);
    }
    return NULL;
}

/* An executable graph runs only once at a time: each launch is ordered after the previous launch,
 * even in another stream. */
CUresult nl_sim_exec_launch(nl_sim_exec *exec, nl_sim_stream *stream) {
    if (!exec->count)
        return CUDA_SUCCESS;
    nl_sim_op *op = clone_operations(exec);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    nl_sim_streams_lock();
    nl_sim_stream *last = exec->last;
    uint64_t ticket = exec->ticket;
    stream->references++;
    exec->last = stream;
    exec->ticket = stream->issued + exec->count;
    if (last && !stream->capture)
        nl_sim_streamclock_join(&stream->clock, &last->clock);
    if (last && last != stream && last->done < ticket && !stream->capture)
        /* cannot fail, because `op` has no other dependency yet */
        (void)nl_sim_stream_add_dependency(op, last, ticket);
    for (nl_sim_op *next; op; op = next) {
        next = op->next;
        nl_sim_stream_issue_lock_held(stream, op);
    }
    if (last)
        nl_sim_stream_release_lock_held(last);
    nl_sim_streams_unlock();
    return CUDA_SUCCESS;
}

static exec_node *find_node(const nl_sim_exec *exec, const void *node) {
    for (size_t i = 0; i < exec->count; i++) {
        if (exec->nodes[i].node == node)
            return (exec_node *)(uintptr_t)&exec->nodes[i];
    }
    return NULL;
}

const nl_sim_op *nl_sim_exec_find_operation(const nl_sim_exec *exec, const void *node) {
    const exec_node *found = find_node(exec, node);
    return found ? found->op : NULL;
}

void nl_sim_exec_replace_operation(nl_sim_exec *exec, const void *node, nl_sim_op *op) {
    exec_node *found = find_node(exec, node);
    nl_sim_op *old = found->op;
    found->op = op;
    nl_sim_op_destroy(old);
}
