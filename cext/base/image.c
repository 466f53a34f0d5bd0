/* base/image: the bytes are written to an anonymous file, which dlopen opens. dlopen remembers
 * names, and a file descriptor's number is used again: so each load spells the same path in its own
 * way. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/image.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/lock.h"

static int write_all(int file, const char *bytes, size_t size) {
    while (size) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

/* "/proc/self/fd/././/7": the number's bits, as "./" and ".//". It counts from the address of the
 * counter, because a second copy of this code in the process (the tests have one) counts too. */
static void spell_path(char *path, size_t size, int file) {
    static uint64_t loads;
    size_t length = (size_t)snprintf(path, size, "/proc/self/fd/");
    for (uint64_t n = (uintptr_t)&loads / 8 + nl_atomic_add(&loads, 1); n && length + 24 < size;
         n >>= 1)
        length += (size_t)snprintf(path + length, size - length, n & 1 ? ".//" : "./");
    snprintf(path + length, size - length, "%d", file);
}

static void *open_anonymous(const void *bytes, size_t size) {
    void *library = NULL;
#ifdef MFD_CLOEXEC
    char path[256];
    int file = memfd_create("numbalite", MFD_CLOEXEC);
    if (file < 0)
        return NULL;
    if (write_all(file, bytes, size) == 0) {
        spell_path(path, sizeof path, file);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    close(file);
#else
    (void)bytes, (void)size, (void)spell_path;
#endif
    return library;
}

/* Where there is no /proc, or it may not be executed from: a file in a directory of our own. */
static void *open_temporary(const void *bytes, size_t size) {
    char directory[300], path[340];
    snprintf(directory, sizeof directory, "%.240s/numbalite-XXXXXX", P_tmpdir);
    if (!mkdtemp(directory))
        return NULL;
    snprintf(path, sizeof path, "%s/image.so", directory);
    void *library = NULL;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (file >= 0) {
        int written = write_all(file, bytes, size);
        close(file);
        if (written == 0)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        unlink(path);
    }
    rmdir(directory);
    return library;
}

void *nl_image_open(const void *bytes, size_t size) {
    void *library = open_anonymous(bytes, size);
    return library != NULL ? library : open_temporary(bytes, size);
}
