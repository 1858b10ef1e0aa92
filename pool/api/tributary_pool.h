/* C interface of libtributary-pool: training data from the cluster's memory, into the caller's.
 *
 *   tributary_pool *pool;
 *   if (tributary_pool_open("/etc/tributary/pool.yaml", &pool) != TRIBUTARY_POOL_OK)
 *     die(tributary_pool_last_error());
 *   tributary_pool_register_buffer(pool, buffer, bytes);
 *   tributary_pool_get_into(pool, 17, buffer, bytes);
 *   tributary_pool_close(pool);
 *
 * Every function that returns tributary_pool_status sets the calling thread's last error when that
 * is not TRIBUTARY_POOL_OK. Any thread may use a pool; it is closed by one, when no other uses it.
 * After a fork each process has connections of its own. No C++ exception leaves the library.
 */
#ifndef TRIBUTARY_POOL_H
#define TRIBUTARY_POOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tributary_pool_status {
  TRIBUTARY_POOL_OK = 0,
  TRIBUTARY_POOL_INVALID_ARGUMENT =
      1,                         /* an unknown id, a target that is too short, a null pointer */
  TRIBUTARY_POOL_UNREADABLE = 2, /* records that neither the pool nor the store gives */
  TRIBUTARY_POOL_FAILED = 3,     /* configuration, manifest, memory or another resource */
  TRIBUTARY_POOL_NOT_DONE = 4    /* tributary_pool_wait_for: the time is over */
} tributary_pool_status;

typedef struct tributary_pool tributary_pool;

/* Cumulative, of this process. */
typedef struct tributary_pool_stats {
  size_t struct_size; /* set by the caller: sizeof(tributary_pool_stats) */
  uint64_t hits;      /* records from the pool */
  uint64_t misses;    /* records from the store */
  uint64_t pool_bytes;
  uint64_t store_bytes;
  uint64_t stale;         /* entries that were out of date */
  uint64_t corrupt;       /* records whose CRC32C was wrong */
  uint64_t node_failures; /* nodes that died, or could not be reached */
} tributary_pool_stats;

/* Reads the pool's file and its manifest; nodes are connected at the first load. */
tributary_pool_status tributary_pool_open(const char* config_path, tributary_pool** pool);
/* Finishes what was begun. NULL is allowed. */
void tributary_pool_close(tributary_pool* pool);

/* Records have ids from 0 to tributary_pool_records() - 1. */
uint64_t tributary_pool_records(const tributary_pool* pool);
/* Bytes of a record. */
tributary_pool_status tributary_pool_length(const tributary_pool* pool, uint64_t id,
                                            uint32_t* length);

/* Makes a target known to RDMA devices; parts of it are targets, too. It lives until it is
 * unregistered, by its first byte, or the pool is closed. */
tributary_pool_status tributary_pool_register_buffer(tributary_pool* pool, void* buffer,
                                                     size_t bytes);
tributary_pool_status tributary_pool_unregister_buffer(tributary_pool* pool, void* buffer);

/* One record into `target`, which is at least as long. */
tributary_pool_status tributary_pool_get_into(tributary_pool* pool, uint64_t id, void* target,
                                              size_t bytes);
/* Record ids[i] into targets[i], of sizes[i] bytes. Nothing is read where an argument is invalid.
 * Where records are unreadable, the others are there. */
tributary_pool_status tributary_pool_get_batch(tributary_pool* pool, const uint64_t* ids,
                                               size_t count, void* const* targets,
                                               const size_t* sizes);

/* Called once, on a thread of the pool: `problem` is NULL, or a text that lives until the return.
 */
typedef void (*tributary_pool_done)(void* context, tributary_pool_status status,
                                    const char* problem);
/* As tributary_pool_get_batch(); returns when the request is in the queue, or invalid: `done` is
 * not called then. ids, targets and sizes are copied; the targets' memory stays until `done`, which
 * must not wait for the pool or close it. */
tributary_pool_status tributary_pool_get_batch_async(tributary_pool* pool, const uint64_t* ids,
                                                     size_t count, void* const* targets,
                                                     const size_t* sizes, tributary_pool_done done,
                                                     void* context);
/* Until all that was begun before is done. */
tributary_pool_status tributary_pool_wait(tributary_pool* pool);
/* As tributary_pool_wait(), for at most so many seconds, from 0 to 86400. After
 * TRIBUTARY_POOL_NOT_DONE all goes on. */
tributary_pool_status tributary_pool_wait_for(tributary_pool* pool, double seconds);

/* Treatment of records that do not fill a turn of all ranks. */
typedef enum tributary_pool_uneven {
  TRIBUTARY_POOL_CONFIGURED = 0, /* as `load.pad` of the pool's file says: PAD or KEEP */
  TRIBUTARY_POOL_PAD = 1,        /* the epoch's first records come again */
  TRIBUTARY_POOL_DROP = 2,       /* the epoch's last records are left out */
  TRIBUTARY_POOL_KEEP = 3        /* each comes once, so that ranks differ by one */
} tributary_pool_uneven;

/* Order of a process's records. */
typedef struct tributary_pool_epochs {
  size_t struct_size; /* set by the caller: sizeof(tributary_pool_epochs) */
  uint64_t seed;      /* decides the order; the same on every rank */
  uint64_t rank;      /* of this process */
  uint64_t ranks;     /* processes that share the records, at least 1 */
  int in_order;       /* 0: shuffled; else by id */
  int uneven;         /* a tributary_pool_uneven */
} tributary_pool_epochs;

/* Place of a record in the buffer that it was loaded into. */
typedef struct tributary_pool_record {
  uint64_t id;
  uint64_t offset; /* a multiple of 64 */
  uint64_t length;
} tributary_pool_record;

/* Begins with the first epoch. NULL, and a pool for which this was not called: seed 0, rank 0 of 1,
 * shuffled. */
tributary_pool_status tributary_pool_start_epochs(tributary_pool* pool,
                                                  const tributary_pool_epochs* epochs);
/* The next records that tributary_pool_load() with this amount brings: how many, and how many bytes
 * they take in a buffer. A count of 0 is the end of the epoch. Moves nothing.
 * amount: a number of records, "4096", or of bytes, "64 MiB"; NULL: `load.amount` of the file. */
tributary_pool_status tributary_pool_next(tributary_pool* pool, const char* amount, size_t* count,
                                          size_t* bytes);
/* Loads this process's next records into `target`, and says where each is. Where the epoch is over,
 * the count is 0 once, and the next call begins the next epoch. `target` and `records`, of
 * `capacity` places, must have room for what tributary_pool_next() says: where they have not,
 * nothing is loaded and nothing moves. After TRIBUTARY_POOL_UNREADABLE the pool stands behind these
 * records, and those that could be read are there. */
tributary_pool_status tributary_pool_load(tributary_pool* pool, const char* amount, void* target,
                                          size_t bytes, tributary_pool_record* records,
                                          size_t capacity, size_t* count);
/* The place to go on from, in this process or another with the same tributary_pool_epochs. */
tributary_pool_status tributary_pool_get_position(tributary_pool* pool, uint64_t* epoch,
                                                  uint64_t* position);
tributary_pool_status tributary_pool_set_position(tributary_pool* pool, uint64_t epoch,
                                                  uint64_t position);

tributary_pool_status tributary_pool_get_stats(const tributary_pool* pool,
                                               tributary_pool_stats* stats);

/* The calling thread's latest problem; "" if there was none. Valid until its next failure. */
const char* tributary_pool_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
