/* base/divide: decodes `div` and `idiv` instructions (F6 and F7 /6 and /7, with prefixes, ModRM,
 * SIB and displacement) to find the operand size, the divisor and the instruction's length. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "base/divide.h"

#if defined(__x86_64__) && defined(__linux__)
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

typedef struct division {
    int bytes;        /* operand size: 1, 2, 4 or 8 */
    unsigned length;  /* of the instruction */
    uint64_t divisor; /* zero-extended */
} division;

/* Registers in the processor's numbering. */
static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};

static uint64_t load_integer(uint64_t address, int bytes) {
    uint64_t value = 0;
    memcpy(&value, (const void *)(uintptr_t)address, (size_t)bytes);
    return value;
}

static uint64_t truncate_to_bytes(uint64_t value, int bytes) {
    return bytes == 8 ? value : value & ((UINT64_C(1) << bytes * 8) - 1);
}

/* Skips the prefixes of an instruction: operand size, segment and REX. The prefixes FS and GS are
 * not supported, because they change the address of the operand. */
static const uint8_t *skip_instruction_prefixes(const uint8_t *p, int *word, unsigned *rex) {
    for (;; p++) {
        if (*p == 0x66)
            *word = 1;
        else if (*p != 0x2e && *p != 0x3e && *p != 0x26 && *p != 0x36 && *p != 0xf2 && *p != 0xf3)
            break;
    }
    *rex = 0;
    if ((*p & 0xf0) == 0x40)
        *rex = *p++;
    return p;
}

static int decode_division(const greg_t *gregs, division *d) {
    const uint8_t *start = (const uint8_t *)(uintptr_t)gregs[REG_RIP];
    int word = 0;
    unsigned rex;
    const uint8_t *p = skip_instruction_prefixes(start, &word, &rex);
    if (*p != 0xf6 && *p != 0xf7)
        return 0;
    d->bytes = *p == 0xf6 ? 1 : rex & 8 ? 8 : word ? 2 : 4;
    unsigned modrm = p[1], mode = modrm >> 6, operation = modrm >> 3 & 7, rm = modrm & 7;
    p += 2;
    if (operation != 6 && operation != 7)
        return 0;
    if (mode == 3) {
        unsigned number = rm | (rex & 1) << 3;
        uint64_t value = (uint64_t)gregs[registers[number]];
        if (d->bytes == 1 && !rex && number >= 4) /* ah, ch, dh, bh */
            value = (uint64_t)gregs[registers[number - 4]] >> 8;
        d->divisor = truncate_to_bytes(value, d->bytes);
        d->length = (unsigned)(p - start);
        return 1;
    }
    uint64_t address = 0;
    int displacement = mode == 1 ? 1 : mode == 2 ? 4 : 0, relative = 0;
    if (rm == 4) {
        unsigned sib = *p++, index = (sib >> 3 & 7) | (rex & 2) << 2, base = sib & 7;
        if (index != 4)
            address = (uint64_t)gregs[registers[index]] << (sib >> 6);
        if (base == 5 && mode == 0)
            displacement = 4;
        else
            address += (uint64_t)gregs[registers[base | (rex & 1) << 3]];
    } else if (rm == 5 && mode == 0) {
        displacement = 4;
        relative = 1;
    } else {
        address = (uint64_t)gregs[registers[rm | (rex & 1) << 3]];
    }
    if (displacement == 1)
        address += (uint64_t)(int64_t)(int8_t)*p;
    else if (displacement == 4)
        address += (uint64_t)(int64_t)(int32_t)load_integer((uint64_t)(uintptr_t)p, 4);
    p += displacement;
    if (relative)
        address += (uint64_t)(uintptr_t)p;
    d->divisor = load_integer(address, d->bytes);
    d->length = (unsigned)(p - start);
    return 1;
}

/* Writes the low part of a register as the processor does: a 32-bit write clears the upper half, 8-
 * and 16-bit writes keep the other bits. */
static void write_register(greg_t *slot, uint64_t value, int bytes) {
    uint64_t old = (uint64_t)*slot;
    if (bytes == 2)
        value = (old & ~UINT64_C(0xffff)) | (value & 0xffff);
    else if (bytes == 4)
        value &= 0xffffffff;
    *slot = (greg_t)value;
}

int nl_divide_resume(void *context) {
    greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
    division d;
    if (!decode_division(gregs, &d))
        return 0;
    uint64_t dividend = truncate_to_bytes((uint64_t)gregs[REG_RAX], d.bytes);
    uint64_t quotient = d.divisor ? dividend : ~UINT64_C(0);
    uint64_t remainder = d.divisor ? 0 : dividend;
    if (d.bytes == 1) /* al and ah */
        write_register(&gregs[REG_RAX], (quotient & 0xff) | (remainder & 0xff) << 8, 2);
    if (d.bytes > 1) {
        write_register(&gregs[REG_RAX], quotient, d.bytes);
        write_register(&gregs[REG_RDX], remainder, d.bytes);
    }
    gregs[REG_RIP] += d.length;
    return d.divisor ? 2 : 1;
}

#else

int nl_divide_resume(void *context) {
    (void)context;
    return 0;
}

#endif
