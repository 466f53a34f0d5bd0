/* sim/abi: the interface between the engine (cext/sim) and a simulated image, which is a shared
 * library that the host compiler has made from CUDA C++. This header is plain C without #include,
 * because the engine and the images include it.
 *
 * An image exports one `const nl_sim_kernel` per kernel and one `const nl_sim_global` per variable,
 * each under the lowered name by which the driver looks it up. An image also exports the function
 * `nl_sim_image_init`, which the engine calls once after loading, with the table of its functions.
 *
 * The image stores threadIdx etc. and __shared__ memory in its own thread-local storage, so that
 * the host compiler can optimize accesses to them. The engine owns the fibers. A block runs on one
 * OS thread. A block starts as a plain loop over its threads (run_block). The first thread that
 * reaches a barrier or a warp operation calls the engine, which converts the block to fibers at
 * that moment: the calling thread keeps its stack, the later threads run on separate fibers
 * (run_thread), and the earlier threads have already ended. So no analysis is needed to determine
 * whether a kernel synchronizes, and a kernel that does not synchronize has no additional cost.
 * During a call of the engine another fiber may run, so the image restores threadIdx from its own
 * stack after the call. */
#ifndef NL_SIM_ABI_H
#define NL_SIM_ABI_H

#define NL_SIM_ABI 7

typedef struct nl_sim_dim {
    unsigned x, y, z;
} nl_sim_dim;

/* The parameters of one launch, shared by all its blocks. */
typedef struct nl_sim_launch {
    nl_sim_dim grid, block;
    unsigned shared_bytes; /* dynamic shared memory */
    unsigned cooperative;
    void *const *args;  /* one pointer per parameter, to the engine's copy of the argument */
    nl_sim_dim cluster; /* number of blocks per cluster; 0 without clusters */
} nl_sim_launch;

typedef struct nl_sim_param {
    unsigned size, align;
} nl_sim_param;

/* A kernel, exported as data. */
typedef struct nl_sim_kernel {
    unsigned abi; /* NL_SIM_ABI */
    unsigned param_count;
    const nl_sim_param *params;
    /* Runs threads first, first+1, ... of the block in one loop, x fastest. Returns when all of
     * these threads have ended. If the engine has converted the block to fibers during a thread,
     * returns when that thread has ended (the image calls `ops->is_fibers()` after each thread that
     * called the engine). */
    void (*run_block)(const nl_sim_launch *launch, nl_sim_dim block_index, unsigned first);
    /* Runs one thread of the block (given by its linear index) on a fiber; called after enter_block
     * or run_block. */
    void (*run_thread)(const nl_sim_launch *launch, nl_sim_dim block_index, unsigned thread);
    const char *name;     /* name of the kernel in the user's source */
    unsigned max_threads; /* threads per block of __launch_bounds__, or 0 for the device's
                           * maximum */
    /* Called once for each block on the OS thread that will run its threads; may be NULL. */
    void (*enter_block)(const nl_sim_launch *launch, nl_sim_dim block_index);
    nl_sim_dim cluster; /* __cluster_dims__ of the kernel; 0 without clusters */
} nl_sim_kernel;

/* The descriptions of a kernel's parameters, for reports. An instrumented image exports those of
 * kernel i as `nl_sim_parameters_<i>`. */
typedef struct nl_sim_shape {
    unsigned char kind; /* 0: a value; 1: a pointer; 2: a numbalite::array */
    unsigned char ndim; /* dimensions of an array */
    unsigned item;      /* bytes of an element */
} nl_sim_shape;
typedef struct nl_sim_parameters {
    unsigned abi, count;
    const nl_sim_shape *shapes;
    const char *names; /* list of parameter names, each followed by a comma */
} nl_sim_parameters;

typedef struct nl_sim_global {
    unsigned abi;
    void *address;
    unsigned long long size;
} nl_sim_global;

/* The kind that reports a misaligned pointer which no access has used, although
 * __builtin_assume_aligned promises its alignment. */
enum { NL_SIM_ASSUMED_ALIGNMENT = 255 };

/* The source position where a thread waits: __builtin_FILE() and __builtin_LINE() of the call. For
 * block barriers, the struct also contains the column, if the compiler provides it, otherwise 0. */
typedef struct nl_sim_site {
    const char *file;
    int line, column;
} nl_sim_site;

typedef enum nl_sim_block_op {
    NL_SIM_BARRIER,       /* __syncthreads: result unused */
    NL_SIM_BARRIER_COUNT, /* number of threads with value != 0 */
    NL_SIM_BARRIER_AND,
    NL_SIM_BARRIER_OR,
} nl_sim_block_op;

/* Warp collectives. Each lane passes `value` (raw bits, up to 64; the image splits wider types) and
 * `argument`; the last lane to arrive computes all results. */
typedef enum nl_sim_warp_op {
    NL_SIM_WARP_SYNC,
    /* the result is the value of lane `argument` % 32 (the source lane, which the image computed
     * for the width; if it is not in the mask, the result is the lane's own value); the other bits
     * are an nl_sim_shuffle */
    NL_SIM_WARP_SHFL,
    NL_SIM_WARP_BALLOT, /* the result has a bit for each lane with value != 0; for votes, `argument`
                         * is an nl_sim_vote, for messages */
    NL_SIM_WARP_MATCH_ANY, /* the result is the mask of lanes with an equal value */
    NL_SIM_WARP_MATCH_ALL, /* mask if all equal, else 0 */
    NL_SIM_WARP_ADD,       /* __reduce_add_sync, 32 bits, wraps */
    NL_SIM_WARP_MIN_S,
    NL_SIM_WARP_MAX_S,
    NL_SIM_WARP_MIN_U,
    NL_SIM_WARP_MAX_U,
    NL_SIM_WARP_AND,
    NL_SIM_WARP_OR,
    NL_SIM_WARP_XOR,
    /* __activemask: completes when no lane of the warp can run; the result is the mask of lanes
     * that wait at the same site */
    NL_SIM_WARP_ACTIVE,
    /* before a volatile access: when no lane of the warp can run, completes for the lanes at the
     * earliest position in the program. value: the address; argument: position in the program times
     * two, plus one for a write */
    NL_SIM_WARP_STEP,
    NL_SIM_WARP_MATRIX, /* mma and similar operations: the result is the value of the first lane */
} nl_sim_warp_op;

/* The kind of shuffle. */
typedef enum nl_sim_shuffle {
    NL_SIM_SHUFFLE_UP = 0,
    NL_SIM_SHUFFLE_DOWN = 32,
    NL_SIM_SHUFFLE_INDEX = 64,
    NL_SIM_SHUFFLE_XOR = 96,
} nl_sim_shuffle;

/* The kind of vote. */
typedef enum nl_sim_vote { NL_SIM_VOTE_BALLOT, NL_SIM_VOTE_ANY, NL_SIM_VOTE_ALL } nl_sim_vote;

/* Flag in the source index of a tile's exchange: all threads must pass the same source index. */
#define NL_SIM_TILE_ONE_SOURCE 0x80000000u

/* Bits that describe an access which an instrumented image reports. */
enum {
    NL_SIM_ACCESS_WRITE = 1,
    NL_SIM_ACCESS_ATOMIC = 2, /* atomics read as well */
    NL_SIM_ACCESS_VOLATILE = 4,
    NL_SIM_ACCESS_RANGE = 8,      /* access to any number of bytes at any address */
    NL_SIM_ACCESS_COMPARE = 16,   /* an atomic compare-and-swap */
    NL_SIM_ACCESS_BLIND = 32,     /* an atomic whose old value is not used */
    NL_SIM_ACCESS_NARROW = 128,   /* an atomic of block scope */
    NL_SIM_ACCESS_EXCHANGE = 256, /* an atomic exchange whose old value is used */
    NL_SIM_ACCESS_UPDATE = 512,   /* the load of an atomic operation that a compare-and-swap
                                   * completes */
    NL_SIM_ACCESS_UNTOLD = 64,    /* an access that the image reports again when it makes the
                                   * access */
    NL_SIM_ACCESS_OPERATION = 12, /* position of the bits that contain an nl_sim_operation */
};

/* An atomic operation whose result is not used. Several operations of the same kind on the same
 * memory have the same result in any order, for kinds up to NL_SIM_OPERATION_EXACT. */
typedef enum nl_sim_operation {
    NL_SIM_OPERATION_NONE, /* another access */
    NL_SIM_OPERATION_ADD,  /* integers; also subtraction */
    NL_SIM_OPERATION_AND,
    NL_SIM_OPERATION_OR,
    NL_SIM_OPERATION_XOR,
    NL_SIM_OPERATION_MIN, /* signed integers */
    NL_SIM_OPERATION_MAX,
    NL_SIM_OPERATION_UNSIGNED_MIN,
    NL_SIM_OPERATION_UNSIGNED_MAX,
    NL_SIM_OPERATION_EXACT = NL_SIM_OPERATION_UNSIGNED_MAX,
    NL_SIM_OPERATION_ADD_REAL, /* rounds */
    NL_SIM_OPERATION_COUNT,    /* atomicInc and atomicDec: their results depend on the order if
                                * their limits differ */
    NL_SIM_OPERATION_PUT,      /* a store, or an exchange */
} nl_sim_operation;

/* The shadow memory, for images that were compiled with a call at every memory access (check.h).
 * shadow[i] is the state of the byte at `low` + i, for i < span: The state is 0 if the byte is not
 * allocated, otherwise NL_SIM_THERE, and NL_SIM_WRITTEN after a write. */
enum {
    NL_SIM_THERE = 1,
    NL_SIM_WRITTEN = 2,
    NL_SIM_LEAVING = 4, /* an asynchronous copy reads the byte until a thread has waited for the
    copy */
    NL_SIM_COMING = 8, /* an asynchronous copy writes the byte until a thread has waited for the
    copy */
};

/* The steps of an asynchronous copy (asynccopy.h). */
typedef enum nl_sim_copy_step {
    NL_SIM_COPY_BEGIN,
    NL_SIM_COPY_MADE,
    NL_SIM_COPY_COMMIT,
    NL_SIM_COPY_WAIT,
    NL_SIM_COPY_WAIT_READ,
    NL_SIM_COPY_BIND,
    NL_SIM_COPY_SEEN,
} nl_sim_copy_step;
typedef struct nl_sim_copying {
    nl_sim_copy_step step;
    const void *to, *from; /* NULL: not checked */
    unsigned long long size;
    const void *barrier;
    /* number of the newest groups for which the thread does not wait; ~0u: also waits for copies
     * that belong to no group */
    unsigned groups;
    unsigned char bulk; /* set if the step concerns groups of bulk copies */
} nl_sim_copying;

/* The operations of a thread on an mbarrier or a barrier with a number (cext/sim/check/phases.h).
   */
typedef enum nl_sim_phase_step {
    NL_SIM_PHASE_INIT,
    NL_SIM_PHASE_NUMBER, /* the thread uses a barrier with a number, which the simulator
                          * initializes */
    NL_SIM_PHASE_FORGET, /* the memory is not used as a barrier any more */
    NL_SIM_PHASE_ARRIVE,
    NL_SIM_PHASE_FINISH, /* the barrier's completion function is about to be called */
    NL_SIM_PHASE_FINISHED,
    NL_SIM_PHASE_COMPLETE, /* the phase ends */
    NL_SIM_PHASE_TOKEN,    /* tests whether the phase of a token has ended */
    NL_SIM_PHASE_PARITY,   /* tests whether the latest phase of a parity has ended */
} nl_sim_phase_step;
typedef struct nl_sim_phase {
    nl_sim_phase_step step;
    const void *barrier;
    unsigned phase; /* number of the current phase, modulo 8 */
    unsigned value; /* for TOKEN, the lowest bits of the token's phase; for PARITY, the parity */
    int is_over; /* for TOKEN and PARITY, the result of the test according to the barrier's word,
                  * without checks */
    int blocks; /* for TOKEN and PARITY, set if the thread repeats the test until the result is 1 */
} nl_sim_phase;
struct nl_sim_index;
struct nl_sim_arithmetic;
struct nl_sim_shared;
struct nl_sim_named;
struct nl_sim_local;

/* The profiler's trace of a warp: an access or loop event that a lane of the warp has made, and that
 * the other lanes are expected to make at the same point. */
typedef struct nl_sim_expected {
    const void *pc; /* return address of the access's hook; NULL: nothing is expected */
    unsigned key;   /* of an access for the engine; for the two values of pc below, the loop's number */
    unsigned request;
    /* Images count accesses of these addresses, which are in one address space. The return address
     * determines the hook, and so the size and kind of the access. */
    unsigned long long low, span;
    unsigned long long *address; /* addresses of the lanes in the request */
} nl_sim_expected;
/* Values of nl_sim_expected.pc for the start of a loop's next iteration and the end of a loop. */
#define NL_SIM_EXPECTED_REPEAT ((const void *)1)
#define NL_SIM_EXPECTED_LEAVE ((const void *)2)

/* The state with which an image counts expected accesses itself. Each OS thread that runs blocks of
 * a profiled launch has one such state. */
typedef struct nl_sim_counting {
    const unsigned *current; /* the running thread's index in its block */
    const nl_sim_expected *next[1024]; /* of each thread of the block */
} nl_sim_counting;

typedef struct nl_sim_checker {
    unsigned long long low, span;
    unsigned char *shadow;
    /* If not 0, images call `access` for all accesses, not only for accesses that the shadow memory
     * does not allow. */
    unsigned every;
    /* Returns 0 if the image may make the access, or 1 if the image must first call `preempt` and
     * then repeat this call. For an invalid access, ends the thread and does not return. */
    int (*access)(void *address, unsigned long long size, unsigned kind, const void *pc);
    /* Implements memmove: checks both accesses, and copies the state of the bytes. */
    void (*copy)(void *to, const void *from, unsigned long long size, const void *pc);
    /* implements memset for bytes that `access` has allowed */
    void (*fill)(void *to, int value, unsigned long long size);
    /* Returns the address of a __shared__ variable of the block; allocates the variable at the
     * first call. */
    void *(*shared)(const struct nl_sim_shared *variable);
    /* Reports an array index outside of its shape (check.h). Does not return. */
    void (*index)(const struct nl_sim_index *what, const void *pc) __attribute__((noreturn));
    void (*fence)(int is_narrow); /* is_narrow: of block scope */
    /* Lets other threads run. */
    void (*preempt)(void);
    /* Reports an arithmetic error (arithmetic.h). */
    void (*arithmetic)(const struct nl_sim_arithmetic *what, const void *pc);
    /* Reports an index outside of an array of this type ("'int[10]'"). Returns if the array may be
     * part of a larger array; then the access itself is checked. */
    void (*subscript)(const char *type, long long index, nl_sim_site site, unsigned column,
                      const void *pc);
    /* Reports an access to an address that is not a multiple of `align`. kind: 0 for reads, 1 for
     * writes, 2 for references, 3 and more for members. Returns if the alignment does not
     * matter. */
    void (*misaligned)(void *address, unsigned align, int kind, const void *pc);
    /* `name` must be called when a named array of the thread begins to exist, `unname` when it
     * ceases to exist. */
    void (*name)(struct nl_sim_named *array);
    void (*unname)(struct nl_sim_named *array);
    /* Reports that a local variable is read before it was written (uninitialized.h). */
    void (*unset)(const struct nl_sim_local *what, const void *pc);
    void (*copying)(const nl_sim_copying *what, const void *pc);
    /* Must be called after each step on a barrier, but before the end of a phase is visible.
     * For a test, returns the result of the test, otherwise 0. */
    int (*phase)(const nl_sim_phase *what, const void *pc);
    /* Must be called when the thread begins another iteration of a loop, or, with pc NULL, when the
     * thread has left the loop (numbalite/compilers/sim/loops.py). */
    void (*loop)(unsigned number, const void *pc);
    /* Offset from the thread pointer to a pointer to the OS thread's nl_sim_counting, which is NULL
     * if the engine must count all accesses. 0: not available. */
    long counting;
} nl_sim_checker;

enum {
    NL_SIM_ARITHMETIC_ZERO,     /* division of an integer by zero */
    NL_SIM_ARITHMETIC_OVERFLOW, /* the smallest integer divided by -1 */
    NL_SIM_ARITHMETIC_INDEX,    /* overflow in a signed sum, difference or product for an index */
    NL_SIM_ARITHMETIC_FLOAT_ZERO,
    NL_SIM_ARITHMETIC_NOT_FINITE, /* NaN or infinity from finite numbers */
};
typedef struct nl_sim_arithmetic {
    int kind;
    const char *file; /* source file; NULL: use the return address */
    int line;
    unsigned char unknown; /* set for an error for which `dividend`, `divisor` and `is_signed` are
                            * not available */
    unsigned char is_signed;
    /* for an index: '+', '-', '*'; for floating-point numbers: '+', '-', '*', '/', '%', 'f' for a
     * function, 'h' for a conversion to float16 */
    char operation;
    unsigned char bits;          /* for INDEX, the width of the integer type in bits */
    long long dividend, divisor; /* INDEX: the two operands */
    double result, a, b;
} nl_sim_arithmetic;

/* A local variable, and the indices of the element that was read. */
typedef struct nl_sim_local {
    const char *name;
    int count; /* number of indices; -1 for a field of the variable */
    long long indices[3];
} nl_sim_local;

/* A __shared__ variable. The address of this struct identifies the variable. */
typedef struct nl_sim_shared {
    const char *name;
    unsigned long long size;       /* 0: the dynamic shared memory */
    unsigned item, ndim;           /* size of an element in bytes, and number of dimensions as
                                    * declared */
    unsigned long long extents[4]; /* of the first four */
} nl_sim_shared;

/* An array that generated code passes to the user's code; this struct is on the thread's stack. */
typedef struct nl_sim_named {
    const char *name;
    const void *first; /* its first element */
    unsigned item, ndim;
    const long long *shape, *strides; /* in bytes */
    const struct nl_sim_named *next;
} nl_sim_named;

/* An array index out of bounds. */
typedef struct nl_sim_index {
    const void *array; /* its first element */
    const long long *shape;
    int ndim, axis;
    long long index; /* along `axis` */
} nl_sim_index;

/* Kinds of texture reads and surface accesses. */
enum {
    NL_SIM_TEXTURE_1D = 1,
    NL_SIM_TEXTURE_2D = 2,
    NL_SIM_TEXTURE_3D = 3,
    NL_SIM_TEXTURE_CUBE = 4, /* x, y, z are a direction */
    NL_SIM_TEXTURE_LAYERED = 8,
    NL_SIM_TEXTURE_FETCH = 16,  /* read of linear memory, by integer index */
    NL_SIM_TEXTURE_GATHER = 32, /* gather: one channel of the four texels */
    NL_SIM_SURFACE_TRAP = 0,    /* outside of the surface: a fault */
    NL_SIM_SURFACE_CLAMP = 1,   /* an access outside of the surface uses the nearest element */
    NL_SIM_SURFACE_ZERO = 2,    /* an access outside of the surface reads 0, or writes nothing */
};
typedef struct nl_sim_fetch {
    int shape;
    float x, y, z;
    int layer;   /* layer of a layered texture, or index of a fetch */
    int channel; /* of a gather */
} nl_sim_fetch;
typedef struct nl_sim_place {
    int shape;
    int x, y, z; /* x is in bytes; z is the layer of a layered surface, or the face of a cubemap */
    int outside;
    unsigned size; /* bytes of the element */
} nl_sim_place;
typedef struct nl_sim_texels {
    unsigned bits[4];
    int is_float; /* otherwise a 32-bit integer */
} nl_sim_texels;

/* A launch inside a kernel: k<<<grid, block, shared, stream>>>(...). */
typedef struct nl_sim_nested {
    const nl_sim_kernel *kernel;
    const char *name; /* name of the kernel in the source line of the launch */
    nl_sim_dim grid, block;
    unsigned long long shared_bytes;
    /* set for a tail launch, which runs after the launching grid and all its other launches have
     * ended */
    int is_tail;
    void *const *args; /* arguments as in nl_sim_launch; the engine copies them */
    nl_sim_site site;
} nl_sim_nested;

/* The table of the engine's functions that a running thread may call. */
typedef struct nl_sim_ops {
    unsigned abi;
    int (*barrier)(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site);
    unsigned long long (*warp)(nl_sim_warp_op op, unsigned mask, unsigned long long value,
                               unsigned argument, unsigned thread, nl_sim_site site);
    /* implements the grid barrier of cooperative launches (this_grid().sync()) */
    void (*grid_barrier)(unsigned thread, nl_sim_site site);
    /* lets other threads run: called by __nanosleep, and after some hundred failed
     * compare-and-swaps */
    void (*yield)(unsigned thread, nl_sim_site site);
    /* returns whether this block was converted to fibers */
    int (*is_fibers)(void);
    /* returns the address of this block's dynamic shared memory (128-byte aligned, with
     * shared_bytes bytes) */
    void *(*dynamic_shared)(void);
    /* called for a failed assert, __trap or a failed bounds check: records the message with block
     * and thread, and does not return; the launch ends with `status` (a CUresult) */
    void (*fault)(int status, const char *message, unsigned thread, nl_sim_site site)
        __attribute__((noreturn));
    /* ends the calling thread (PTX `exit`) */
    void (*exit_thread)(unsigned thread) __attribute__((noreturn));
    unsigned long long (*clock)(void); /* implements clock64(): monotonic, in units similar to
    cycles */
    unsigned long long (*globaltimer)(void); /* nanoseconds */
    unsigned (*smid)(void);                  /* index of the worker */
    int (*vprintf)(const char *format, __builtin_va_list arguments);
    void *(*malloc)(unsigned long long size); /* in-kernel heap */
    void (*free)(void *block);
    const nl_sim_checker *checker;
    /* advances the five words of cuRAND's generator by `steps` * 2^`scale` numbers */
    void (*xorwow_jump)(unsigned *state, unsigned long long steps, int scale);
    /* returns NULL, or an error message */
    const char *(*fetch)(unsigned long long texture, const nl_sim_fetch *what, nl_sim_texels *out);
    /* *sets *address, to NULL if the element is outside of the surface, which the boundary mode
     * allows */
    const char *(*surface)(unsigned long long surface, const nl_sim_place *where, void **address);
    /* launches a grid, which begins after the calling thread's grid has ended */
    void (*launch)(const nl_sim_nested *what, unsigned thread);
    /* Thread block clusters. cluster_dim returns the number of blocks per cluster; arrive and wait
     * are the two steps of the cluster's barrier. cluster_map_address returns the address in block `rank`
     * that corresponds to `address`. cluster_rank_of returns the block whose shared memory contains
     * the address, or -1. cluster_complete returns the full address in shared memory of the
     * cluster's blocks with these lower 32 bits, or 0 if there is none. */
    nl_sim_dim (*cluster_dim)(void);
    void (*cluster_arrive)(unsigned thread, nl_sim_site site);
    void (*cluster_wait)(unsigned thread, nl_sim_site site);
    void *(*cluster_map_address)(const void *address, unsigned rank, unsigned thread, nl_sim_site site);
    int (*cluster_rank_of)(const void *address);
    unsigned long long (*cluster_complete)(unsigned low);
    /* Waits for all threads of a tile (64, 128, ... or 1024), and returns the value of the tile's
     * thread `source`, which may include NL_SIM_TILE_ONE_SOURCE. */
    unsigned long long (*tile)(unsigned threads, unsigned long long value, unsigned source,
                               unsigned thread, nl_sim_site site);
} nl_sim_ops;

/* The type of the function "nl_sim_image_init", which every image exports; the engine calls it once
 * per load, before any other function. */
typedef void (*nl_sim_image_init_fn)(const nl_sim_ops *ops);

/* An image for cuModuleLoadData consists of this header and `size` bytes of a shared library. */
#define NL_SIM_IMAGE_MAGIC "NLSIMG01"
typedef struct nl_sim_image_header {
    char magic[8];
    unsigned long long size;
} nl_sim_image_header;

#endif
