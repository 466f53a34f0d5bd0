/* Measures floors in a separate process: floors of a GPU, and floors that need no GPU.
 *
 *   floor first CUBIN          one fresh process to its first kernel result (the caller times it);
 *                              CUBIN has the kernel add3 (three views, one int)
 *   floor copies               bytes per microsecond over the bus, from and to page-locked memory
 *   floor cpu                  one fiber switch, and one thread of vadd as an inlined loop
 *
 * Prints lines "name value" (microseconds; cpu: nanoseconds). cc -O3 -Icext floor.c -o floor -ldl
 */
#include "floor.h"

static void bench_copies(void) {
    size_t size = (size_t)256 << 20;
    void *host;
    CUdeviceptr device;
    open_device();
    CU(cuMemAllocHost_v2, (void **, size_t), &host, size);
    CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &device, size);
    memset(host, 1, size);
    for (int out = 0; out < 2; ++out) {
        double best = 1e30;
        for (int round = 0; round < 9; ++round) {
            double start = microseconds_now();
            if (out)
                CU(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), host, device, size);
            else
                CU(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t), device, host, size);
            wait_for_device();
            double time = microseconds_now() - start;
            best = time < best ? time : best;
        }
        printf("%s %.4f\n", out ? "to_host" : "to_device", (double)size / best);
    }
}

static void bench_first(const char *path) {
    float out[256];
    int n = 1000;
    view a = {0, n, 4};
    void *arguments[] = {&a, &a, &a, &n};
    open_device();
    CUfunction kernel = load_kernel(read_file(path), "add3");
    CU(cuMemAlloc_v2, (CUdeviceptr *, size_t), &a.data, 1 << 20);
    run_kernel(kernel, 4, 256, NULL, arguments);
    CU(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t), out, a.data, sizeof out);
    printf("first_result %.4f\n", out[5] == out[5] ? 1.0 : 0.0);
}

/* ---- the processor: a switch saves only the registers that the calling convention assigns to the
   callee
 * ---- */
#if defined(__x86_64__)
__asm__(".text\n.globl swap_stacks\n.type swap_stacks,@function\nswap_stacks:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
enum { SAVED = 6 };
#elif defined(__aarch64__)
__asm__(".text\n.globl swap_stacks\n.type swap_stacks,%function\nswap_stacks:\n"
        "sub sp,sp,#160\nstp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\n"
        "stp x25,x26,[sp,#48]\nstp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\n"
        "stp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
        "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
        "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
        "ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\n"
        "ldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\nadd sp,sp,#160\nret\n");
enum { SAVED = 20 };
#endif

#if defined(__x86_64__) || defined(__aarch64__)
void swap_stacks(void **from, void *to);
static void *main_stack, *fiber_stack;

static void switch_back_forever(void) {
    for (;;)
        swap_stacks(&fiber_stack, main_stack);
}

static void bench_switch(void) {
    enum { SIZE = 1 << 16, COUNT = 2000000 };
    void **top = (void **)((char *)aligned_alloc(64, SIZE) + SIZE - 64);
#if defined(__x86_64__)
    *--top = NULL; /* as after a call, the stack is misaligned by one word at entry */
    *--top = (void *)switch_back_forever;
    top -= SAVED;
    memset(top, 0, SAVED * sizeof *top);
#else
    top -= SAVED;
    memset(top, 0, SAVED * sizeof *top);
    top[11] = (void *)switch_back_forever; /* x30 */
#endif
    fiber_stack = top;
    double start = microseconds_now();
    for (int i = 0; i < COUNT; ++i)
        swap_stacks(&main_stack, fiber_stack);
    printf("fiber_switch %.4f\n", 1e3 * (microseconds_now() - start) / COUNT / 2);
}
#else
static void bench_switch(void) {}
#endif

static void bench_loop(void) {
    enum { N = 1 << 14, TIMES = 20000 };
    static float memory[3][N];
    float *x = memory[0], *y = memory[1], *restrict z = memory[2];
    __asm__ volatile("" : "+r"(x), "+r"(y), "+r"(z)); /* hides the values from the optimizer */
    double start = microseconds_now();
    for (int t = 0; t < TIMES; ++t) {
        for (int i = 0; i < N; ++i)
            z[i] = x[i] + y[i];
        __asm__ volatile("" ::"r"(z) : "memory");
    }
    printf("inlined_loop %.4f\n", 1e3 * (microseconds_now() - start) / TIMES / N);
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "first"))
        bench_first(words[2]);
    else if (count == 2 && !strcmp(words[1], "copies"))
        bench_copies();
    else if (count == 2 && !strcmp(words[1], "cpu"))
        bench_switch(), bench_loop();
    else
        return 2;
    return 0;
}
