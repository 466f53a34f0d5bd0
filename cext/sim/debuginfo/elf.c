/* sim/debuginfo/elf: reads section headers and symbols of a 64-bit object in this machine's byte
 * order.
 *
 * A local static variable `tile` of a function is called _ZZ<mangled function name>E4tile. The
 * mangled function name contains the length and the text of the name, such as "6kernel", which
 * identifies the function that owns the variable. */
#include "sim/debuginfo/elf.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* maximum distance in bytes between the end of a variable and an address that is attributed to
 * it */
enum { BEHIND = 4096 };

typedef struct object {
    const char *bytes;
    size_t size;
    const Elf64_Shdr *sections;
    size_t section_count;
} object;

static int is_range_inside(const object *o, uint64_t offset, uint64_t size) {
    return offset <= o->size && size <= o->size - offset;
}

static int open_object(object *o, const void *bytes, size_t size) {
    const Elf64_Ehdr *header = bytes;
    *o = (object){.bytes = bytes, .size = size};
    if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_DYN)
        return 0;
    if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr))
        return 1; /* no sections: still loadable */
    if (header->e_shoff % _Alignof(Elf64_Shdr) || (uintptr_t)bytes % _Alignof(Elf64_Shdr) ||
        !is_range_inside(o, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
        return 0;
    o->sections = (const Elf64_Shdr *)(o->bytes + header->e_shoff);
    o->section_count = header->e_shnum;
    return 1;
}

int nl_sim_elf_is_valid(const void *bytes, size_t size) {
    object o;
    return open_object(&o, bytes, size);
}

/* Returns the full symbol table, else the dynamic symbol table, else NULL. */
static const Elf64_Shdr *find_symbols(const object *o) {
    const Elf64_Shdr *found = NULL;
    for (size_t i = 0; i < o->section_count; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (!is_range_inside(o, s->sh_offset, s->sh_size) || s->sh_link >= o->section_count)
            continue;
        if (s->sh_type == SHT_SYMTAB || (s->sh_type == SHT_DYNSYM && !found))
            found = s;
    }
    return found;
}

/* Returns whether the variable is in the body of a function with this name ("ns::saxpy<float>"). */
static int is_local_to_function(const char *variable, const char *function) {
    char part[160];
    const char *end = function + strcspn(function, "<("), *begin = end;
    while (begin > function && begin[-1] != ':')
        begin--;
    if (strncmp(variable, "_ZZ", 3) != 0 || end == begin || end - begin > 128)
        return 0;
    snprintf(part, sizeof part, "%d%.*s", (int)(end - begin), (int)(end - begin), begin);
    const char *at = strstr(variable, part);
    return at && (at[-1] < '0' || at[-1] > '9');
}

static int is_numbalite_symbol(const char *name) {
    return strncmp(name, "nl_sim_", 7) == 0 || strstr(name, "numbalite_sim") != NULL;
}

static int is_local_to_other_functions(const char *name, const char *const *others, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (is_local_to_function(name, others[i]))
            return 1;
    }
    return 0;
}

size_t nl_sim_elf_shared_size(const void *bytes, size_t size, const char *kernel,
                              const char *const *others, size_t count) {
    object o;
    const Elf64_Shdr *symbols = open_object(&o, bytes, size) ? find_symbols(&o) : NULL;
    if (!symbols)
        return 0;
    const Elf64_Shdr *strings = &o.sections[symbols->sh_link];
    if (!is_range_inside(&o, strings->sh_offset, strings->sh_size) || strings->sh_size == 0 ||
        o.bytes[strings->sh_offset + strings->sh_size - 1] != '\0')
        return 0;
    size_t total = 0;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, o.bytes + symbols->sh_offset + at, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF ||
            symbol.st_name >= strings->sh_size)
            continue;
        const char *name = o.bytes + strings->sh_offset + symbol.st_name;
        if (is_numbalite_symbol(name) || (!is_local_to_function(name, kernel) &&
                                          is_local_to_other_functions(name, others, count)))
            continue;
        total += symbol.st_size;
    }
    return total;
}

void nl_sim_elf_extent(const void *bytes, size_t size, uintptr_t *low, uintptr_t *high,
                       uintptr_t *locals_size) {
    object o;
    *low = *high = *locals_size = 0;
    if (!open_object(&o, bytes, size))
        return;
    const Elf64_Ehdr *header = bytes;
    if (header->e_phentsize != sizeof(Elf64_Phdr) ||
        !is_range_inside(&o, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)))
        return;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr part;
        memcpy(&part, o.bytes + header->e_phoff + i * sizeof part, sizeof part);
        if (part.p_type == PT_TLS)
            *locals_size = part.p_memsz;
        if (part.p_type == PT_LOAD && part.p_vaddr + part.p_memsz > *high)
            *high = part.p_vaddr + part.p_memsz;
    }
}

const unsigned char *nl_sim_elf_section(const void *bytes, size_t size, const char *name,
                                        size_t *length) {
    object o;
    if (!open_object(&o, bytes, size) || !o.sections)
        return NULL;
    const Elf64_Ehdr *header = bytes;
    if (header->e_shstrndx >= o.section_count)
        return NULL;
    const Elf64_Shdr *names = &o.sections[header->e_shstrndx];
    if (!is_range_inside(&o, names->sh_offset, names->sh_size))
        return NULL;
    for (size_t i = 0; i < o.section_count; i++) {
        const Elf64_Shdr *s = &o.sections[i];
        size_t left = s->sh_name < names->sh_size ? names->sh_size - s->sh_name : 0;
        const char *text = o.bytes + names->sh_offset + s->sh_name;
        if (strlen(name) >= left || memcmp(text, name, strlen(name) + 1) != 0)
            continue;
        if (s->sh_type == SHT_NOBITS || (s->sh_flags & SHF_COMPRESSED) ||
            !is_range_inside(&o, s->sh_offset, s->sh_size))
            return NULL;
        *length = s->sh_size;
        return (const unsigned char *)o.bytes + s->sh_offset;
    }
    return NULL;
}

/* Returns whether the symbol is a variable of the user's code. */
static int is_variable(const object *o, const Elf64_Sym *symbol, const Elf64_Shdr *strings,
                       int constants, nl_sim_elf_variable *v) {
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size == 0 ||
        symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= o->section_count ||
        symbol->st_name >= strings->sh_size)
        return 0;
    const Elf64_Shdr *home = &o->sections[symbol->st_shndx];
    uint64_t inside = symbol->st_value - home->sh_addr;
    if ((!constants && !(home->sh_flags & SHF_WRITE)) || (home->sh_flags & SHF_TLS) ||
        inside > home->sh_size || symbol->st_size > home->sh_size - inside)
        return 0;
    *v = (nl_sim_elf_variable){.name = o->bytes + strings->sh_offset + symbol->st_name,
                               .address = symbol->st_value,
                               .size = symbol->st_size};
    if (is_numbalite_symbol(v->name) || v->name[0] == '\0' || v->name[0] == '.')
        return 0;
    if (home->sh_type != SHT_NOBITS && is_range_inside(o, home->sh_offset, home->sh_size))
        v->initial = (const unsigned char *)o->bytes + home->sh_offset + inside;
    return 1;
}

static void visit_variables(const void *bytes, size_t size, int constants,
                            void (*visit)(void *data, const nl_sim_elf_variable *variable),
                            void *data) {
    object o;
    const Elf64_Shdr *symbols = open_object(&o, bytes, size) ? find_symbols(&o) : NULL;
    if (!symbols)
        return;
    const Elf64_Shdr *strings = &o.sections[symbols->sh_link];
    if (!is_range_inside(&o, strings->sh_offset, strings->sh_size) || strings->sh_size == 0 ||
        o.bytes[strings->sh_offset + strings->sh_size - 1] != '\0')
        return;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        nl_sim_elf_variable v;
        memcpy(&symbol, o.bytes + symbols->sh_offset + at, sizeof symbol);
        if (is_variable(&o, &symbol, strings, constants, &v))
            visit(data, &v);
    }
}

void nl_sim_elf_visit_variables(const void *bytes, size_t size,
                                void (*visit)(void *data, const nl_sim_elf_variable *variable),
                                void *data) {
    visit_variables(bytes, size, 0, visit, data);
}

/* State of a search for the last variable that begins at or below an address. */
typedef struct nearest {
    uintptr_t address;
    nl_sim_elf_variable *variable;
    int found;
} nearest;

static void update_nearest_variable(void *data, const nl_sim_elf_variable *v) {
    nearest *n = data;
    if (v->address > n->address || n->address - v->address >= v->size + BEHIND ||
        (n->found && v->address < n->variable->address))
        return;
    *n->variable = *v;
    n->found = 1;
}

int nl_sim_elf_variable_at(const void *bytes, size_t size, uintptr_t address,
                           nl_sim_elf_variable *variable) {
    nearest n = {.address = address, .variable = variable};
    visit_variables(bytes, size, 1, update_nearest_variable, &n);
    return n.found;
}

typedef struct wanted {
    const char *name;
    size_t size;
    uintptr_t *address;
    int found;
} wanted;

static void match_variable(void *data, const nl_sim_elf_variable *v) {
    wanted *w = data;
    if (!w->found && v->size == w->size && strcmp(v->name, w->name) == 0) {
        *w->address = v->address;
        w->found = 1;
    }
}

int nl_sim_elf_find_variable(const void *bytes, size_t size, const char *name, size_t variable_size,
                             uintptr_t *address) {
    wanted w = {name, variable_size, address, 0};
    nl_sim_elf_visit_variables(bytes, size, match_variable, &w);
    return w.found;
}
