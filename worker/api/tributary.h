/* C interface of libtributary: join a job, reduce arrays with the other ranks, leave.
 *
 *   tributary_options o;
 *   tributary_options_init(&o);
 *   o.job = 1; o.rank = 0; o.size = 4; o.address = "udp://10.77.0.254";
 *   tributary_communicator *comm;
 *   if (tributary_create(&o, &comm) != TRIBUTARY_OK) die(tributary_last_error());
 *   tributary_allreduce(comm, data, count, TRIBUTARY_FLOAT32, TRIBUTARY_SUM);
 *   tributary_destroy(comm);
 *
 * Every function that returns tributary_status sets the calling thread's last error when that is
 * not TRIBUTARY_OK. Any thread may use a communicator; it is destroyed by one, when no other uses
 * it. A communicator does not survive fork(): in the child its calls fail and tributary_destroy()
 * only frees it; the parent's is not affected. No C++ exception leaves the library.
 */
#ifndef TRIBUTARY_H
#define TRIBUTARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a part is removed or changes its meaning; additions do not change it. */
#define TRIBUTARY_ABI_VERSION 0

typedef enum tributary_status {
  TRIBUTARY_OK = 0,
  TRIBUTARY_INVALID_ARGUMENT = 1,
  TRIBUTARY_FAILED = 2,   /* the op or the job failed: timeout, abort, refusal */
  TRIBUTARY_SYSTEM = 3,   /* socket, memory or another resource */
  TRIBUTARY_NOT_DONE = 4, /* tributary_wait_for: the time is over, or a signal handler ran */
  TRIBUTARY_OVERFLOW = 5  /* the op's result left the range of its type; the job goes on */
} tributary_status;

/* Values as in the wire format. */
typedef enum tributary_dtype {
  TRIBUTARY_INT8 = 1,
  TRIBUTARY_INT16 = 2,
  TRIBUTARY_INT32 = 3,
  TRIBUTARY_INT64 = 4,
  TRIBUTARY_UINT8 = 5,
  TRIBUTARY_UINT32 = 6,
  TRIBUTARY_UINT64 = 7,
  TRIBUTARY_FLOAT16 = 8,
  TRIBUTARY_BFLOAT16 = 9,
  TRIBUTARY_FLOAT32 = 10,
  TRIBUTARY_FLOAT64 = 11,
  TRIBUTARY_BOOL = 12 /* one byte: 0 or 1 */
} tributary_dtype;
/* Integers: all but MEAN. Floats: SUM to MAX. Bool: MIN, MAX and everything from BAND on. */
typedef enum tributary_reduce_op {
  TRIBUTARY_SUM = 1,
  TRIBUTARY_MEAN = 2,
  TRIBUTARY_PROD = 3,
  TRIBUTARY_MIN = 4,
  TRIBUTARY_MAX = 5,
  TRIBUTARY_BAND = 6,
  TRIBUTARY_BOR = 7,
  TRIBUTARY_BXOR = 8,
  TRIBUTARY_LAND = 9,
  TRIBUTARY_LOR = 10,
  TRIBUTARY_LXOR = 11
} tributary_reduce_op;
typedef enum tributary_collective {
  TRIBUTARY_ALLREDUCE = 0,      /* data: count elements, in place */
  TRIBUTARY_REDUCE = 1,         /* data: count elements; root's is replaced by the result */
  TRIBUTARY_BROADCAST = 2,      /* data: count elements of root, received by the others */
  TRIBUTARY_ALL_GATHER = 3,     /* data: count elements; output: size x count, rank by rank */
  TRIBUTARY_REDUCE_SCATTER = 4, /* data: size x count elements; output: this rank's count */
  TRIBUTARY_BARRIER = 5,
  /* For a job whose parameter server holds the model: float32, in place. After each create every
   * array is opened; then each step updates every array once. */
  TRIBUTARY_OPEN = 6,  /* data: root's first values; becomes the current parameters. With array
                          TRIBUTARY_MODEL_STEP: one uint32, which becomes the steps done + 1, or 0
                          if there are no parameters yet */
  TRIBUTARY_UPDATE = 7 /* data: gradients (op SUM or MEAN); becomes the parameters after the step */
} tributary_collective;
typedef enum tributary_encoding {
  TRIBUTARY_PLAIN = 0,
  /* Allreduce of float32 with SUM: the same bits, whatever the order in which data arrives. */
  TRIBUTARY_BLOCK_SCALED = 1
} tributary_encoding;

typedef struct tributary_communicator tributary_communicator;
typedef struct tributary_request tributary_request;

typedef struct tributary_options {
  size_t struct_size; /* set by tributary_options_init */
  uint32_t job;
  /* With size 0 both come from torchrun's, mpirun's or Slurm's environment. */
  uint32_t rank;
  uint32_t size;
  /* "udp://SWITCH_IPV4[:PORT]", the same with rdma:// (docs/rdma.md), or
   * "memif:///SOCKET[?id=N&switch=IPV4]", in which {rank} is replaced. Several, separated by
   * commas, equal on every rank: switches that share the work of each op. NULL: TRIBUTARY_ADDRESS
   * of the environment. */
  const char* address;
  double join_timeout_seconds;
  double op_timeout_seconds;
  /* How losses are found. 0: each chunk has its own timer. N, a power of two up to 4096: in groups
   * of N consecutive chunks of a shard; a group's missing ones are asked for together. */
  uint32_t loss_group;
  /* If set, this process also hosts completion engines, from tributary_create to
   * tributary_destroy: a server's file, or a topology, in which host_node names a server or this
   * worker. NULL: it does not. */
  const char* host_config;
  const char* host_node;
  /* Not 0: the job's completion host (a parameter server, if it names one) sums this rank's data,
   * and no switch does. */
  uint32_t at_host;
  /* "ops": ops of an epoch that a dead switch or link has ended are done again in another one,
   * exactly once for the caller; the same on every rank. "none": they fail. NULL: TRIBUTARY_RETRY
   * of the environment, or none. */
  const char* retry;
  double retry_timeout_seconds; /* for all ranks to meet again */
  /* Another process that has this rank may be about to end, so tributary_create says so on stderr
   * and waits for that, until the join timeout. Not 0: it fails as soon as that process has
   * answered the switch. */
  uint32_t fail_if_taken;
  /* A cluster's manager, "unix:PATH" or "HOST:PORT" of tributary-managerd, several with commas
   * between. It says job and address, and is tried for join_timeout_seconds. Over TLS,
   * TRIBUTARY_TLS_CA, TRIBUTARY_TLS_CERT and TRIBUTARY_TLS_KEY of the environment name PEM files.
   * NULL: none, and the three that follow are NULL. */
  const char* manager;
  const char* job_name;
  /* A file with the job's request: any rank may submit it, the others find the job there. */
  const char* request;
  /* This rank as a worker of the topology; NULL: the one with the host's name. With size not 0,
   * which has to be the job's, rank says it. */
  const char* worker;
  /* The switch need not have the job (switch.open_jobs): it learns it from its ranks. "inline":
   * from each rank as it joins. "control": from the first unit of each node, and the others wait.
   * "wait": this rank brings nothing. NULL: the switch has the job. Rank r is unit r % units of
   * node r / units; equal on all ranks. nodes 0: size / units, and both 0: one node. */
  const char* open;
  uint32_t units;
  uint32_t nodes;
  uint32_t window;      /* chunks in flight, a power of two; 0: 64 */
  uint32_t chunk_bytes; /* of a packet, a multiple of 8; 0: 1024 */
  /* Equal on all ranks of one start of a program, and another at its next start: ranks of two
   * starts form no epoch, but the later ones wait until the earlier ones have gone. NULL:
   * TRIBUTARY_RUN of the environment; without it, ranks of any run may meet. */
  const char* run;
  /* With several switches in address, count not 0: the bits from `low` on of an array's address
   * choose the switch of each chunk, the same bits on every rank. Ops then need memory whose lowest
   * low + count bits are the same on all ranks, as tributary_allocate gives it. Count 0:
   * TRIBUTARY_ADDRESS_BITS of the environment, "LOW,COUNT"; without it each switch gets a run of an
   * op's chunks, wherever its memory is. */
  uint32_t address_bits_low;
  uint32_t address_bits_count;
} tributary_options;

/* Cumulative since tributary_create. Bytes are payload bytes. */
typedef struct tributary_stats {
  size_t struct_size; /* set by the caller: sizeof(tributary_stats) */
  uint64_t ops;
  uint64_t contributions;
  uint64_t contribution_bytes;
  uint64_t results;
  uint64_t result_bytes;
  uint64_t duplicate_results;
  uint64_t probes;
  uint64_t resends;
  uint64_t pending_replies;
  uint64_t unknown_replies;
  uint64_t drops;
  uint64_t smoothed_rtt_ns;
  uint64_t float_retries;    /* chunks summed as floats because fixed-point sums overflow */
  uint64_t degraded_results; /* chunks whose result lacks ranks */
  uint64_t marked_results;   /* chunks whose result carries a congestion mark */
  uint64_t reported_marks;   /* results that got a mark on their way to this rank */
  uint64_t window_decreases; /* halvings of a shard's window for marked results */
  uint64_t least_window;     /* chunks in flight: the smallest limit that a shard had */
  uint64_t asked_results;    /* came only as the answer to a probe: if all did, multicast is lost */
  uint64_t retries;          /* epochs in which ops of a lost one were done again */
} tributary_stats;

/* The ranks whose data is in an op's result: all ranks, unless the job allows results without late
 * ranks. Then all ranks, the late ones included, hold the same result and the same list. */
typedef struct tributary_outcome {
  size_t struct_size; /* set by the caller: sizeof(tributary_outcome) */
  uint32_t degraded;  /* 1: some rank is missing */
  uint32_t counted;   /* ranks whose data is in every chunk of the op */
  uint32_t missing;   /* all others; tributary_request_missing names them */
} tributary_outcome;

/* Elements of a result from `begin` on that contain the data of so many ranks. */
typedef struct tributary_part {
  size_t begin;
  size_t count;
  uint32_t counted;
} tributary_part;

/* Version of the library, e.g. "0.1.0". */
const char* tributary_version(void);
/* Text of the calling thread's last failure; "" when there was none. Valid until its next one. */
const char* tributary_last_error(void);
/* Why the job or the op failed, as the switch gave it: "rank-left", "lease-expired", "host-lost"
 * and so on. "" for local errors and for timeouts without an answer. Valid as
 * tributary_last_error(). */
const char* tributary_last_error_reason(void);
/* Ranks that the calling thread's last failure names. Copies up to `capacity`, returns how many. */
size_t tributary_last_error_ranks(uint32_t* ranks, size_t capacity);

/* Defaults: timeouts of 60 s, a timer for each chunk. */
void tributary_options_init(tributary_options* options);
/* Joins and waits for all ranks. On success *communicator is the caller's to destroy. */
tributary_status tributary_create(const tributary_options* options,
                                  tributary_communicator** communicator);
/* Open ops fail; the switch is told that this rank leaves. NULL is allowed. */
void tributary_destroy(tributary_communicator* communicator);

/* In place: `data` holds `count` elements and must stay valid until the op is done. */
tributary_status tributary_allreduce(tributary_communicator* communicator, void* data, size_t count,
                                     tributary_dtype dtype, tributary_reduce_op op);
tributary_status tributary_allreduce_async(tributary_communicator* communicator, void* data,
                                           size_t count, tributary_dtype dtype,
                                           tributary_reduce_op op, tributary_request** request);
tributary_status tributary_barrier(tributary_communicator* communicator);

/* One array of a list. */
typedef struct tributary_array {
  void* data;
  size_t count; /* elements */
} tributary_array;

/* Any collective. Type, operation, count, root and encoding must be the same on every rank. */
typedef struct tributary_call {
  size_t struct_size; /* set by tributary_call_init */
  tributary_collective collective;
  tributary_dtype dtype;
  tributary_reduce_op op; /* of reductions; default SUM */
  tributary_encoding encoding;
  uint32_t root; /* of reduce, broadcast and open */
  void* data;    /* see tributary_collective; never written if the op has an output */
  void* output;  /* of all_gather and reduce_scatter */
  size_t count;
  /* For BLOCK_SCALED: values are rounded to multiples of 2^scale_exponent, equal on every rank; a
   * chunk that overflows is summed again as floats. TRIBUTARY_SCALE_AGREED, the default: the ranks
   * agree on exponents with which nothing overflows, in an exchange before. */
  int32_t scale_exponent;
  uint32_t array; /* of open and update: the array of the model */
  /* Not NULL: `array_count` arrays of dtype, treated as one, instead of data and count, for
   * ALLREDUCE, REDUCE and BROADCAST. A list costs one op; arrays that do not follow each other in
   * memory are copied, there and back. The list itself may go when tributary_start returns. */
  const tributary_array* arrays;
  size_t array_count;
} tributary_call;
#define TRIBUTARY_MODEL_STEP 0xFFFE
#define TRIBUTARY_SCALE_AGREED INT32_MIN
void tributary_call_init(tributary_call* call);
/* Starts the call; with request NULL, also waits for it. Its memory must stay valid until it is
 * done. A call that overlaps the memory of an op in flight is refused, unless both only read it.
 * In place: ALL_GATHER with data = its part of output, REDUCE_SCATTER with output = its part of
 * data or the head of data. Other overlaps of data and output are refused. */
tributary_status tributary_start(tributary_communicator* communicator, const tributary_call* call,
                                 tributary_request** request);

/* Blocks until the op is done. May be called again; the request stays until it is freed. */
tributary_status tributary_wait(tributary_request* request);
tributary_status tributary_wait_for(tributary_request* request, double seconds);
/* 1 when tributary_wait would not block. */
int tributary_done(const tributary_request* request);
/* For an op that is done; otherwise waits for it. */
tributary_status tributary_request_outcome(tributary_request* request, tributary_outcome* outcome);
/* Ranks that its result lacks, ascending: copies up to `capacity`, returns how many there are. 0
 * before the op is done, and if it failed. */
size_t tributary_request_missing(tributary_request* request, uint32_t* ranks, size_t capacity);
/* All elements that this rank gets, in order, by the number of ranks in them: copies up to
 * `capacity` parts, returns how many there are. 0 before the op is done, and if it failed. */
size_t tributary_request_parts(tributary_request* request, tributary_part* parts, size_t capacity);
/* Turns the result of an op with SUM into the mean of each element's ranks. `data`: the whole
 * result, of a float type. Waits for the op. */
tributary_status tributary_request_divide(tributary_request* request, void* data,
                                          tributary_dtype dtype);
/* Does not cancel the op: `data` stays in use until it is done. NULL is allowed. */
void tributary_request_free(tributary_request* request);

/* Memory of zeros for arrays. With address bits, its low bits are the same on all ranks if every
 * rank makes the same calls in the same order; arrays take turns over the switches, block by block.
 * Does not wait. On success *memory is the caller's to free by tributary_free, before or after
 * tributary_destroy. */
tributary_status tributary_allocate(tributary_communicator* communicator, size_t bytes,
                                    void** memory);
/* NULL is allowed. */
void tributary_free(void* memory);

/* Data by name (docs/names.md), in a job with `names`. A name is "TENSOR/v=VERSION", maybe with
 * "/worker=RANK" behind it, and with "/job/JOB/run=RUN/" before it: by default this job, in this
 * incarnation. A name has one value for good. Any rank may call either at any time; both wait, for
 * `seconds` at most. */
tributary_status tributary_put(tributary_communicator* communicator, const char* name,
                               const void* value, size_t bytes, double seconds);
/* On success *value, of *bytes bytes, is the caller's to free by tributary_value_free. */
tributary_status tributary_get(tributary_communicator* communicator, const char* name,
                               double seconds, void** value, size_t* bytes);
/* NULL is allowed. */
void tributary_value_free(void* value);

/* Elastic jobs (docs/protocol/resize.md): from the next op on the job has `size` ranks. Every rank
 * calls it between the same two ops, with the same size; new ranks call tributary_create with it.
 * Waits for all. On a rank that is `size` or more: it has left, and only tributary_destroy follows.
 * TRIBUTARY_INVALID_ARGUMENT: the job cannot have that size, and goes on as it was. */
tributary_status tributary_resize(tributary_communicator* communicator, uint32_t size);

uint32_t tributary_rank(const tributary_communicator* communicator);
uint32_t tributary_size(const tributary_communicator* communicator);
tributary_status tributary_get_stats(const tributary_communicator* communicator,
                                     tributary_stats* stats);

#ifdef __cplusplus
}
#endif

#endif /* TRIBUTARY_H */
