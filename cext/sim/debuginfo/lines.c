/* sim/debuginfo/lines: reads the line table (.debug_line of DWARF 2 to 4, which instrumented images
 * use) only until the address is found.
 *
 * Code of numbalite's headers that was inlined into the user's code is reported at the call in the
 * user's source (sim/debuginfo/dwarf.h). */
#include "sim/debuginfo/lines.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/lock.h"
#include "sim/debuginfo/dwarf.h"
#include "sim/debuginfo/elf.h"

enum { MAX_FOLDERS = 256, MAX_FILES = 512, MAX_CALLS = 32, TEXT = 512, KEPT = 64 };

/* The header of a unit's line table. */
typedef struct unit {
    unsigned min_length, opcode_base, line_range;
    int line_base;
    unsigned char lengths[256]; /* number of operands of each standard opcode */
    const char *folders[MAX_FOLDERS];
    struct {
        const char *folder, *name;
    } files[MAX_FILES];
    unsigned file_count;
} unit;

typedef struct row {
    uint64_t address;
    uint64_t file;
    uint64_t line;
    uint64_t column;
} row;

static void read_header(nl_sim_reader *r, unsigned version, unit *u) {
    const char *text;
    unsigned folders = 1;
    u->min_length = (unsigned)nl_sim_dwarf_read(r, 1);
    if (version >= 4)
        (void)nl_sim_dwarf_read(r, 1); /* maximum operations per instruction */
    (void)nl_sim_dwarf_read(r, 1);     /* default of is_stmt */
    u->line_base = (int8_t)nl_sim_dwarf_read(r, 1);
    u->line_range = (unsigned)nl_sim_dwarf_read(r, 1);
    u->opcode_base = (unsigned)nl_sim_dwarf_read(r, 1);
    for (unsigned i = 1; i < u->opcode_base; i++)
        u->lengths[i] = (unsigned char)nl_sim_dwarf_read(r, 1);
    u->folders[0] = "";
    while (*(text = nl_sim_dwarf_read_string(r))) {
        if (folders < MAX_FOLDERS)
            u->folders[folders++] = text;
    }
    u->file_count = 0;
    while (*(text = nl_sim_dwarf_read_string(r))) {
        uint64_t folder = nl_sim_dwarf_read_uleb(r);
        (void)nl_sim_dwarf_read_uleb(r);
        (void)nl_sim_dwarf_read_uleb(r);
        if (u->file_count + 1 == MAX_FILES)
            continue;
        u->files[++u->file_count].name = text;
        u->files[u->file_count].folder = folder < folders ? u->folders[folder] : "";
    }
}

int nl_sim_lines_is_toolkit_file(const char *path) {
    static const char *const parts[] = {
        "/prelude-",  "/cccl/",         "/cub/",         "/thrust/",  "/libcudacxx/", "/cuda/std/",
        "/nvidia/cu", "/cuda/include/", "/usr/include/", "/usr/lib/", "/cutlass/",    "/cute/"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strstr(path, parts[i]))
            return 1;
    }
    return 0;
}

const char *nl_sim_lines_header(const char *path) {
    static const char *const roots[] = {"/include/cccl/", "/include/", "/prelude-"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        const char *root = strstr(path, roots[i]);
        if (!root)
            continue;
        root += strlen(roots[i]);
        const char *folder = strchr(root, '/');
        return i < 2 || !folder ? root : folder + 1;
    }
    return path;
}

int nl_sim_lines_is_numbalite_file(const char *path) {
    return strstr(path, "cuda_src") || strncmp(path, "numbalite/", 10) == 0;
}

/* Returns whether the file is neither a header of numbalite nor generated text. */
static int is_user_file(const unit *u, uint64_t file, uint64_t line) {
    if (!line || !file || file > u->file_count)
        return 0;
    const char *folder = u->files[file].folder, *name = u->files[file].name;
    return strncmp(folder, "numbalite", 9) != 0 && !nl_sim_lines_is_numbalite_file(folder) &&
           !nl_sim_lines_is_numbalite_file(name);
}

static int is_header(const unit *u, uint64_t file) {
    return nl_sim_lines_is_toolkit_file(u->files[file].name) ||
           (u->files[file].name[0] != '/' && nl_sim_lines_is_toolkit_file(u->files[file].folder));
}

/* The state of a search in one unit's line program. */
typedef struct search {
    uint64_t wanted;
    /* the last row of the sequence, and the last row whose line is in the user's source */
    row last, users;
    int any; /* `last` is valid */
} search;

/* Processes a row, which ends the address range of the previous row. Returns 1 if that range
 * contains the address. */
static int next_row(search *s, const unit *u, const row *r) {
    if (s->any && s->last.address <= s->wanted && s->wanted < r->address)
        return 1;
    s->any = 1;
    s->last = *r;
    if (is_user_file(u, r->file, r->line))
        s->users = *r;
    return 0;
}

static void begin_line_sequence(search *s, row *r) {
    *r = (row){.address = 0, .file = 1, .line = 1};
    s->any = 0;
    s->users = (row){0, 0, 0, 0};
}

enum {
    COPY = 1,
    ADVANCE_PC,
    ADVANCE_LINE,
    SET_FILE,
    SET_COLUMN,
    CONST_ADD_PC = 8,
    FIXED_ADVANCE_PC,
    END_SEQUENCE = 1,
    SET_ADDRESS,
};

/* Executes an extended opcode. Returns 1 if the search is over. */
static int execute_extended_opcode(nl_sim_reader *r, search *s, const unit *u, row *now) {
    uint64_t length = nl_sim_dwarf_read_uleb(r);
    if (!length || length > (uint64_t)(r->end - r->at))
        return 0;
    const unsigned char *after = r->at + length;
    int found = 0;
    switch (nl_sim_dwarf_read(r, 1)) {
    case END_SEQUENCE:
        found = next_row(s, u, now);
        begin_line_sequence(s, now);
        break;
    case SET_ADDRESS:
        now->address = nl_sim_dwarf_read(r, length - 1 <= 8 ? (size_t)length - 1 : 0);
        break;
    default:
        break;
    }
    r->at = after;
    return found;
}

static int execute_standard_opcode(nl_sim_reader *r, search *s, const unit *u, row *now,
                                   unsigned operation) {
    switch (operation) {
    case COPY:
        return next_row(s, u, now);
    case ADVANCE_PC:
        now->address += nl_sim_dwarf_read_uleb(r) * u->min_length;
        break;
    case ADVANCE_LINE:
        now->line += (uint64_t)nl_sim_dwarf_read_sleb(r);
        break;
    case SET_FILE:
        now->file = nl_sim_dwarf_read_uleb(r);
        break;
    case SET_COLUMN:
        now->column = nl_sim_dwarf_read_uleb(r);
        break;
    case CONST_ADD_PC:
        now->address += (255 - u->opcode_base) / u->line_range * u->min_length;
        break;
    case FIXED_ADVANCE_PC:
        now->address += nl_sim_dwarf_read(r, 2);
        break;
    default: /* ignored opcodes */
        for (unsigned i = 0; i < u->lengths[operation]; i++)
            (void)nl_sim_dwarf_read_uleb(r);
        break;
    }
    return 0;
}

static int execute_line_program(nl_sim_reader *r, search *s, const unit *u) {
    row now;
    begin_line_sequence(s, &now);
    while (r->at < r->end) {
        unsigned operation = (unsigned)nl_sim_dwarf_read(r, 1);
        int found;
        if (operation >= u->opcode_base) {
            unsigned special = operation - u->opcode_base;
            now.address += special / u->line_range * u->min_length;
            now.line += (uint64_t)(int64_t)(u->line_base + (int)(special % u->line_range));
            found = next_row(s, u, &now);
        } else {
            found = operation ? execute_standard_opcode(r, s, u, &now, operation)
                              : execute_extended_opcode(r, s, u, &now);
        }
        if (found)
            return 1;
    }
    return 0;
}

/* Searches one unit of the section, and moves `r` past the unit. */
static int search_unit(nl_sim_reader *r, uint64_t wanted, unit *u, row *found, row *before) {
    uint64_t size = nl_sim_dwarf_read(r, 4);
    size_t word = size == 0xffffffff ? 8 : 4;
    if (word == 8)
        size = nl_sim_dwarf_read(r, 8);
    if (size > (uint64_t)(r->end - r->at))
        size = (uint64_t)(r->end - r->at);
    nl_sim_reader in = {r->at, r->at + size};
    r->at = in.end;
    unsigned version = (unsigned)nl_sim_dwarf_read(&in, 2);
    uint64_t header = nl_sim_dwarf_read(&in, word);
    if (version < 2 || version > 4 || header > (uint64_t)(in.end - in.at))
        return 0;
    nl_sim_reader program = {in.at + header, in.end};
    read_header(&in, version, u);
    if (!u->line_range)
        return 0;
    search s = {.wanted = wanted};
    if (!execute_line_program(&program, &s, u))
        return 0;
    *found = s.last;
    *before = s.users;
    return 1;
}

/* Copies a file name to memory that is never freed: reports may use the name longer than the module
 * exists. */
static const char *keep_file_name(const char *folder, const char *name) {
    static nl_mutex lock = NL_MUTEX_INIT;
    static char kept[KEPT][TEXT];
    static unsigned count;
    char text[TEXT];
    int plain = !*folder || *name == '/' || *name == '<';
    snprintf(text, sizeof text, "%s%s%s", plain ? "" : folder, plain ? "" : "/", name);
    nl_mutex_lock(&lock);
    unsigned i = 0;
    while (i < count && strcmp(kept[i], text) != 0)
        i++;
    if (i == count) {
        i = count < KEPT ? count++ : KEPT - 1;
        memcpy(kept[i], text, sizeof text);
    }
    nl_mutex_unlock(&lock);
    return kept[i];
}

const char *nl_sim_lines_keep_file_name(const char *file) {
    return keep_file_name("", file);
}

/* Chooses the innermost position (that of the row, or of an inlined call) that is not in a header
 * of numbalite. If the innermost position is in a header of CUDA's toolkit, also finds the
 * innermost call of the header in the user's source (line 0 if there is none). */
static int choose_user_position(const unit *u, const row *found, const row *before,
                                const nl_sim_call *calls, unsigned count, nl_sim_call *place,
                                nl_sim_call *call, int *exact) {
    *exact = 1;
    *call = (nl_sim_call){0, 0, 0};
    *place = (nl_sim_call){found->file, found->line, found->column};
    while (count && !is_user_file(u, place->file, place->line))
        *place = calls[--count];
    if (is_user_file(u, place->file, place->line)) {
        if (is_header(u, place->file)) {
            while (count && (!is_user_file(u, calls[count - 1].file, calls[count - 1].line) ||
                             is_header(u, calls[count - 1].file)))
                count--;
            if (count)
                *call = calls[count - 1];
        }
        return 1;
    }
    /* The compiler has merged code from several positions, which has no line: uses the nearest line
     * before that code. */
    *place = (nl_sim_call){before->file, before->line, 0};
    *exact = 0;
    return place->line != 0;
}

static nl_sim_site make_site(const unit *u, const nl_sim_call *place) {
    return (nl_sim_site){
        .file = keep_file_name(u->files[place->file].folder, u->files[place->file].name),
        .line = (int)place->line};
}

/* `site` is the innermost position that is not in a header of numbalite; `call` is the call of the
 * toolkit's header in the user's source; its file is NULL if `site` is in the user's source. */
static int find_position(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                         nl_sim_site *call, int *exact, unsigned *column) {
    size_t length;
    row found, before;
    unit u;
    nl_sim_call calls[MAX_CALLS], place, caller;
    const unsigned char *section =
        nl_sim_elf_section(image->bytes, image->size, ".debug_line", &length);
    if (!section || (uintptr_t)pc - image->low >= image->high - image->low)
        return 0;
    /* pc - 1 is an address within the call instruction */
    uint64_t wanted = (uintptr_t)pc - image->low - 1;
    for (nl_sim_reader r = {section, section + length}; r.at < r.end;) {
        if (!search_unit(&r, wanted, &u, &found, &before))
            continue;
        unsigned count =
            nl_sim_dwarf_inlined_calls(image->bytes, image->size, wanted, calls, MAX_CALLS);
        if (!choose_user_position(&u, &found, &before, calls, count, &place, &caller, exact))
            return 0;
        *site = make_site(&u, &place);
        *call = caller.line ? make_site(&u, &caller) : (nl_sim_site){.file = NULL};
        *column = (unsigned)place.column;
        return 1;
    }
    return 0;
}

int nl_sim_lines_find(const nl_sim_object *image, const void *pc, nl_sim_site *site) {
    nl_sim_site header;
    return nl_sim_lines_find_call(image, pc, site, &header);
}

int nl_sim_lines_find_call(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                           nl_sim_site *header) {
    int exact;
    unsigned column;
    nl_sim_site inner, call;
    *header = (nl_sim_site){.file = NULL};
    if (!find_position(image, pc, &inner, &call, &exact, &column))
        return 0;
    *site = call.file ? call : inner;
    if (call.file)
        *header = inner;
    return 1;
}

int nl_sim_lines_find_near(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                           int *exact) {
    unsigned column;
    nl_sim_site inner, call;
    if (!find_position(image, pc, &inner, &call, exact, &column))
        return 0;
    *site = call.file ? call : inner;
    return 1;
}

int nl_sim_lines_find_column(const nl_sim_object *image, const void *pc, nl_sim_site *site,
                             unsigned *column) {
    int exact;
    nl_sim_site call;
    return find_position(image, pc, site, &call, &exact, column);
}
