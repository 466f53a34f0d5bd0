/* sim/driver/op: functions for operations that are not in a stream, such as those of graphs. */
#include "sim/driver/op.h"

#include <stdlib.h>
#include <string.h>

void nl_sim_op_destroy(nl_sim_op *op) {
    if (op->drop)
        op->drop(op);
    free(op);
}

nl_sim_op *nl_sim_op_copy(const nl_sim_op *op, size_t size) {
    nl_sim_op *copy = malloc(size);
    if (!copy)
        return NULL;
    memcpy(copy, op, size);
    copy->next = NULL;
    copy->after = NULL;
    copy->after_count = copy->after_capacity = 0;
    return copy;
}
