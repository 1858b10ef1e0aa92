/* A C program that links libtributary.so and nothing else of the project. */
#include <stdio.h>

#include "tests/worker/c_api_client.h"
#include "worker/api/tributary.h"

int main(void) {
  const char* failed = c_api_misuse();
  printf("libtributary %s: %s\n", tributary_version(), failed == NULL ? "ok" : failed);
  return failed == NULL ? 0 : 1;
}
