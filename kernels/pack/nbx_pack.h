/* The pack interface: how kernels reach the harness, and the only way.
 *
 * A pack is a shared library that exports nbx_pack_open. It may be built by any compiler with any flags, in any
 * language that can fill these structs. The harness loads it in a child process, so a pack that crashes, hangs or
 * lies costs a red case and not the run.
 *
 * Growth: struct_size comes first in every struct that may grow and holds the size that its writer knew. A reader
 * takes what lies beyond it as zero. Arrays of such structs are arrays of pointers. Names are matched as text, so a
 * new parameter, launch option or clause needs no new field: a kernel refuses by name what it does not know.
 */
#ifndef NBX_PACK_H
#define NBX_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NBX_PACK_INTERFACE 1

#if defined(_WIN32)
#define NBX_EXPORT __declspec(dllexport)
#else
#define NBX_EXPORT __attribute__((visibility("default")))
#endif

/* Every entry point that can fail returns a status and writes a message (NUL-terminated, cut at capacity).
 * A message of NBX_INVALID names the argument, its value and what is accepted. */
typedef int32_t nbx_status;
enum {
  NBX_OK = 0,
  NBX_INVALID = 1,       /* the call breaks a documented precondition; nothing was written */
  NBX_UNSUPPORTED = 2,   /* a right call that this kernel does not serve: reported as declined, with the message */
  NBX_OUT_OF_MEMORY = 3, /* the device refused memory; nothing was written */
  NBX_DEVICE_ERROR = 4,  /* the driver or the device failed */
  NBX_INTERNAL = 5
};

typedef uint32_t nbx_role;
enum {
  NBX_IN = 0,
  NBX_OUT = 1,    /* every element is written */
  NBX_INOUT = 2,  /* exactly the elements that the call names are written */
  NBX_PARTIAL = 3 /* an output that another kernel consumes; every element is written */
};

typedef struct nbx_tensor {
  uint32_t struct_size;
  nbx_role role;
  const char* name; /* the family's name for it: "q", "k", "v", "bias", "o", "lse", "x", "y" */
  DLTensor tensor;  /* shape and strides have tensor.ndim entries; a size-1 axis may carry any stride */
} nbx_tensor;

typedef uint32_t nbx_param_kind;
enum { NBX_INT = 0, NBX_REAL = 1, NBX_TEXT = 2 };

/* A scalar of the problem or an option of the launch. Frozen: never grows. */
typedef struct nbx_param {
  const char* name;
  nbx_param_kind kind;
  int64_t integer;
  double real; /* fp32 parameters (scale) are exact here */
  const char* text;
} nbx_param;

/* How the ranks of a ring talk. Memory is the device's, in the order of `stream`; every rank makes the same calls in
 * the same order. A status other than NBX_OK means that a rank is gone: give up. */
typedef struct nbx_communicator nbx_communicator;
struct nbx_communicator {
  uint32_t struct_size;
  int32_t rank, ranks;
  const char* kind; /* "in-process", "mpi", "nccl" */
  void* handle;     /* the library's own */
  /* Sends `bytes` to rank `to` and receives as many from rank `from`. The two do not overlap. */
  nbx_status (*exchange)(const nbx_communicator* self, const void* send, int32_t to, void* receive, int32_t from,
                         uint64_t bytes, void* stream);
  /* receive[r] = rank r's `send`, each of `bytes`. */
  nbx_status (*all_gather)(const nbx_communicator* self, const void* send, void* receive, uint64_t bytes, void* stream);
};

/* What is to be computed. An absent parameter has the family's default (kernels/README.md lists the families, their
 * tensors and parameters). */
typedef struct nbx_problem {
  uint32_t struct_size;
  const char* family;
  const nbx_tensor* const* tensors;
  size_t tensor_count;
  const nbx_param* params;
  size_t param_count;
  int32_t rank, ranks;                  /* of a ring; 0 of 1 without one */
  const nbx_communicator* communicator; /* of a ring, NULL without one */
} nbx_problem;

/* The order in which a back end that can choose runs blocks of a grid and items of a phase. */
typedef uint32_t nbx_order;
enum { NBX_FORWARD = 0, NBX_REVERSE = 1, NBX_STRIDED = 2, NBX_SHUFFLED = 3 };

/* Where a run takes its buffers from, one by one, in place of the workspace. The memory is the device's. */
typedef struct nbx_allocator nbx_allocator;
struct nbx_allocator {
  uint32_t struct_size;
  void* (*allocate)(nbx_allocator* self, const char* name, uint64_t bytes); /* aligned to 256; NULL: refused */
  void (*release)(nbx_allocator* self, void* memory);
};

/* How it is to be computed. Nothing here may change an output bit, save options whose axis names no clause. */
typedef struct nbx_launch {
  uint32_t struct_size;
  nbx_order block_order;
  nbx_order item_order;
  uint64_t order_seed;
  uint32_t threads; /* host threads that run blocks; 0 and 1 are one */
  const nbx_param* options;
  size_t option_count;
  void* workspace; /* of workspace_bytes, aligned to 256, in the device's memory, content undefined */
  uint64_t workspace_bytes;
  void* stream; /* the device's stream, NULL for its default */
  nbx_allocator*
      allocator; /* NULL: none. A kernel that declares its cost takes every buffer from it, all others none */
} nbx_launch;

/* How a matrix product multiplies and adds. */
typedef uint32_t nbx_unit;
enum {
  NBX_SIMT_F32 = 0,  /* `chains` interleaved fp32 fma chains in rising k from +0, folded by a balanced tree */
  NBX_ANY_ORDER = 1, /* any order of additions with unit roundoff `unit_roundoff` */
  /* Matrix units, by instruction; each takes its exact model from the architecture that the pack imitates. */
  NBX_M16N8K16_F16 = 16,
  NBX_M16N8K16_BF16 = 17,
  NBX_M16N8K8_TF32 = 18,
  NBX_M16N8K32_E4M3 = 19,
  NBX_M8N8K4_F16 = 20,
  NBX_WGMMA_E4M3 = 21,
  NBX_WGMMA_BF16 = 22,
  /* f32 operands in two parts of f16 on m8n8k4: x · 2^s = hi + 2^-11 · lo, s common to a row of A or a column of B,
   * whose largest element comes to [2^14, 2^15), |s| <= 126. Of each `group_keys` terms hi·hi make one chain, hi·lo and
   * lo·hi of each four another; hi·hi + 2^-11 · the other is added to an fp32 sum. lo·lo is left out. */
  NBX_M8N8K4_SPLIT = 23
};

typedef struct nbx_dot {
  uint32_t struct_size;
  nbx_unit unit;
  uint32_t chains;         /* NBX_SIMT_F32 */
  uint32_t products_exact; /* NBX_ANY_ORDER: 1 where products carry no rounding of their own */
  double unit_roundoff;    /* NBX_ANY_ORDER: of its additions, and of its products unless exact */
  DLDataType operand;      /* both operands are narrowed to this format, to nearest, before they are multiplied */
  uint32_t group_keys;     /* terms summed in the unit before each fp32 addition; 0: all */
  uint64_t reserved[4];    /* zero. nbx_arithmetic holds this struct by value: it grows into this room alone */
} nbx_dot;

typedef uint32_t nbx_scale_at;
enum {
  NBX_SCALE_SCORE = 0, /* one fp32 multiplication of the finished dot product */
  NBX_SCALE_QUERY = 1  /* q · scale, narrowed to the operand format, before the product */
};
typedef uint32_t nbx_log2_at;
enum {
  NBX_EXP_NATURAL = 0,     /* p = exp(s - m) by a function of its own */
  NBX_EXP2_DIFFERENCE = 1, /* p = exp2((s - m) · fp32(log2 e)) */
  NBX_EXP2_SCORE = 2,      /* scores are multiplied by fp32(log2 e) before the maximum */
  NBX_EXP2_DIRECT = 3,     /* p = exp2(s - m): scores are exponents of two (family splash) */
  /* With c = fp32(scale · fp32(log2 e)), s a finished dot product and M the least whole number that is not under s · c
   * of any key so far: p = exp2(s · c - M), the exponent taken exactly, its fraction rounded once; so rescaling by
   * exp2(M_old - M) is exact but for underflow. Where |M| > 2^21, s · c is rounded before. Where there is a bias other
   * than 0, s becomes fp32(fp32(s · scale) + bias) · fp32(1 / scale), rounded. */
  NBX_EXP2_WHOLE = 4
};
typedef uint32_t nbx_normalise;
enum {
  NBX_DIVIDE_OUTPUT = 0,    /* o / l */
  NBX_DIVIDE_WEIGHTS = 1,   /* p / l before P·V */
  NBX_RECIPROCAL_OUTPUT = 2 /* o · (1 / l) */
};
typedef uint32_t nbx_masked_value;
enum {
  NBX_MASKED_INERT = 0,     /* a non-finite value at a position of bias -inf shows nowhere */
  NBX_MASKED_PROPAGATES = 1 /* it shows as 0 · value does */
};

/* The declared arithmetic, from which the oracle derives the bound. All of it is fp32 but for what says otherwise.
 * A kernel that rounds more than it declares is red; one that declares more than it rounds is reported as loose. */
typedef struct nbx_arithmetic {
  uint32_t struct_size;
  nbx_dot qk, pv;
  nbx_scale_at scale_at;
  nbx_log2_at log2_at;
  nbx_normalise normalise;
  nbx_masked_value masked_value;
  DLDataType p_format; /* of the weights as P·V reads them */
  double exp_ulp;      /* |exp or exp2 − exact| ≤ exp_ulp · max(ulp(exact), 2^−149) */
  double log_ulp;      /* of the logarithm in an LSE or a log-softmax, the whole of log(l), same unit */
  double divide_ulp;   /* 0.5 is IEEE */
  int64_t sum_depth;   /* the most additions that one weight passes through in the row sum */
  int64_t rescales;    /* the most times that a running maximum can move within a row; 0: none is kept */
  uint32_t flush_to_zero;
  uint32_t fixed_shift;     /* 1 where a row subtracts the shift that the problem names for it, if it names one */
  int64_t merges;           /* the most results, each divided by its own sum, that are merged by their base-2 LSE */
  double p_scale;           /* a power of two that weights are multiplied by before they take p_format; 0: none */
  uint32_t scale_roundings; /* fp32 roundings of the factor of scores before it multiplies them: of operands' scales */
  uint32_t value_roundings; /* fp32 roundings of o beside its division: by a scale of values */
} nbx_arithmetic;

/* One way to vary the launch. Gates 1-3 run every value; `clause` names the equality that holds along it
 * ("gate3.grid", "gate3.chunk", "gate3.split"), NULL where bits may differ. */
typedef struct nbx_axis {
  uint32_t struct_size;
  const char* option;
  const char* clause;
  const int64_t* values;
  size_t value_count;
} nbx_axis;

/* A promise of bit-equality, or, with a reason, the statement that it is not made. */
typedef struct nbx_equality {
  uint32_t struct_size;
  const char* clause; /* "gate3.rows", "gate3.pair", ... */
  const char* other;  /* the kernel that gate3.pair compares with, else NULL */
  const char* reason; /* NULL where promised; else why it is not */
} nbx_equality;

/* Limits that gate 5 holds the compiled kernel to, under every compiler. */
typedef struct nbx_limits {
  uint32_t struct_size;
  int32_t registers, stack_bytes, spill_bytes, shared_bytes;
} nbx_limits;

/* A kernel that is wrong on purpose. */
typedef struct nbx_control {
  uint32_t struct_size;
  const char* mutates;       /* the honest kernel */
  const char* planted;       /* what was planted, one sentence */
  const char* const* red_at; /* clause ids; red at each of these, green at all others of earlier gates */
  size_t red_at_count;
  const char* const* problems; /* patterns of problems that it is judged on; none: the quick set of the family */
  size_t problem_count;
  const char* verdict; /* NULL: must be red. "equivalent": provably changes nothing.
                          "within bound": provably fits it. The proof stands in `planted`. */
  uint32_t crashes;    /* 1 where the planted fault is a crash or a hang */
} nbx_control;

/* A buffer of a run beside the caller's tensors. Time counts the makings and releases of buffers in the run, from 0. */
typedef struct nbx_buffer {
  uint32_t struct_size;
  const char* name;
  uint64_t bytes;
  uint32_t made, freed;
} nbx_buffer;

#define NBX_MOST_BUFFERS 16

/* The declared cost of a run, to the byte. Frozen: never grows. */
typedef struct nbx_cost {
  nbx_buffer buffers[NBX_MOST_BUFFERS];
  uint32_t buffer_count;
  uint64_t peak_bytes;     /* the most that the buffers hold at one time */
  uint64_t returned_bytes; /* of the outputs, which are the caller's: apart */
  uint64_t operations;     /* additions and multiplications of the products: 2·B·H·Tq·Tk·(D + Dv) of attention */
} nbx_cost;

typedef struct nbx_kernel nbx_kernel;
struct nbx_kernel {
  uint32_t struct_size;
  const char* name;                    /* family.variant.format: "math.simt.bf16" */
  const char* family;                  /* the contract that applies: "softmax", "log_softmax", "attention" */
  DLDataType format;                   /* of the family's main operands and outputs */
  const char* const* optional_outputs; /* the family's optional tensors that it gives, or takes ("lse") */
  size_t optional_output_count;
  uint32_t alignment; /* bytes that each tensor's data must be aligned to */
  const nbx_axis* const* axes;
  size_t axis_count;
  const nbx_equality* const* equalities;
  size_t equality_count;
  /* Says NBX_UNSUPPORTED with the reason where it does not serve the problem. Reads shapes, strides, formats and
   * parameters, never data. */
  nbx_status (*can_run)(const nbx_kernel* self, const nbx_problem* problem, char* message, size_t capacity);
  nbx_status (*arithmetic)(const nbx_kernel* self, const nbx_problem* problem, nbx_arithmetic* out, char* message,
                           size_t capacity);
  nbx_status (*workspace_bytes)(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch,
                                uint64_t* out, char* message, size_t capacity);
  /* May synchronise and read device tables. The runner calls it before run. */
  nbx_status (*check)(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch, char* message,
                      size_t capacity);
  /* Defined only after a check that passed, but for shapes, formats and parameters, which it checks itself.
   * Asynchronous on launch->stream. */
  nbx_status (*run)(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch, char* message,
                    size_t capacity);
  const void* context;        /* the kernel's own */
  const nbx_control* control; /* NULL for an honest kernel */
  const nbx_limits* limits;   /* NULL: no stack, no spills, other resources free */
  const char* symbol;         /* the device symbol whose code gate 5 records, NULL on the CPU */
  const char* unit;           /* the translation unit that holds it, as the bisect mixes it; NULL: unknown */
  /* What it decides for this problem and launch, and why, in words, as the message of NBX_OK: a route, a tile. Reads no
   * data. NULL: there is nothing to decide. */
  nbx_status (*explain)(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch, char* message,
                        size_t capacity);
  /* What the run will take, for a launch whose allocator gives the memory. Reads no data. NULL: not declared. */
  nbx_status (*cost)(const nbx_kernel* self, const nbx_problem* problem, const nbx_launch* launch, nbx_cost* out,
                     char* message, size_t capacity);
};

/* Memory of the pack's device. On kDLCPU all may be NULL: the harness then gives host memory whose ends are
 * protected pages. guard != 0 asks that an access past the end of the allocation faults. */
typedef struct nbx_memory {
  uint32_t struct_size;
  nbx_status (*allocate)(uint64_t bytes, int guard, void** out, char* message, size_t capacity);
  void (*release)(void* memory);
  nbx_status (*copy_in)(void* device, const void* host, uint64_t bytes);
  nbx_status (*copy_out)(void* host, const void* device, uint64_t bytes);
  nbx_status (*synchronise)(char* message, size_t capacity); /* reports asynchronous errors */
  uint32_t can_guard;
} nbx_memory;

typedef struct nbx_pack {
  uint32_t struct_size;
  uint32_t pack_interface; /* NBX_PACK_INTERFACE */
  const char* name;        /* "cpu", "cuda", "controls", ... */
  DLDevice device;
  const char* device_name; /* "NVIDIA H200"; the host's for a CPU pack */
  const char* imitates;    /* the architecture whose matrix units it models, "sm_90"; NULL: none */
  const char* toolchain;   /* "g++ 12.2.0" */
  const char* flags;       /* "-O3 -ffp-contract=off" */
  const nbx_kernel* const* kernels;
  size_t kernel_count;
  const nbx_memory* memory;
  const char* compile_commands; /* for the bisect: a path, NULL where not shipped */
  const char* driver;           /* the device's driver, and whether it compiled PTX at load; NULL on a CPU */
} nbx_pack;

/* The one symbol of a pack. Returns NULL and a message where it cannot serve (another interface, no device). */
NBX_EXPORT const nbx_pack* nbx_pack_open(uint32_t pack_interface, char* message, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* NBX_PACK_H */
