/* sim/threadlocal: addresses of this image's thread-local variables, for LLVM on x86-64.
 *
 * A shared library calls `__tls_get_addr` to find its thread-local variables. LLVM assumes that the
 * call preserves the registers that only AVX-512 has, zmm16 to zmm31 and k0 to k7 (the clobbers of
 * TLS_addr64 in X86InstrCompiler.td end with xmm15), and keeps a kernel's parameters in these
 * registers across the call. At the first call of a thread, or after another library was loaded,
 * the C library allocates memory, and its memset and memcpy overwrite these registers. In rare
 * cases, a kernel's parameter then becomes zero.
 *
 * To preserve the registers, calls in this image use a function of the same name. This function
 * finds the address like glibc, without calling the C library if possible, and saves the registers
 * otherwise. The thread's vector of blocks (DTV) is at %fs:8: its generation, then 16 bytes for
 * each module. The vector contains this image's block if its generation is not older than the
 * generation after an earlier call of the C library for this image. */
#ifndef NUMBALITE_SIM_THREADLOCAL_H
#define NUMBALITE_SIM_THREADLOCAL_H

#if defined(NUMBALITE_SIM_CLANG) && defined(__x86_64__) && defined(__AVX512F__) && defined(NUMBALITE_GLIBC)
#ifdef __AVX512BW__
#define NUMBALITE_SIM_MOVE_MASK "kmovq"
#else
#define NUMBALITE_SIM_MOVE_MASK "kmovw"
#endif
__asm__(".pushsection .data\n"
        ".p2align 3\n"
        "nl_tls_generation: .quad -1\n"
        ".popsection\n"
        ".pushsection .text\n"
        ".p2align 4\n"
        ".symver nl_tls_get_addr, __tls_get_addr@GLIBC_2.3\n"
        ".type __tls_get_addr, @function\n"
        "__tls_get_addr:\n"
        "    movq %fs:8, %rdx\n"
        "    movq (%rdx), %rax\n"
        "    cmpq nl_tls_generation(%rip), %rax\n"
        "    jb 1f\n"
        "    movq (%rdi), %rax\n" /* the module's number, then the variable's offset in its block */
        "    shlq $4, %rax\n"
        "    movq (%rdx,%rax), %rax\n"
        "    cmpq $-1, %rax\n"
        "    je 1f\n"
        "    addq 8(%rdi), %rax\n"
        "    ret\n"
        "1:  subq $1096, %rsp\n"
        ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
        "    vmovups %zmm\\n, 64 * (\\n - 16)(%rsp)\n"
        ".endr\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7\n"
        "    " NUMBALITE_SIM_MOVE_MASK " %k\\n, 1024 + 8 * \\n(%rsp)\n"
        ".endr\n"
        "    call *nl_tls_get_addr@GOTPCREL(%rip)\n"
        ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
        "    vmovups 64 * (\\n - 16)(%rsp), %zmm\\n\n"
        ".endr\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7\n"
        "    " NUMBALITE_SIM_MOVE_MASK " 1024 + 8 * \\n(%rsp), %k\\n\n"
        ".endr\n"
        "    addq $1096, %rsp\n"
        "    cmpq $-1, nl_tls_generation(%rip)\n"
        "    jne 2f\n"
        "    movq %fs:8, %rdx\n"
        "    movq (%rdx), %rcx\n"
        "    movq %rcx, nl_tls_generation(%rip)\n"
        "2:  ret\n"
        ".popsection\n");
#undef NUMBALITE_SIM_MOVE_MASK
#endif

#endif
