/* sim/driver/calls_ipc: implements the driver calls that share device memory between processes.
 *
 * An export turns the allocation into an unnamed file (a memfd, with a sealed size) that stays open
 * in this process; the handle contains the process id and the file descriptor. Handles are
 * untrusted: the opener inspects the file before it opens it, and accepts only a sealed memfd with
 * the inode and size of the handle. As with the real driver, memory from a pool cannot be exported,
 * and a process cannot open its own handles. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/driver/calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sim/driver/stream.h"
#include "sim/engine/memory.h"

typedef struct sim_handle {
    char magic[8];
    int pid, fd;
    uint64_t inode, span, lead, size;
} sim_handle;

_Static_assert(sizeof(sim_handle) <= sizeof(CUipcMemHandle), "a handle has 64 bytes");

static const char magic[8] = {'n', 'l', 's', 'i', 'm', 'i', 'p', 'c'};

static CUresult sim_MemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr pointer) {
    NL_SIM_BEGIN_IN(context);
    (void)context;
    nl_sim_memory_info info;
    if (!nl_sim_memory_find_allocation((uintptr_t)pointer, &info))
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = info.address;
    if (size)
        *size = info.size;
    return CUDA_SUCCESS;
}

static CUresult sim_IpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer) {
    NL_SIM_BEGIN_IN(context);
    (void)context;
    nl_sim_memory_info info;
    nl_sim_memory_file file;
    struct stat facts;
    NL_SIM_REQUIRE(handle && nl_sim_memory_find_allocation((uintptr_t)pointer, &info));
    NL_SIM_REQUIRE(info.kind == NL_SIM_MEMORY_DEVICE);
    nl_sim_stream_wait_for_context(nl_sim_context_at(info.device));
    CUresult status = nl_sim_memory_share_allocation(info.address, &file);
    if (status != CUDA_SUCCESS)
        return status;
    if (fstat(file.fd, &facts) != 0)
        return CUDA_ERROR_UNKNOWN;
    sim_handle own = {.pid = (int)getpid(),
                      .fd = file.fd,
                      .inode = facts.st_ino,
                      .span = file.span,
                      .lead = file.lead,
                      .size = file.size};
    memcpy(own.magic, magic, sizeof magic);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &own, sizeof own);
    return CUDA_SUCCESS;
}

static int is_exported_file(int fd, const sim_handle *own) {
    struct stat facts;
    return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_ino == own->inode &&
           (uint64_t)facts.st_size == own->span && own->lead <= own->span &&
           own->size <= own->span - own->lead;
}

/* Returns whether the file is a memfd whose size is sealed: only a memfd has seals, and then no
 * process can change its size. */
static int is_sealed(int fd) {
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & NL_SIM_MEMORY_SEALS) == NL_SIM_MEMORY_SEALS;
}

/* Opens the exporter's file if it matches the handle. Opens the file with O_PATH first: a normal
 * open of a device, or of another program's file, might have side effects. */
static int open_exported(const sim_handle *own) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", own->pid, own->fd);
    int place = open(path, O_PATH | O_CLOEXEC), fd = -1;
    if (place < 0)
        return -1;
    if (is_exported_file(place, own)) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", place);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    close(place);
    if (fd < 0 || is_sealed(fd))
        return fd;
    close(fd);
    return -1;
}

static CUresult sim_IpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags) {
    NL_SIM_BEGIN_IN(context);
    NL_SIM_REQUIRE(pointer && flags <= CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    sim_handle own;
    memcpy(&own, &handle, sizeof own);
    NL_SIM_REQUIRE(memcmp(own.magic, magic, sizeof magic) == 0 && own.span && own.size);
    if (own.pid == (int)getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    int fd = open_exported(&own);
    if (fd < 0)
        return CUDA_ERROR_INVALID_HANDLE;
    nl_sim_memory_file file = {.fd = fd, .span = own.span, .lead = own.lead, .size = own.size};
    uintptr_t address = 0;
    CUresult status = nl_sim_memory_open_file(context->device, &file, &address);
    close(fd);
    if (status == CUDA_SUCCESS)
        *pointer = address;
    return status;
}

static CUresult sim_IpcCloseMemHandle(CUdeviceptr pointer) {
    NL_SIM_BEGIN_IN(context);
    char damage[NL_SIM_MEMORY_TEXT];
    nl_sim_stream_wait_for_context(context);
    return nl_sim_memory_free(NL_SIM_MEMORY_OPENED, (uintptr_t)pointer, damage);
}

void nl_sim_calls_ipc_fill(nl_driver *table) {
    table->MemGetAddressRange = sim_MemGetAddressRange;
    table->IpcGetMemHandle = sim_IpcGetMemHandle;
    table->IpcOpenMemHandle = sim_IpcOpenMemHandle;
    table->IpcCloseMemHandle = sim_IpcCloseMemHandle;
}
