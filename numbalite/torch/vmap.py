"""torch.vmap over operators: a batch is one more loop dimension. Kernels run once for each item of the batch."""

from __future__ import annotations

from typing import Any

import torch


def register(operator: Any, library: Any) -> None:
    described = operator.operation
    if described.cores is not None:
        rule = _rule_by_loops(operator)
    elif not described.written:
        rule = _rule_by_items(operator)
    else:
        return
    torch.library.register_vmap(operator.name, rule, lib=library)


def _rule_by_loops(operator):
    described = operator.operation

    def rule(info, in_dims, *args):
        loops = [
            x.ndim - core - (dim is not None)
            for x, dim, core in zip(args, in_dims, described.cores, strict=False)
        ]
        ndim = max(loops)
        moved = []
        for i, (x, dim) in enumerate(zip(args, in_dims, strict=True)):
            if dim is not None:
                x = x.movedim(dim, 0)
                x = x.reshape(x.shape[0], *(1,) * (ndim - loops[i]), *x.shape[1:])
            elif i in described.written:
                raise RuntimeError(
                    f"{operator.name}: vmap: {described.parameters[i]} is written, but has no batch dimension"
                )
            moved.append(x)
        results = operator(*moved)
        return results, _result_dims(results, described.nout)

    return rule


def _rule_by_items(operator):
    def rule(info, in_dims, *args):
        items = [
            operator(
                *(
                    x if dim is None else x.select(dim, i)
                    for x, dim in zip(args, in_dims, strict=True)
                )
            )
            for i in range(info.batch_size)
        ]
        if operator.operation.nout == 1:
            return torch.stack(items), 0
        results = tuple(map(torch.stack, zip(*items, strict=True)))
        return results, _result_dims(results, len(results))

    return rule


def _result_dims(results, nout):
    return 0 if nout == 1 else (0,) * nout if results is not None else None
