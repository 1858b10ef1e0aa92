/* The shared library as a C program sees it: it links, and says what is wrong. */
#include <stdio.h>
#include <string.h>

#include "pool/api/tributary_pool.h"

int main(void) {
  tributary_pool* pool = NULL;
  if (tributary_pool_open("/nonexistent/pool.yaml", &pool) != TRIBUTARY_POOL_FAILED) return 1;
  if (strstr(tributary_pool_last_error(), "/nonexistent/pool.yaml") == NULL) return 2;
  if (tributary_pool_open(NULL, &pool) != TRIBUTARY_POOL_INVALID_ARGUMENT) return 3;
  if (tributary_pool_records(NULL) != 0) return 4;
  tributary_pool_close(NULL);
  puts(tributary_pool_last_error());
  return 0;
}
