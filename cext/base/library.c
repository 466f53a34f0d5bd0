/* base/library: writes the bytes of a shared object to an anonymous file and opens it with dlopen.
 * dlopen identifies libraries by path, and file descriptor numbers are reused, so each load uses a
 * different spelling of the path.
 *
 * Debuggers also open that path to read debug information, both when dlopen notifies them and when
 * they attach to a running process. So the path has the same meaning in every process
 * ("/proc/123/fd/..."), and the file of an image with debug information stays open while the image
 * is loaded. Files of other images are closed after loading. The files have high descriptor
 * numbers, because a debugger may open the path of an unloaded file later, when a low number may
 * refer to a pipe, whose opening would block the debugger. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/lock.h"

static int write_file(int file, const char *bytes, size_t size) {
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

/* Makes a unique path to the file in "/proc/123/fd/", in which single and double slashes encode the
 * bits of a counter. The counter starts with its own address, so that the paths differ from those
 * of a second copy of this code in the process (as in the tests). */
static void format_unique_path(char *path, size_t size, int file) {
    static uint64_t loads;
    size_t length = (size_t)snprintf(path, size, "/proc/%ld/fd/", (long)getpid());
    for (uint64_t n = (uintptr_t)&loads / 8 + nl_atomic_add(&loads, 1); n && length + 24 < size;
         n >>= 1)
        length += (size_t)snprintf(path + length, size - length, n & 1 ? ".//" : "./");
    snprintf(path + length, size - length, "%d", file);
}

/* The list of the open files and their libraries. The length of the list is limited, so that the
 * process does not run out of file descriptors. */
enum { MAX_KEPT = 200 };
typedef struct kept_file {
    void *library;
    int file;
    struct kept_file *next;
} kept_file;
static nl_mutex lock = NL_MUTEX_INIT;
static kept_file *kept;
static int kept_count;

static int has_debug_information(const void *bytes, size_t size) {
    static const char name[] = "\0.debug_info";
    return memmem(bytes, size, name, sizeof name) != NULL;
}

/* Keeps `file` open by adding it to the list. If the list is full or memory runs out, closes the
 * file; a debugger may then find no debug information. */
static void add_to_open_files(void *library, int file) {
    kept_file *k = malloc(sizeof *k);
    nl_mutex_lock(&lock);
    int fits = k != NULL && kept_count < MAX_KEPT;
    if (fits) {
        *k = (kept_file){library, file, kept};
        kept = k;
        kept_count++;
    }
    nl_mutex_unlock(&lock);
    if (!fits) {
        close(file);
        free(k);
    }
}

static void close_extracted(const void *library) {
    nl_mutex_lock(&lock);
    kept_file **at = &kept;
    while (*at && (*at)->library != library)
        at = &(*at)->next;
    kept_file *k = *at;
    if (k) {
        *at = k->next;
        kept_count--;
    }
    nl_mutex_unlock(&lock);
    if (k)
        close(k->file);
    free(k);
}

/* Moves the file to a high descriptor number, which other code rarely uses. Returns the
 * unchanged number if the descriptor cannot be duplicated. */
static int use_high_descriptor(int file) {
    int high = fcntl(file, F_DUPFD_CLOEXEC, 768);
    if (high < 0)
        return file;
    close(file);
    return high;
}

static void *open_anonymous(const void *bytes, size_t size) {
    void *library = NULL;
#ifdef MFD_CLOEXEC
    char path[256];
    int file = memfd_create("numbalite", MFD_CLOEXEC);
    if (file < 0)
        return NULL;
    file = use_high_descriptor(file);
    if (write_file(file, bytes, size) == 0) {
        format_unique_path(path, sizeof path, file);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (library != NULL && has_debug_information(bytes, size))
        add_to_open_files(library, file);
    else
        close(file);
#else
    (void)bytes, (void)size, (void)format_unique_path, (void)use_high_descriptor,
        (void)add_to_open_files;
#endif
    return library;
}

/* Loads the library from a file in a temporary directory. Used if /proc is missing or does not
 * permit execution. */
static void *open_temporary(const void *bytes, size_t size) {
    char directory[300], path[340];
    snprintf(directory, sizeof directory, "%.240s/numbalite-XXXXXX", P_tmpdir);
    if (!mkdtemp(directory))
        return NULL;
    snprintf(path, sizeof path, "%s/image.so", directory);
    void *library = NULL;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (file >= 0) {
        int written = write_file(file, bytes, size);
        close(file);
        if (written == 0)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        unlink(path);
    }
    rmdir(directory);
    return library;
}

void *nl_library_open(const void *bytes, size_t size) {
    void *library = open_anonymous(bytes, size);
    return library != NULL ? library : open_temporary(bytes, size);
}

void nl_library_close(void *library) {
    if (library == NULL)
        return;
    close_extracted(library);
    dlclose(library);
}
