/* sim/debuginfo/dwarf: reads .debug_info once from the beginning to the end. Each entry's
 * abbreviation lists its attributes. Only entries of inlined calls (DW_TAG_inlined_subroutine) are
 * evaluated: their addresses and the position of the call. Entries of nested calls follow their
 * parents, so the inlined calls that contain the address are found outermost first. */
#include "sim/debuginfo/dwarf.h"

#include <string.h>
#include "sim/debuginfo/elf.h"

enum {
    INLINED = 0x1d,
    LOW = 0x11,
    HIGH = 0x12,
    RANGES = 0x55,
    CALL_COLUMN = 0x57,
    CALL_FILE,
    CALL_LINE
};
enum { MAX_ATTRIBUTES = 64, MAX_ABBREVIATIONS = 4096 };

uint64_t nl_sim_dwarf_read(nl_sim_reader *r, size_t size) {
    uint64_t value = 0;
    if (size > sizeof value || (size_t)(r->end - r->at) < size) {
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, size);
    r->at += size;
    return value;
}

uint64_t nl_sim_dwarf_read_uleb(nl_sim_reader *r) {
    uint64_t value = 0, byte = 128;
    for (unsigned shift = 0; shift < 64 && (byte & 128) && r->at < r->end; shift += 7) {
        byte = nl_sim_dwarf_read(r, 1);
        value |= (byte & 127) << shift;
    }
    return value;
}

int64_t nl_sim_dwarf_read_sleb(nl_sim_reader *r) {
    uint64_t value = 0, byte = 128;
    unsigned shift = 0;
    for (; shift < 64 && (byte & 128) && r->at < r->end; shift += 7) {
        byte = nl_sim_dwarf_read(r, 1);
        value |= (byte & 127) << shift;
    }
    if (shift < 64 && (byte & 64))
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

const char *nl_sim_dwarf_read_string(nl_sim_reader *r) {
    const char *text = (const char *)r->at;
    const unsigned char *zero = memchr(r->at, 0, (size_t)(r->end - r->at));
    r->at = zero ? zero + 1 : r->end;
    return zero ? text : "";
}

static void skip_bytes(nl_sim_reader *r, uint64_t size) {
    r->at = size < (uint64_t)(r->end - r->at) ? r->at + size : r->end;
}

/* One unit of .debug_info. */
typedef struct unit {
    nl_sim_reader abbreviations, ranges;
    size_t address_size, offset_size;
    unsigned version;
    uint64_t base; /* base of its ranges */
    /* indexed by abbreviation code: the data after the code */
    const unsigned char *entries[MAX_ABBREVIATIONS];
} unit;

/* Reads an attribute's value; returns 0 for forms that are not numbers. */
static uint64_t read_form(nl_sim_reader *r, const unit *u, uint64_t form) {
    switch (form) {
    case 0x01: /* addr */
        return nl_sim_dwarf_read(r, u->address_size);
    case 0x0b: /* data1, ref1, flag */
    case 0x11:
    case 0x0c:
        return nl_sim_dwarf_read(r, 1);
    case 0x05: /* data2, ref2 */
    case 0x12:
        return nl_sim_dwarf_read(r, 2);
    case 0x06: /* data4, ref4 */
    case 0x13:
        return nl_sim_dwarf_read(r, 4);
    case 0x07: /* data8, ref8, ref_sig8 */
    case 0x14:
    case 0x20:
        return nl_sim_dwarf_read(r, 8);
    case 0x0e: /* strp, sec_offset */
    case 0x17:
        return nl_sim_dwarf_read(r, u->offset_size);
    case 0x10: /* ref_addr */
        return nl_sim_dwarf_read(r, u->version < 3 ? u->address_size : u->offset_size);
    case 0x0d: /* sdata */
        return (uint64_t)nl_sim_dwarf_read_sleb(r);
    case 0x0f: /* udata, ref_udata */
    case 0x15:
        return nl_sim_dwarf_read_uleb(r);
    case 0x08: /* string */
        (void)nl_sim_dwarf_read_string(r);
        return 0;
    case 0x0a: /* block1, 2, 4 */
        skip_bytes(r, nl_sim_dwarf_read(r, 1));
        return 0;
    case 0x03:
        skip_bytes(r, nl_sim_dwarf_read(r, 2));
        return 0;
    case 0x04:
        skip_bytes(r, nl_sim_dwarf_read(r, 4));
        return 0;
    case 0x09: /* block, exprloc */
    case 0x18:
        skip_bytes(r, nl_sim_dwarf_read_uleb(r));
        return 0;
    case 0x16: /* indirect */
        return read_form(r, u, nl_sim_dwarf_read_uleb(r));
    case 0x19: /* flag_present */
        return 1;
    default: /* the size of an unknown form is unknown, so the reader stops */
        r->at = r->end;
        return 0;
    }
}

static void read_abbreviations(unit *u) {
    nl_sim_reader r = u->abbreviations;
    memset(u->entries, 0, sizeof u->entries);
    for (uint64_t code; (code = nl_sim_dwarf_read_uleb(&r)) != 0;) {
        if (code < MAX_ABBREVIATIONS)
            u->entries[code] = r.at;
        (void)nl_sim_dwarf_read_uleb(&r); /* tag */
        (void)nl_sim_dwarf_read(&r, 1);   /* has children */
        uint64_t attribute, form;
        do {
            attribute = nl_sim_dwarf_read_uleb(&r);
            form = nl_sim_dwarf_read_uleb(&r);
        } while (attribute || form);
    }
}

/* Returns whether the address is in a list of ranges. */
static int is_in_ranges(const unit *u, uint64_t offset, uint64_t address) {
    nl_sim_reader r = u->ranges;
    uint64_t base = u->base, none = u->address_size == 8 ? UINT64_MAX : UINT32_MAX;
    skip_bytes(&r, offset);
    while (r.at < r.end) {
        uint64_t low = nl_sim_dwarf_read(&r, u->address_size),
                 high = nl_sim_dwarf_read(&r, u->address_size);
        if (low == 0 && high == 0)
            return 0;
        if (low == none)
            base = high;
        else if (address - (base + low) < high - low)
            return 1;
    }
    return 0;
}

typedef struct entry {
    uint64_t tag, low, high, ranges;
    int has_ranges, high_is_size;
    nl_sim_call call;
} entry;

static void read_attributes(nl_sim_reader *r, const unit *u, nl_sim_reader *abbreviation,
                            entry *e) {
    for (;;) {
        uint64_t name = nl_sim_dwarf_read_uleb(abbreviation),
                 form = nl_sim_dwarf_read_uleb(abbreviation);
        if (!name && !form)
            return;
        uint64_t value = read_form(r, u, form);
        if (name == LOW) {
            e->low = value;
        } else if (name == HIGH) {
            e->high = value;
            e->high_is_size = form != 0x01;
        } else if (name == RANGES) {
            e->ranges = value;
            e->has_ranges = 1;
        } else if (name == CALL_FILE) {
            e->call.file = value;
        } else if (name == CALL_LINE) {
            e->call.line = value;
        } else if (name == CALL_COLUMN) {
            e->call.column = value;
        }
    }
}

static int contains_address(const unit *u, const entry *e, uint64_t address) {
    if (e->has_ranges)
        return is_in_ranges(u, e->ranges, address);
    uint64_t size = e->high_is_size ? e->high : e->high - e->low;
    return e->high && address - e->low < size;
}

static unsigned walk_entries(nl_sim_reader *r, unit *u, uint64_t address, nl_sim_call *calls,
                             unsigned most) {
    unsigned count = 0;
    int first = 1;
    while (r->at < r->end) {
        uint64_t code = nl_sim_dwarf_read_uleb(r);
        if (code == 0)
            continue; /* a code of 0 ends the children of an entry */
        if (code >= MAX_ABBREVIATIONS || !u->entries[code])
            return count;
        nl_sim_reader abbreviation = {u->entries[code], u->abbreviations.end};
        entry e = {.tag = nl_sim_dwarf_read_uleb(&abbreviation)};
        (void)nl_sim_dwarf_read(&abbreviation, 1);
        read_attributes(r, u, &abbreviation, &e);
        if (first) /* the unit itself */
            u->base = e.low;
        first = 0;
        if (e.tag == INLINED && count < most && contains_address(u, &e, address))
            calls[count++] = e.call;
    }
    return count;
}

static nl_sim_reader read_section(const void *image, size_t size, const char *name) {
    size_t length = 0;
    const unsigned char *bytes = nl_sim_elf_section(image, size, name, &length);
    return (nl_sim_reader){bytes, bytes + length};
}

unsigned nl_sim_dwarf_inlined_calls(const void *image, size_t size, uint64_t address,
                                    nl_sim_call *calls, unsigned most) {
    nl_sim_reader info = read_section(image, size, ".debug_info");
    nl_sim_reader abbreviations = read_section(image, size, ".debug_abbrev");
    unit u;
    u.ranges = read_section(image, size, ".debug_ranges");
    while (info.at < info.end && abbreviations.at) {
        uint64_t length = nl_sim_dwarf_read(&info, 4);
        u.offset_size = length == UINT32_MAX ? 8 : 4;
        if (u.offset_size == 8)
            length = nl_sim_dwarf_read(&info, 8);
        nl_sim_reader r = info;
        skip_bytes(&info, length);
        r.end = info.at;
        u.version = (unsigned)nl_sim_dwarf_read(&r, 2);
        u.abbreviations = abbreviations;
        skip_bytes(&u.abbreviations, nl_sim_dwarf_read(&r, u.offset_size));
        u.address_size = (size_t)nl_sim_dwarf_read(&r, 1);
        if (u.version < 2 || u.version > 4 || u.address_size > 8)
            continue;
        read_abbreviations(&u);
        unsigned count = walk_entries(&r, &u, address, calls, most);
        if (count)
            return count;
    }
    return 0;
}
