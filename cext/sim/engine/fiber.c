/* sim/engine/fiber: implements the switch between fibers.
 *
 * On x86-64 and aarch64, the switch saves the registers that a function must preserve, exchanges
 * the stack pointer, and restores the registers. On x86-64 the switch is inlined (fiber.h), except
 * with a sanitizer. This file contains the functions that are not inlined: nl_sim_fiber_swap (the
 * switch as a function), nl_sim_fiber_load (the second half of the switch, for a fiber that does
 * not continue) and nl_sim_fiber_start, where a new fiber begins: the new fiber's stack is laid out
 * as if the fiber had been suspended in nl_sim_fiber_start. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#ifdef NL_SIM_ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef NL_SIM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* Announces a switch of stacks to the sanitizers; empty in a normal build. Always inlined: no
 * function may return after the sanitizer's call and before the switch. */

static inline __attribute__((always_inline)) void announce_switch(nl_sim_fiber *from,
                                                                  nl_sim_fiber *to) {
#ifdef NL_SIM_ASAN
    __sanitizer_start_switch_fiber(from ? &from->fake_stack : NULL, to->bottom, to->size);
#endif
#ifdef NL_SIM_TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    (void)from, (void)to;
}

static inline __attribute__((always_inline)) void announce_arrival(nl_sim_fiber *self) {
#ifdef NL_SIM_ASAN
    __sanitizer_finish_switch_fiber(self ? self->fake_stack : NULL, NULL, NULL);
#endif
    (void)self;
}

static void announce_stack_to_sanitizer(nl_sim_fiber *fiber, nl_sim_fiber_stack *stack) {
#ifdef NL_SIM_ASAN
    /* the frames of an abandoned fiber on this stack are still poisoned */
    __asan_unpoison_memory_region(stack->low, stack->size);
    fiber->fake_stack = NULL;
    fiber->bottom = stack->low;
    fiber->size = stack->size;
#endif
#ifdef NL_SIM_TSAN
    /* creating a TSan fiber is slow, so it is reused; but each use leaves frames on its call stack,
     * so it is replaced from time to time */
    if (stack->tsan && ++stack->uses % 512 == 0) {
        __tsan_destroy_fiber(stack->tsan);
        stack->tsan = NULL;
    }
    if (!stack->tsan)
        stack->tsan = __tsan_create_fiber(0);
    fiber->tsan = stack->tsan;
#endif
    (void)fiber, (void)stack;
}

void nl_sim_fiber_adopt_thread(nl_sim_fiber *fiber) {
    memset(fiber, 0, sizeof *fiber);
#ifdef NL_SIM_ASAN
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &size);
        pthread_attr_destroy(&attributes);
    }
    fiber->bottom = low;
    fiber->size = size;
#endif
#ifdef NL_SIM_TSAN
    fiber->tsan = __tsan_get_current_fiber();
#endif
}

void nl_sim_fiber_arrived(void);
void nl_sim_fiber_arrived(void) {
    announce_arrival(NULL);
}

#ifndef NL_SIM_UCONTEXT

__attribute__((visibility("hidden"))) void nl_sim_fiber_swap(void **save, void *load);
__attribute__((visibility("hidden"), noreturn)) void nl_sim_fiber_load(void *unused, void *load);
__attribute__((visibility("hidden"))) void nl_sim_fiber_start(void);

#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl nl_sim_fiber_swap\n"
        ".hidden nl_sim_fiber_swap\n"
        ".type nl_sim_fiber_swap, @function\n"
        "nl_sim_fiber_swap:\n" /* nl_sim_fiber_swap is nl_sim_fiber_switch as a function */
        "    subq $32, %rsp\n"
        "    movq %r12, (%rsp)\n"
        "    movq %r13, 8(%rsp)\n"
        "    movq %r14, 16(%rsp)\n"
        "    movq %r15, 24(%rsp)\n"
        "    leaq 1f(%rip), %rax\n"
        "    pushq %rax\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    movq %rsp, (%rdi)\n"
        ".globl nl_sim_fiber_load\n"
        ".hidden nl_sim_fiber_load\n"
        ".type nl_sim_fiber_load, @function\n"
        "nl_sim_fiber_load:\n"
        "    movq %rsi, %rsp\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rax\n"
        "    jmpq *%rax\n"
        "1:  movq (%rsp), %r12\n"
        "    movq 8(%rsp), %r13\n"
        "    movq 16(%rsp), %r14\n"
        "    movq 24(%rsp), %r15\n"
        "    addq $32, %rsp\n"
        "    ret\n"
        ".size nl_sim_fiber_load, .-nl_sim_fiber_load\n"
        ".size nl_sim_fiber_swap, .-nl_sim_fiber_swap\n"
        ".p2align 4\n"
        ".globl nl_sim_fiber_start\n"
        ".hidden nl_sim_fiber_start\n"
        ".type nl_sim_fiber_start, @function\n"
        "nl_sim_fiber_start:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    movq %rbp, %rdi\n"
        "    xorl %ebp, %ebp\n"
        "    jmpq *%rbx\n"
        "    .cfi_endproc\n"
        ".size nl_sim_fiber_start, .-nl_sim_fiber_start\n");

/* The initial contents of a stack: rbx, rbp, the address at which to continue, and a return address
 * of 0, as if the entry function had been called. */
enum { FRAME_WORDS = 4, FRAME_ENTRY = 0, FRAME_ARGUMENT = 1, FRAME_RETURN = 2 };
#else /* aarch64 */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl nl_sim_fiber_swap\n"
        ".hidden nl_sim_fiber_swap\n"
        ".type nl_sim_fiber_swap, %function\n"
        "nl_sim_fiber_swap:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        ".globl nl_sim_fiber_load\n"
        ".hidden nl_sim_fiber_load\n"
        ".type nl_sim_fiber_load, %function\n"
        "nl_sim_fiber_load:\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size nl_sim_fiber_load, .-nl_sim_fiber_load\n"
        ".size nl_sim_fiber_swap, .-nl_sim_fiber_swap\n"
        ".p2align 4\n"
        ".globl nl_sim_fiber_start\n"
        ".hidden nl_sim_fiber_start\n"
        ".type nl_sim_fiber_start, %function\n"
        "nl_sim_fiber_start:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined x30\n"
        "    mov x0, x20\n"
        "    blr x19\n"
        "    brk #0\n"
        "    .cfi_endproc\n"
        ".size nl_sim_fiber_start, .-nl_sim_fiber_start\n");

/* x19 (entry) x20 (argument) ... x29 x30 (return address), d8-d15 */
enum { FRAME_WORDS = 20, FRAME_ARGUMENT = 1, FRAME_ENTRY = 0, FRAME_RETURN = 11 };
#endif

void nl_sim_fiber_lay_out(nl_sim_fiber *fiber, nl_sim_fiber_stack *stack, void (*entry)(void *),
                          void *argument) {
    announce_stack_to_sanitizer(fiber, stack);
    void **frame = (void **)stack->top - FRAME_WORDS;
    memset(frame, 0, FRAME_WORDS * sizeof *frame);
    frame[FRAME_ENTRY] = (void *)(uintptr_t)entry;
    frame[FRAME_ARGUMENT] = argument;
    frame[FRAME_RETURN] = (void *)(uintptr_t)nl_sim_fiber_start;
    fiber->sp = frame;
}

void nl_sim_fiber_call(nl_sim_fiber *from, nl_sim_fiber *to) {
    announce_switch(from, to);
    nl_sim_fiber_swap(&from->sp, to->sp);
    announce_arrival(from);
}

_Noreturn void nl_sim_fiber_abandon(nl_sim_fiber *to) {
    announce_switch(NULL, to);
    nl_sim_fiber_load(NULL, to->sp);
}

/* The switch takes effect when the handler has returned. nl_sim_fiber_abandon then runs on the
 * stack of `to`, below its saved registers, because the stack of the trapping fiber may be full. */
void nl_sim_fiber_escape(void *signal_context, nl_sim_fiber *to) {
    ucontext_t *context = signal_context;
    uintptr_t below = ((uintptr_t)to->sp - 256) & ~(uintptr_t)15;
#if defined(__x86_64__)
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)nl_sim_fiber_abandon;
    context->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)to;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)(below - 8); /* the alignment after a call */
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x400;     /* clears the direction flag */
#else
    context->uc_mcontext.pc = (uintptr_t)nl_sim_fiber_abandon;
    context->uc_mcontext.regs[0] = (uintptr_t)to;
    context->uc_mcontext.sp = below;
#endif
}

#else /* ucontext */

static void start_fiber(unsigned entry_high, unsigned entry_low, unsigned high, unsigned low) {
    uintptr_t entry = (uintptr_t)(((uint64_t)entry_high << 32) | entry_low);
    uintptr_t argument = (uintptr_t)(((uint64_t)high << 32) | low);
    ((void (*)(void *))entry)((void *)argument);
    abort();
}

void nl_sim_fiber_lay_out(nl_sim_fiber *fiber, nl_sim_fiber_stack *stack, void (*entry)(void *),
                          void *argument) {
    announce_stack_to_sanitizer(fiber, stack);
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack->low;
    fiber->context.uc_stack.ss_size = (size_t)(stack->top - stack->low);
    fiber->context.uc_link = NULL;
    uint64_t e = (uintptr_t)entry, a = (uintptr_t)argument;
    makecontext(&fiber->context, (void (*)(void))start_fiber, 4, (unsigned)(e >> 32), (unsigned)e,
                (unsigned)(a >> 32), (unsigned)a);
    fiber->sp = stack->low;
}

void nl_sim_fiber_call(nl_sim_fiber *from, nl_sim_fiber *to) {
    announce_switch(from, to);
    from->sp = from;
    swapcontext(&from->context, &to->context);
    announce_arrival(from);
}

_Noreturn void nl_sim_fiber_abandon(nl_sim_fiber *to) {
    announce_switch(NULL, to);
    setcontext(&to->context);
    abort();
}

void nl_sim_fiber_escape(void *signal_context, nl_sim_fiber *to) {
    (void)signal_context;
    nl_sim_fiber_abandon(to); /* this call replaces swapcontext, which would restore the signal mask
                               * that it has saved */
}

#endif
