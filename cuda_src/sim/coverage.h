/* Coverage: a file contains a flag for each block and branch that was executed, shared by all
   processes that run this image.

   compilers/sim/coverage.py defines the variables below. When the image is loaded, its flags become
   a shared mapping of the file, so nothing has to be written at the end. The table, which is the
   second part of the file, lists the lines of the flags. */
#ifndef NUMBALITE_SIM_COVERAGE_H
#define NUMBALITE_SIM_COVERAGE_H

extern "C" {
extern unsigned char
    __llvm_gcov_ctr_nl[]; /* this prefix excludes the variable from the checks of memory accesses */
extern const char nl_coverage_name[];
extern const char nl_coverage_table[];
extern const unsigned long
    nl_coverage_sizes[2]; /* size of the flags in bytes (a multiple of a page), and size of the
                           * table in bytes */
}

namespace numbalite_sim {

/* Functions of the C library, under names that no header declares. */
char *nl_coverage_getenv(const char *) asm("getenv");
int nl_coverage_snprintf(char *, unsigned long, const char *, ...) asm("snprintf");
int nl_coverage_openat(int, const char *, int, ...) asm("openat");
int nl_coverage_ftruncate(int, long) asm("ftruncate");
long nl_coverage_pwrite(int, const void *, unsigned long, long) asm("pwrite");
void *nl_coverage_mmap(void *, unsigned long, int, int, int, long) asm("mmap");
int nl_coverage_close(int) asm("close");

/* In a checked image, the hooks of accesses are not available before the image is loaded. */
__attribute__((constructor, used)) static NUMBALITE_SIM_OWN void nl_coverage_open() {
    const unsigned long flags = nl_coverage_sizes[0], table = nl_coverage_sizes[1];
    const char *folder = nl_coverage_getenv("NUMBALITE_COVERAGE");
    char path[4096];
    if (!flags || !folder)
        return;
    int length = nl_coverage_snprintf(path, sizeof path, "%s/%s", folder, nl_coverage_name);
    if (length < 0 || length >= (int)sizeof path)
        return;
    int file = nl_coverage_openat(-100 /* AT_FDCWD */, path,
                                  02 | 0100 | 02000000 /* RDWR, CREAT, CLOEXEC */, 0600);
    if (file < 0)
        return;
    /* all processes write the same bytes The file is never truncated, so no mapping loses its
     * pages. */
    bool is_written =
        !nl_coverage_ftruncate(file, (long)(flags + table)) &&
        nl_coverage_pwrite(file, nl_coverage_table, table, (long)flags) == (long)table;
    if (is_written)
        nl_coverage_mmap(__llvm_gcov_ctr_nl, flags, 1 | 2, 1 | 0x10 /* SHARED, FIXED */, file, 0);
    nl_coverage_close(file);
}

} // namespace numbalite_sim

#endif
