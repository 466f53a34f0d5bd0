/* core/image: implements the check that an image has all bytes that its headers describe. There are
 * four kinds
 * of images: a cubin (64-bit ELF), a fat binary, a simulator image (a header, an ELF file and a
 * checksum), and PTX, which must end with NUL. */
#include "core/image.h"

#include <stdint.h>
#include <string.h>

/* The fields of an ELF header, as in elf.h. */
typedef struct elf_header {
    unsigned char identity[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, program_offset, section_offset;
    uint32_t flags;
    uint16_t header_size, program_size, program_count, section_size, section_count, names;
} elf_header;

typedef struct elf_section {
    uint32_t name, type;
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t alignment, entry_size;
} elf_section;

typedef struct elf_program {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_size, memory_size, alignment;
} elf_program;

#define ELF_NO_BITS 8 /* type of a section that occupies no bytes in the file */

static int is_range_inside(uint64_t offset, uint64_t length, size_t size) {
    return offset <= size && length <= size - offset;
}

static int is_elf_complete(const char *bytes, size_t size) {
    elf_header h;
    if (size < sizeof h)
        return 0;
    memcpy(&h, bytes, sizeof h);
    if (h.identity[4] != 2 ||
        !is_range_inside(h.section_offset, (uint64_t)h.section_count * sizeof(elf_section), size) ||
        !is_range_inside(h.program_offset, (uint64_t)h.program_count * sizeof(elf_program), size) ||
        (h.section_count && h.section_size != sizeof(elf_section)) ||
        (h.program_count && h.program_size != sizeof(elf_program)))
        return 0;
    for (unsigned i = 0; i < h.section_count; i++) {
        elf_section s;
        memcpy(&s, bytes + h.section_offset + i * sizeof s, sizeof s);
        if (s.type != ELF_NO_BITS && !is_range_inside(s.offset, s.size, size))
            return 0;
    }
    for (unsigned i = 0; i < h.program_count; i++) {
        elf_program p;
        memcpy(&p, bytes + h.program_offset + i * sizeof p, sizeof p);
        if (!is_range_inside(p.offset, p.file_size, size))
            return 0;
    }
    return 1;
}

/* Returns whether a fat binary is complete; it begins with magic, version, size of this header, and
 * size of the remaining bytes. */
static int is_fat_binary_complete(const char *bytes, size_t size) {
    uint16_t header_size;
    uint64_t rest;
    if (size < 16)
        return 0;
    memcpy(&header_size, bytes + 6, sizeof header_size);
    memcpy(&rest, bytes + 8, sizeof rest);
    return is_range_inside(header_size, rest, size);
}

/* Returns a position-dependent checksum of all bytes; the same as in numbalite/compilers/image.py.
 */
static uint64_t image_checksum(const char *bytes, size_t size) {
    uint64_t word = 0, sum = 0, sums = 0;
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        sums += sum += word;
    }
    word = 0;
    memcpy(&word, bytes, size);
    sums += sum += word;
    return sum ^ (sums << 32 | sums >> 32);
}

/* Returns whether a simulator image is complete; it consists of magic, size of the object, the
 * object, and its checksum. Loading a damaged object would crash the process. */
static int is_simulator_image_complete(const char *bytes, size_t size) {
    static const char mark[] = "NLSUM001";
    uint64_t rest, sum;
    if (size < 16)
        return 0;
    memcpy(&rest, bytes + 8, sizeof rest);
    if (!is_range_inside(16, rest, size) || !is_elf_complete(bytes + 16, rest))
        return 0;
    const char *after = bytes + 16 + rest;
    if (size == 16 + rest)
        return 1; /* an image without a checksum */
    if (size != 16 + rest + 16 || memcmp(after, mark, 8) != 0)
        return 0;
    memcpy(&sum, after + 8, sizeof sum);
    return sum == image_checksum(bytes + 16, rest);
}

int nl_image_check(const void *image, size_t size, nl_error *err) {
    static const char elf[] = "\177ELF", fat[] = "\x50\xed\x55\xba";
    int whole;
    if (size == 0)
        return nl_error_set(err, NL_ERR_VALUE, "an empty image cannot be loaded");
    if (size >= 4 && memcmp(image, elf, 4) == 0)
        whole = is_elf_complete(image, size);
    else if (size >= 4 && memcmp(image, fat, 4) == 0)
        whole = is_fat_binary_complete(image, size);
    else if (size >= 8 && memcmp(image, "NLSIMG01", 8) == 0)
        whole = is_simulator_image_complete(image, size);
    else
        /* otherwise the bytes must be PTX text */
        whole = size >= 16 && strnlen(image, size) + 1 >= size;
    if (whole)
        return 0;
    return nl_error_set(err, NL_ERR_VALUE, "this is no image, or only a part of one (%zu bytes)",
                        size);
}
