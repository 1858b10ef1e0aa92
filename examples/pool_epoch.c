/* Reads an epoch of a memory pool's records: this process's share of them, an amount at a time.
 *
 *   cc -O2 -I/usr/include/tributary pool_epoch.c -ltributary-pool -o pool_epoch
 *   ./pool_epoch /etc/tributary/pool.yaml [AMOUNT [RANK RANKS]]
 *
 * AMOUNT: such as 256, or "64 MiB"; "" is `load.amount` of the pool's file. Every rank gets other
 * records, in an order that the seed decides. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tributary_pool.h"

static void check(tributary_pool_status status) {
  if (status == TRIBUTARY_POOL_OK) return;
  fprintf(stderr, "pool_epoch: %s\n", tributary_pool_last_error());
  exit(1);
}

/* A buffer that is as large as it has to be, known to RDMA devices. */
static void* buffer;
static size_t buffer_bytes;
static tributary_pool_record* records;
static size_t most_records;

static void make_room(tributary_pool* pool, size_t count, size_t bytes) {
  if (bytes > buffer_bytes) {
    if (buffer != NULL) check(tributary_pool_unregister_buffer(pool, buffer));
    free(buffer);
    if ((buffer = aligned_alloc(64, bytes)) == NULL) abort();
    buffer_bytes = bytes;
    check(tributary_pool_register_buffer(pool, buffer, bytes));
  }
  if (count > most_records) {
    free(records);
    if ((records = calloc(count, sizeof *records)) == NULL) abort();
    most_records = count;
  }
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3 && argc != 5) {
    fprintf(stderr, "usage: pool_epoch POOL.yaml [AMOUNT [RANK RANKS]]\n");
    return 2;
  }
  const char* amount = argc > 2 && argv[2][0] != 0 ? argv[2] : NULL;
  tributary_pool* pool;
  check(tributary_pool_open(argv[1], &pool));
  tributary_pool_epochs epochs = {.struct_size = sizeof epochs, .seed = 1, .ranks = 1};
  if (argc == 5) {
    epochs.rank = strtoull(argv[3], NULL, 10);
    epochs.ranks = strtoull(argv[4], NULL, 10);
  }
  check(tributary_pool_start_epochs(pool, &epochs));

  uint64_t loads = 0, loaded = 0, loaded_bytes = 0, sum = 0;
  size_t count, bytes;
  for (;;) {
    check(tributary_pool_next(pool, amount, &count, &bytes));
    make_room(pool, count, bytes);
    check(tributary_pool_load(pool, amount, buffer, buffer_bytes, records, most_records, &count));
    if (count == 0) break; /* the epoch is over; the next call would begin the next one */
    loads++;
    for (size_t i = 0; i < count; i++) {
      const unsigned char* record = (const unsigned char*)buffer + records[i].offset;
      for (uint64_t b = 0; b < records[i].length; b++) sum += record[b];
      loaded++;
      loaded_bytes += records[i].length;
    }
  }
  printf("%" PRIu64 " records in %" PRIu64 " loads, %" PRIu64 " bytes, their sum is %" PRIu64 "\n",
         loaded, loads, loaded_bytes, sum);
  if (buffer != NULL) check(tributary_pool_unregister_buffer(pool, buffer));
  tributary_pool_close(pool);
  free(buffer);
  free(records);
  return 0;
}
