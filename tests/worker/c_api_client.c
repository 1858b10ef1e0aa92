/* The C interface used from C. */
#include "tests/worker/c_api_client.h"

#include <string.h>

#include "worker/api/tributary.h"

#define CHECK(condition) \
  if (!(condition)) return #condition

static const char* use_lists(tributary_communicator* comm) {
  int32_t apart[4] = {1, 2, 3, 4};
  const tributary_array arrays[3] = {{&apart[3], 1}, {NULL, 0}, {apart, 2}};
  tributary_call call;

  tributary_call_init(&call);
  call.dtype = TRIBUTARY_INT32;
  call.arrays = arrays;
  call.array_count = 3;
  CHECK(tributary_start(comm, &call, NULL) == TRIBUTARY_OK);
  CHECK(apart[0] == 1 && apart[1] == 2 && apart[3] == 4);
  call.count = 2;
  CHECK(tributary_start(comm, &call, NULL) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "in place of data") != NULL);
  call.count = 0;
  call.collective = TRIBUTARY_ALL_GATHER;
  CHECK(tributary_start(comm, &call, NULL) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "of a list of arrays") != NULL);
  return NULL;
}

static const char* use_memory(tributary_communicator* comm) {
  void* memory = NULL;

  CHECK(tributary_allocate(comm, 1000 * sizeof(int32_t), &memory) == TRIBUTARY_OK);
  for (int i = 0; i < 1000; ++i) CHECK(((int32_t*)memory)[i] == 0);
  ((int32_t*)memory)[999] = 9;
  CHECK(tributary_allreduce(comm, memory, 1000, TRIBUTARY_INT32, TRIBUTARY_SUM) == TRIBUTARY_OK);
  CHECK(((int32_t*)memory)[999] == 9);
  tributary_free(memory);
  CHECK(tributary_allocate(comm, SIZE_MAX, &memory) == TRIBUTARY_SYSTEM);
  CHECK(memory == NULL);
  CHECK(tributary_allocate(comm, 1, NULL) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_allocate(NULL, 1, &memory) == TRIBUTARY_INVALID_ARGUMENT);
  tributary_free(NULL);
  return NULL;
}

static const char* use(tributary_communicator* comm) {
  float values[5] = {1, 2, 3, 4, 5};
  int32_t more[2] = {6, 7};
  tributary_request* request = NULL;
  tributary_stats stats;
  tributary_outcome outcome;
  tributary_part part;
  tributary_call call;

  CHECK(tributary_rank(comm) == 0 && tributary_size(comm) == 1);
  CHECK(tributary_allreduce(comm, values, 5, TRIBUTARY_FLOAT32, TRIBUTARY_SUM) == TRIBUTARY_OK);
  CHECK(values[4] > 4.5f && values[4] < 5.5f);
  CHECK(tributary_allreduce_async(comm, more, 2, TRIBUTARY_INT32, TRIBUTARY_SUM, &request) ==
        TRIBUTARY_OK);
  CHECK(tributary_wait(request) == TRIBUTARY_OK);
  CHECK(tributary_done(request) == 1);
  CHECK(tributary_wait_for(request, 0) == TRIBUTARY_OK);
  memset(&outcome, 0, sizeof outcome);
  CHECK(tributary_request_outcome(request, &outcome) == TRIBUTARY_INVALID_ARGUMENT);
  outcome.struct_size = sizeof outcome;
  CHECK(tributary_request_outcome(NULL, &outcome) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_request_outcome(request, &outcome) == TRIBUTARY_OK);
  CHECK(outcome.degraded == 0 && outcome.counted == 1 && outcome.missing == 0);
  CHECK(tributary_request_missing(request, NULL, 0) == 0 &&
        tributary_request_missing(NULL, NULL, 0) == 0);
  CHECK(tributary_request_parts(request, &part, 1) == 1);
  CHECK(part.begin == 0 && part.count == 2 && part.counted == 1);
  CHECK(tributary_request_divide(request, more, TRIBUTARY_INT32) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "float16") != NULL);
  CHECK(tributary_request_divide(request, NULL, TRIBUTARY_FLOAT32) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_request_divide(request, more, TRIBUTARY_FLOAT32) == TRIBUTARY_OK);
  tributary_request_free(request);
  CHECK(more[1] == 7);
  CHECK(tributary_barrier(comm) == TRIBUTARY_OK);

  memset(&stats, 0, sizeof stats);
  stats.struct_size = sizeof stats;
  CHECK(tributary_get_stats(comm, &stats) == TRIBUTARY_OK);
  CHECK(stats.ops == 3 && stats.result_bytes == 28);
  /* A caller that knows only the first counter gets only that one. */
  memset(&stats, 0, sizeof stats);
  stats.struct_size = 2 * sizeof(uint64_t);
  CHECK(tributary_get_stats(comm, &stats) == TRIBUTARY_OK);
  CHECK(stats.ops == 3 && stats.contributions == 0);

  CHECK(tributary_allreduce(comm, NULL, 2, TRIBUTARY_INT32, TRIBUTARY_SUM) ==
        TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "null") != NULL);
  CHECK(tributary_allreduce(comm, more, 2, TRIBUTARY_FLOAT64, TRIBUTARY_BXOR) ==
        TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "float64") != NULL);

  CHECK(tributary_start(comm, NULL, NULL) == TRIBUTARY_INVALID_ARGUMENT);
  memset(&call, 0, sizeof call);
  CHECK(tributary_start(comm, &call, NULL) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "tributary_call_init") != NULL);
  tributary_call_init(&call);
  call.dtype = TRIBUTARY_INT32;
  call.data = more;
  call.count = 2;
  CHECK(tributary_start(comm, &call, NULL) == TRIBUTARY_OK);
  call.encoding = TRIBUTARY_BLOCK_SCALED;
  CHECK(tributary_start(comm, &call, &request) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(request == NULL);
  call.collective = TRIBUTARY_BARRIER;
  CHECK(tributary_start(comm, &call, &request) == TRIBUTARY_OK);
  CHECK(tributary_wait(request) == TRIBUTARY_OK);
  tributary_request_free(request);
  return NULL;
}

const char* c_api_run(const char* address, uint32_t job) {
  tributary_options options;
  tributary_communicator* comm = NULL;
  const char* failed = NULL;

  tributary_options_init(&options);
  options.job = job;
  options.size = 1;
  options.address = address;
  options.join_timeout_seconds = 20;
  options.loss_group = 8;
  if (tributary_create(&options, &comm) != TRIBUTARY_OK) return tributary_last_error();
  failed = use(comm);
  if (failed == NULL) failed = use_lists(comm);
  if (failed == NULL) failed = use_memory(comm);
  tributary_destroy(comm);
  return failed;
}

static const char* refused(tributary_status status, const char* reason) {
  CHECK(status == TRIBUTARY_FAILED);
  CHECK(strcmp(tributary_last_error_reason(), reason) == 0);
  CHECK(strstr(tributary_last_error(), reason) != NULL);
  return NULL;
}

/* Several segments of the job's 2,048 bytes. */
enum { WEIGHTS_BYTES = 10000 };

static void fill(unsigned char* weights) {
  for (int i = 0; i < WEIGHTS_BYTES; ++i) weights[i] = (unsigned char)(i * 7 + i / 256);
}

static const char* put_all(tributary_communicator* comm) {
  unsigned char weights[WEIGHTS_BYTES];
  const char* failed;

  fill(weights);
  CHECK(tributary_put(comm, "weights/v=1", weights, sizeof weights, 20) == TRIBUTARY_OK);
  CHECK(tributary_put(comm, "weights/v=1", weights, sizeof weights, 20) == TRIBUTARY_OK);
  CHECK(tributary_put(comm, "empty/v=1", NULL, 0, 20) == TRIBUTARY_OK);
  CHECK(tributary_put(comm, "own/v=1/worker=0", "x", 1, 20) == TRIBUTARY_OK);
  weights[WEIGHTS_BYTES - 1] ^= 1;
  failed = refused(tributary_put(comm, "weights/v=1", weights, sizeof weights, 20), "name-taken");
  if (failed != NULL) return failed;
  return refused(tributary_put(comm, "own/v=1/worker=1", "x", 1, 20), "not-allowed");
}

static const char* get_all(tributary_communicator* comm) {
  unsigned char weights[WEIGHTS_BYTES];
  void* value = NULL;
  size_t bytes = 0;

  fill(weights);
  CHECK(tributary_get(comm, "weights/v=1", 20, &value, &bytes) == TRIBUTARY_OK);
  CHECK(bytes == sizeof weights && memcmp(value, weights, bytes) == 0);
  tributary_value_free(value);
  CHECK(tributary_get(comm, "empty/v=1", 20, &value, &bytes) == TRIBUTARY_OK);
  CHECK(bytes == 0 && value != NULL);
  tributary_value_free(value);
  CHECK(tributary_get(comm, "own/v=1/worker=0", 20, &value, &bytes) == TRIBUTARY_OK);
  CHECK(bytes == 1 && *(char*)value == 'x');
  tributary_value_free(value);
  value = weights;
  bytes = 5;
  const char* const failed =
      refused(tributary_get(comm, "weights/v=2", 20, &value, &bytes), "name-unknown");
  CHECK(value == weights && bytes == 5);
  return failed;
}

static const char* misuse_names(tributary_communicator* comm) {
  void* value = NULL;
  size_t bytes = 0;

  CHECK(tributary_put(comm, "weights", "x", 1, 20) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "allowed: TENSOR/v=VERSION") != NULL);
  CHECK(tributary_put(comm, "/job/4294967295/w/v=1", "x", 1, 20) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "allowed: names of job") != NULL);
  CHECK(tributary_put(comm, NULL, "x", 1, 20) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_put(comm, "w/v=1", NULL, 1, 20) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "value") != NULL);
  CHECK(tributary_put(comm, "w/v=1", "x", 1, -1) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_put(NULL, "w/v=1", "x", 1, 20) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_get(NULL, "w/v=1", 20, &value, &bytes) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_get(comm, NULL, 20, &value, &bytes) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_get(comm, "w/v=1", 20, NULL, &bytes) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_get(comm, "w/v=1", 20, &value, NULL) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_get(comm, "../v=1", 20, &value, &bytes) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(value == NULL && bytes == 0);
  tributary_value_free(NULL);
  return NULL;
}

const char* c_api_names(const char* address, uint32_t job, uint32_t rank) {
  tributary_options options;
  tributary_communicator* comm = NULL;
  const char* failed = NULL;

  tributary_options_init(&options);
  options.job = job;
  options.rank = rank;
  options.size = 2;
  options.address = address;
  options.join_timeout_seconds = 20;
  if (tributary_create(&options, &comm) != TRIBUTARY_OK) return tributary_last_error();
  if (rank == 0) failed = put_all(comm);
  if (tributary_barrier(comm) != TRIBUTARY_OK && failed == NULL) failed = tributary_last_error();
  if (failed == NULL) failed = rank == 0 ? misuse_names(comm) : get_all(comm);
  /* Rank 0 answers for what it has put until it leaves. */
  if (tributary_barrier(comm) != TRIBUTARY_OK && failed == NULL) failed = tributary_last_error();
  tributary_destroy(comm);
  return failed;
}

const char* c_api_misuse(void) {
  tributary_options options;
  tributary_communicator* comm = NULL;

  CHECK(strlen(tributary_version()) > 0);
  CHECK(tributary_create(NULL, &comm) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strcmp(tributary_last_error(), "options is NULL") == 0);
  memset(&options, 0, sizeof options);
  CHECK(tributary_create(&options, &comm) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "tributary_options_init") != NULL);
  tributary_options_init(&options);
  CHECK(tributary_create(&options, &comm) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "size is 0, and the environment") != NULL);
  options.size = 1;
  CHECK(tributary_create(&options, &comm) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "TRIBUTARY_ADDRESS is not set") != NULL);
  options.address = "nonsense";
  CHECK(tributary_create(&options, &comm) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "udp://") != NULL);
  options.address_bits_low = 16;
  CHECK(tributary_create(&options, &comm) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "address bits 16,0 with one switch") != NULL);
  options.address_bits_low = 0;
  options.loss_group = 3;
  CHECK(tributary_create(&options, &comm) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "loss_group 3") != NULL);
  /* As a caller built before that option was there would say. */
  options.struct_size = offsetof(tributary_options, loss_group);
  CHECK(tributary_create(&options, &comm) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(strstr(tributary_last_error(), "udp://") != NULL);
  options.struct_size = sizeof options;
  options.loss_group = 0;
  options.join_timeout_seconds = -1;
  CHECK(tributary_create(&options, &comm) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(comm == NULL);
  CHECK(tributary_wait(NULL) == TRIBUTARY_INVALID_ARGUMENT);
  CHECK(tributary_last_error_ranks(NULL, 0) == 0);
  CHECK(strcmp(tributary_last_error_reason(), "") == 0);
  tributary_destroy(NULL);
  tributary_request_free(NULL);
  return NULL;
}
