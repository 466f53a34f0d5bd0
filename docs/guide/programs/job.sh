#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=00:10:00

# One rank for each GPU. Every rank sees all GPUs of its node, so that they reach one another's memory, and
# NUMBALITE_DEVICE says which one is its own: the number among the ranks of its node.
export NUMBALITE_CACHE_DIR="${TMPDIR:-/tmp}/numbalite-$USER"    # each node's own disk, not the network's

[ $# -gt 0 ] || set -- python mpi_ranks.py
srun bash -c 'NUMBALITE_DEVICE=$SLURM_LOCALID exec "$@"' rank "$@"
