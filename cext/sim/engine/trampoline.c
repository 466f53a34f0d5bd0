/* sim/engine/trampoline: implements nl_sim_barrier_wait and nl_sim_thread_entry, in assembly: a
 * block's threads switch most often in these functions, so that the processor predicts their
 * returns.
 *
 * A processor predicts a return from the last 16 calls or so, regardless of their stacks. When the
 * threads of a block reach their first barrier, two calls per thread were executed: of the kernel
 * and of the barrier. When the threads then end one after the other, each executes two returns.
 * With more than eight threads the predictions were wrong, at a cost of 20 ns per thread. So a
 * thread that continues because another has ended is entered by a call, from the instruction that
 * calls kernels, and leaves the barrier by a jump, so that the return of its kernel matches that
 * call. From one barrier to the next, each thread executes one call and one return.
 *
 * The assembly exists only for x86-64. On other processors, and with sanitizers, which must be
 * informed of each switch, barrier.c and thread.c contain equivalent functions in C. */
#include "sim/engine/barrier.h"
#include "sim/engine/thread.h"

#ifdef NL_SIM_TRAMPOLINES

/* the assembly code loads the barrier's result from offset 0 of the worker */
_Static_assert(offsetof(nl_sim_worker, barrier.result) == 0, "the assembler counts on it");

/* The stack of a waiting thread contains rbx, rbp, the address at which to continue (as in
 * nl_sim_fiber_switch), r12 to r15, and the return address in the kernel. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl nl_sim_barrier_wait\n"
        ".hidden nl_sim_barrier_wait\n"
        ".type nl_sim_barrier_wait, @function\n"
        "nl_sim_barrier_wait:\n"
        "    .cfi_startproc\n"
        "    pushq %r15\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset r15, 0\n"
        "    pushq %r14\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset r14, 0\n"
        "    pushq %r13\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset r13, 0\n"
        "    pushq %r12\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset r12, 0\n"
        "    leaq .Lreturn(%rip), %rax\n"
        "    pushq %rax\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rbp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset rbp, 0\n"
        "    pushq %rbx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset rbx, 0\n"
        "    movq %rsp, %r9\n" /* the sixth argument */
        "    call nl_sim_barrier_arrive\n"
        "    testq %rax, %rax\n"
        "    cmovz %rsp, %rax\n"
        "    movq %rax, %rsp\n"
        "    popq %rbx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    .cfi_restore rbx\n"
        "    popq %rbp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    .cfi_restore rbp\n"
        "    popq %rax\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    jmpq *%rax\n"
        ".Lreturn:\n"
        "    popq %r12\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %r13\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %r14\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %r15\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    movq nl_sim_worker_current@gottpoff(%rip), %rax\n"
        "    movq %fs:(%rax), %rax\n"
        "    movl (%rax), %eax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size nl_sim_barrier_wait, .-nl_sim_barrier_wait\n"

        ".p2align 4\n"
        ".globl nl_sim_thread_entry\n"
        ".hidden nl_sim_thread_entry\n"
        ".type nl_sim_thread_entry, @function\n"
        "nl_sim_thread_entry:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq %rdi, %rbx\n"
        "    leaq nl_sim_thread_run(%rip), %rax\n"
        "1:  movq %rbx, %rdi\n"
        /* one call instruction is used in both cases, because a resumed thread also returns to this
         * address */
        "    call *%rax\n"
        "    movq %rbx, %rdi\n"
        "    call nl_sim_thread_next\n"
        "    movq %rax, %rsi\n"
        "    leaq nl_sim_thread_run(%rip), %rax\n"
        "    leaq .Lresume(%rip), %rcx\n"
        "    testq %rsi, %rsi\n"
        "    cmovnz %rcx, %rax\n"
        "    jmp 1b\n"
        "    .cfi_endproc\n"
        ".size nl_sim_thread_entry, .-nl_sim_thread_entry\n"

        ".p2align 4\n"
        ".type .Lresume, @function\n"
        ".Lresume:\n" /* this code runs on the stack of a thread that has ended */
        "    movq %rsi, %rsp\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rax\n"
        "    leaq .Lreturn(%rip), %rcx\n"
        "    cmpq %rax, %rcx\n"
        "    jne 2f\n"
        "    popq %r12\n"
        "    popq %r13\n"
        "    popq %r14\n"
        "    popq %r15\n"
        "    movq nl_sim_worker_current@gottpoff(%rip), %rax\n"
        "    movq %fs:(%rax), %rax\n"
        "    movl (%rax), %eax\n"
        "    popq %rcx\n"
        "    jmpq *%rcx\n"
        "2:  jmpq *%rax\n" /* this code is executed if the thread waits in another operation */
        ".size .Lresume, .-.Lresume\n");

#endif
