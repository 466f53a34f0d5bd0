/* sim/abi: what a simulated image (a shared object made from CUDA C++ by the host compiler) and the
 * engine (cext/sim) know of each other. Plain C, no #include, read by both sides.
 *
 * An image exports one `const nl_sim_kernel` per kernel and one `const nl_sim_global` per variable,
 * each under the lowered name by which the driver is asked for it, and the function
 * `nl_sim_image_init`, which the engine calls once after loading with its own table.
 *
 * Who keeps what: an image keeps threadIdx & co. and __shared__ memory in its own thread-local
 * storage, because only then can the host compiler see through them; the engine keeps the fibers.
 * A block runs on one OS thread. It starts as a plain loop over its threads (run_block). The first
 * thread that reaches a barrier or a warp operation calls the engine, which turns the block into
 * fibers on the spot: the thread that called goes on living on the stack it has, the threads after
 * it get fibers of their own (run_thread), the threads before it have exited. So no analysis is needed
 * to know whether a kernel synchronises, and a kernel that does not pays nothing.
 * After a call of the engine returns, another fiber may have run in between: the image restores
 * threadIdx from its own stack. */
#ifndef NL_SIM_ABI_H
#define NL_SIM_ABI_H

#define NL_SIM_ABI 6

typedef struct nl_sim_dim {
    unsigned x, y, z;
} nl_sim_dim;

/* One launch, the same for all its blocks. */
typedef struct nl_sim_launch {
    nl_sim_dim grid, block;
    unsigned shared_bytes; /* dynamic */
    unsigned cooperative;
    void *const *args; /* one pointer per parameter, to the engine's own copy of its value */
    nl_sim_dim cluster; /* how many blocks a cluster has; all 0: there are none */
} nl_sim_launch;

typedef struct nl_sim_param {
    unsigned size, align;
} nl_sim_param;

/* A kernel, exported as data. */
typedef struct nl_sim_kernel {
    unsigned abi; /* NL_SIM_ABI */
    unsigned param_count;
    const nl_sim_param *params;
    /* Runs threads first, first+1, ... of the block in one loop, x fastest. Returns when all are done
     * or, after the engine has turned the block into fibers inside one of them, as soon as that
     * thread is done (the image asks `ops->is_fibers()` after each thread that called the engine). */
    void (*run_block)(const nl_sim_launch *launch, nl_sim_dim block_index, unsigned first);
    /* Runs one thread of the block (linear index), on a fiber; after enter_block or run_block. */
    void (*run_thread)(const nl_sim_launch *launch, nl_sim_dim block_index, unsigned thread);
    const char *name; /* as the user wrote it */
    unsigned max_threads; /* of a block, as __launch_bounds__ says; 0: what the device can */
    /* Called once for a block on the OS thread that will run its threads; may be NULL. */
    void (*enter_block)(const nl_sim_launch *launch, nl_sim_dim block_index);
    nl_sim_dim cluster; /* as __cluster_dims__ says; all 0: it does not */
} nl_sim_kernel;

/* What an instrumented image says of kernel i besides, as `nl_sim_parameters_<i>`: what its
 * parameters are, for reports. */
typedef struct nl_sim_shape {
    unsigned char kind; /* 0: a value; 1: a pointer; 2: a numbalite::array */
    unsigned char ndim; /* of an array */
    unsigned item;      /* bytes of an element */
} nl_sim_shape;
typedef struct nl_sim_parameters {
    unsigned abi, count;
    const nl_sim_shape *shapes;
    const char *names; /* with a comma after each */
} nl_sim_parameters;

typedef struct nl_sim_global {
    unsigned abi;
    void *address;
    unsigned long long size;
} nl_sim_global;

/* Where in the user's source a thread waits: __builtin_FILE() and __builtin_LINE() of the call; of the
 * block's barriers the column, too, where the compiler tells it, else 0. */
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

/* Warp collectives. Each lane brings `value` (raw bits, up to 64; wider types are done in pieces by
 * the image) and `argument`; the last lane to arrive computes for all. */
typedef enum nl_sim_warp_op {
    NL_SIM_WARP_SYNC,
    NL_SIM_WARP_SHFL,      /* value of lane `argument` % 32 (source lane, already resolved by the image
                              for width; out of mask: undefined -> own value); the rest of it is an
                              nl_sim_shuffle */
    NL_SIM_WARP_BALLOT,    /* bit per lane with value != 0; `argument` is an nl_sim_vote, for messages */
    NL_SIM_WARP_MATCH_ANY, /* mask of lanes with equal value */
    NL_SIM_WARP_MATCH_ALL, /* mask if all equal, else 0 */
    NL_SIM_WARP_ADD,       /* __reduce_add_sync, 32 bits, wraps */
    NL_SIM_WARP_MIN_S,
    NL_SIM_WARP_MAX_S,
    NL_SIM_WARP_MIN_U,
    NL_SIM_WARP_MAX_U,
    NL_SIM_WARP_AND,
    NL_SIM_WARP_OR,
    NL_SIM_WARP_XOR,
    NL_SIM_WARP_ACTIVE, /* __activemask: completes when no lane of the warp can run; result: the lanes
                           that wait at the same site */
    NL_SIM_WARP_STEP,   /* before a volatile access: completes when no lane of the
                           warp can run, for the lanes that are least far. value: the address;
                           argument: the place in the program, times two, plus one if it writes */
    NL_SIM_WARP_MATRIX, /* mma and its like: the value of the first lane */
} nl_sim_warp_op;

/* Which of the shuffles it is. */
typedef enum nl_sim_shuffle {
    NL_SIM_SHUFFLE_UP = 0,
    NL_SIM_SHUFFLE_DOWN = 32,
    NL_SIM_SHUFFLE_INDEX = 64,
    NL_SIM_SHUFFLE_XOR = 96,
} nl_sim_shuffle;

/* Which of the votes it is. */
typedef enum nl_sim_vote { NL_SIM_VOTE_BALLOT, NL_SIM_VOTE_ANY, NL_SIM_VOTE_ALL } nl_sim_vote;

/* In the source of a tile's exchange: that of all its threads must be the same. */
#define NL_SIM_TILE_ONE_SOURCE 0x80000000u

/* What an instrumented image tells of an access, as bits. */
enum {
    NL_SIM_ACCESS_WRITE = 1,
    NL_SIM_ACCESS_ATOMIC = 2, /* reads too */
    NL_SIM_ACCESS_VOLATILE = 4,
    NL_SIM_ACCESS_RANGE = 8, /* any number of bytes at any address */
    NL_SIM_ACCESS_COMPARE = 16, /* an atomic compare-and-swap */
    NL_SIM_ACCESS_BLIND = 32,   /* an atomic whose old value nobody asks for */
    NL_SIM_ACCESS_NARROW = 128, /* an atomic for the threads of the block alone */
    NL_SIM_ACCESS_EXCHANGE = 256, /* an atomic exchange whose old value is used */
    NL_SIM_ACCESS_UPDATE = 512, /* the first half of an atomic that a compare-and-swap completes */
    NL_SIM_ACCESS_UNTOLD = 64,  /* an access that is told of once more when it is made */
};

/* For images that were compiled with calls at every access of memory (check.h). The state of the
 * byte at `low` + i is shadow[i], for i < span: 0 where there is no memory, else NL_SIM_THERE, and
 * NL_SIM_WRITTEN once something has been written there. */
enum {
    NL_SIM_THERE = 1,
    NL_SIM_WRITTEN = 2,
    NL_SIM_LEAVING = 4, /* an asynchronous copy reads it until it is waited for */
    NL_SIM_COMING = 8,  /* one writes it until then */
};

/* The life of an asynchronous copy (asynccopy.h). */
typedef enum nl_sim_copy_step {
    NL_SIM_COPY_BEGIN,
    NL_SIM_COPY_MADE,
    NL_SIM_COPY_COMMIT,
    NL_SIM_COPY_WAIT,
    NL_SIM_COPY_WAIT_READ,
    NL_SIM_COPY_BIND,
    NL_SIM_COPY_COMPLETE,
    NL_SIM_COPY_SEEN,
} nl_sim_copy_step;
typedef struct nl_sim_copying {
    nl_sim_copy_step step;
    const void *to, *from; /* NULL: it has none that counts */
    unsigned long long size;
    const void *barrier;
    unsigned groups;     /* not waited for; ~0u: what no group has is waited for, too */
    unsigned char bulk; /* it is about the groups of bulk copies */
} nl_sim_copying;
struct nl_sim_index;
struct nl_sim_arithmetic;
struct nl_sim_shared;
struct nl_sim_named;
struct nl_sim_local;
typedef struct nl_sim_checker {
    unsigned long long low, span;
    unsigned char *shadow;
    /* Not 0: `access` wants to hear of all accesses, not only of those that the shadow does not
     * allow. */
    unsigned every;
    /* Returns 0 if the access may be made; 1: call `preempt`, then this again. Else the thread ends
     * in it. */
    int (*access)(void *address, unsigned long long size, unsigned kind, const void *pc);
    /* memmove with both accesses, and what is known of the bytes goes along. */
    void (*copy)(void *to, const void *from, unsigned long long size, const void *pc);
    void (*fill)(void *to, int value, unsigned long long size); /* memset, of what `access` allows */
    /* A __shared__ variable of the block: the first thread that asks makes it. */
    void *(*shared)(const struct nl_sim_shared *variable);
    /* An index of an array outside of its shape: `what` says which (check.h). Does not return. */
    void (*index)(const struct nl_sim_index *what, const void *pc) __attribute__((noreturn));
    void (*fence)(void);
    /* Lets other threads run. */
    void (*preempt)(void);
    /* Arithmetic has gone wrong (arithmetic.h). */
    void (*arithmetic)(const struct nl_sim_arithmetic *what, const void *pc);
    /* An index outside of an array of this type ("'int[10]'"). Returns if it may be used: the array
     * may be a part of a larger one, and then the access tells. */
    void (*subscript)(const char *type, long long index, nl_sim_site site, unsigned column,
                      const void *pc);
    /* An access of a type that needs addresses that are multiples of `align`. kind: 0 for reads, 1 for
     * writes, 2 for references, 3 and more for members. Returns if that is of no importance. */
    void (*misaligned)(void *address, unsigned align, int kind, const void *pc);
    /* The thread has an array that it calls so; it has it no longer. */
    void (*name)(struct nl_sim_named *array);
    void (*unname)(struct nl_sim_named *array);
    /* A local variable in which nothing has been written is read (unset.h). */
    void (*unset)(const struct nl_sim_local *what, const void *pc);
    void (*copying)(const nl_sim_copying *what, const void *pc);
    /* The thread begins another iteration of a loop, or has left it (numbalite/compilers/sim/loops.py). */
    void (*loop)(unsigned number, int leaves);
} nl_sim_checker;

enum {
    NL_SIM_ARITHMETIC_ZERO,     /* an integer divided by zero */
    NL_SIM_ARITHMETIC_OVERFLOW, /* the least integer divided by -1 */
    NL_SIM_ARITHMETIC_INDEX,    /* a signed sum, difference or product of an index that does not fit */
    NL_SIM_ARITHMETIC_FLOAT_ZERO,
    NL_SIM_ARITHMETIC_NOT_FINITE, /* NaN or infinity made of finite numbers */
};
typedef struct nl_sim_arithmetic {
    int kind;
    const char *file; /* where; NULL: the return address tells */
    int line;
    unsigned char unknown; /* the integers are not known */
    unsigned char is_signed;
    char operation; /* of an index: '+', '-', '*'; of real numbers: '+', '-', '*', '/', '%', 'f' for a function, 'h': to float16 */
    unsigned char bits; /* of an index */
    long long dividend, divisor; /* or the two numbers of an index */
    double result, a, b;
} nl_sim_arithmetic;

/* A local variable. */
typedef struct nl_sim_local {
    const char *name;
    int count; /* how many indices there are; -1: a field of it is meant */
    long long indices[3];
} nl_sim_local;

/* A __shared__ variable. Its address says which it is. */
typedef struct nl_sim_shared {
    const char *name;
    unsigned long long size; /* 0: all of the dynamic memory */
    unsigned item, ndim;     /* bytes of an element; dimensions as declared */
    unsigned long long extents[4]; /* of the first four */
} nl_sim_shared;

/* An array that generated code has given to the user's, on the thread's stack. */
typedef struct nl_sim_named {
    const char *name;
    const void *first; /* element */
    unsigned item, ndim;
    const long long *shape, *strides; /* in bytes */
    const struct nl_sim_named *next;
} nl_sim_named;

/* An index that an array does not have. */
typedef struct nl_sim_index {
    const void *array; /* its first element */
    const long long *shape;
    int ndim, axis;
    long long index; /* along `axis` */
} nl_sim_index;

/* A read of a texture, or an access of a surface. */
enum {
    NL_SIM_TEXTURE_1D = 1,
    NL_SIM_TEXTURE_2D = 2,
    NL_SIM_TEXTURE_3D = 3,
    NL_SIM_TEXTURE_CUBE = 4, /* x, y, z: a direction */
    NL_SIM_TEXTURE_LAYERED = 8,
    NL_SIM_TEXTURE_FETCH = 16,  /* by whole numbers, of linear memory */
    NL_SIM_TEXTURE_GATHER = 32, /* one channel of the four texels */
    NL_SIM_SURFACE_TRAP = 0,    /* outside of the surface: a fault, */
    NL_SIM_SURFACE_CLAMP = 1,   /* the nearest element, */
    NL_SIM_SURFACE_ZERO = 2,    /* or 0, and nothing is written */
};
typedef struct nl_sim_fetch {
    int shape;
    float x, y, z;
    int layer;   /* of layered ones; the number of a fetch */
    int channel; /* of a gather */
} nl_sim_fetch;
typedef struct nl_sim_place {
    int shape;
    int x, y, z; /* x in bytes; z: of layered ones the layer, of cubemaps the face */
    int outside;
    unsigned size; /* bytes of the element */
} nl_sim_place;
typedef struct nl_sim_texels {
    unsigned bits[4];
    int is_float; /* or an integer of 32 bits */
} nl_sim_texels;

/* A launch by a running thread: k<<<grid, block, shared, stream>>>(...). */
typedef struct nl_sim_nested {
    const nl_sim_kernel *kernel;
    const char *name; /* as the launch spells it */
    nl_sim_dim grid, block;
    unsigned long long shared_bytes;
    int is_tail;       /* comes when the grid that launches it has ended, with all else it launched */
    void *const *args; /* as of nl_sim_launch; they are copied */
    nl_sim_site site;
} nl_sim_nested;

/* What the engine offers to a running thread. */
typedef struct nl_sim_ops {
    unsigned abi;
    int (*barrier)(nl_sim_block_op op, int value, unsigned thread, nl_sim_site site);
    unsigned long long (*warp)(nl_sim_warp_op op, unsigned mask, unsigned long long value,
                               unsigned argument, unsigned thread, nl_sim_site site);
    /* cooperative grid barrier (this_grid().sync()) */
    void (*grid_barrier)(unsigned thread, nl_sim_site site);
    /* lets other threads run: __nanosleep, and every some hundred failed atomic compare-and-swaps */
    void (*yield)(unsigned thread, nl_sim_site site);
    /* has this block been turned into fibers? */
    int (*is_fibers)(void);
    /* base of this block's dynamic shared memory (128-byte aligned; shared_bytes long) */
    void *(*dynamic_shared)(void);
    /* a failed assert, __trap, a failed bounds check: records the message with block and thread and does
     * not return; the launch ends with `status` (a CUresult) */
    void (*fault)(int status, const char *message, unsigned thread, nl_sim_site site)
        __attribute__((noreturn));
    /* the calling thread ends here (PTX `exit`) */
    void (*exit_thread)(unsigned thread) __attribute__((noreturn));
    unsigned long long (*clock)(void);      /* clock64(): cycles-like, monotonic */
    unsigned long long (*globaltimer)(void); /* nanoseconds */
    unsigned (*smid)(void);                  /* index of the worker */
    int (*vprintf)(const char *format, __builtin_va_list arguments);
    void *(*malloc)(unsigned long long size); /* in-kernel heap */
    void (*free)(void *block);
    const nl_sim_checker *checker;
    /* cuRAND's generator: its five words after `steps` times two to the power of `scale` more numbers */
    void (*xorwow_jump)(unsigned *state, unsigned long long steps, int scale);
    /* NULL, or what is wrong */
    const char *(*fetch)(unsigned long long texture, const nl_sim_fetch *what, nl_sim_texels *out);
    /* *address: NULL for what is not there, and may be */
    const char *(*surface)(unsigned long long surface, const nl_sim_place *where, void **address);
    /* the grid begins when the one of the thread has ended */
    void (*launch)(const nl_sim_nested *what, unsigned thread);
    /* Thread block clusters: how many blocks a cluster has; its barrier, in two steps; the address that
     * means for block `rank` what this one means for its own; in whose shared memory an address is
     * (-1: nobody's); an address in that of any of its blocks of which there is only the lower half
     * (0: there is none). */
    nl_sim_dim (*cluster_dim)(void);
    void (*cluster_arrive)(unsigned thread, nl_sim_site site);
    void (*cluster_wait)(unsigned thread, nl_sim_site site);
    void *(*cluster_map)(const void *address, unsigned rank, unsigned thread, nl_sim_site site);
    int (*cluster_rank_of)(const void *address);
    unsigned long long (*cluster_complete)(unsigned low);
    /* All threads of a tile (there are 64, 128, ... 1024) meet, and each gets the value of the tile's
     * thread `source`, with or without NL_SIM_TILE_ONE_SOURCE. */
    unsigned long long (*tile)(unsigned threads, unsigned long long value, unsigned source, unsigned thread,
                               nl_sim_site site);
} nl_sim_ops;

/* Exported by every image as "nl_sim_image_init"; called once per load, before anything else. */
typedef void (*nl_sim_image_init_fn)(const nl_sim_ops *ops);

/* An image as bytes (what cuModuleLoadData gets): this header, then `size` bytes of shared object. */
#define NL_SIM_IMAGE_MAGIC "NLSIMG01"
typedef struct nl_sim_image_header {
    char magic[8];
    unsigned long long size;
} nl_sim_image_header;

#endif
