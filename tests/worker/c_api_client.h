/* What c_api_test.cc asks of the C interface; the other side is compiled as C. */
#ifndef TRIBUTARY_TESTS_C_API_CLIENT_H
#define TRIBUTARY_TESTS_C_API_CLIENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins as the only rank, reduces, waits, leaves. NULL, or what went wrong. */
const char* c_api_run(const char* address, uint32_t job);
/* Joins as rank 0 or 1 of two, in a job with names: rank 0 puts, rank 1 gets. NULL, or what went
 * wrong. */
const char* c_api_names(const char* address, uint32_t job, uint32_t rank);
/* Misuse is refused with a text. NULL, or what went wrong. */
const char* c_api_misuse(void);

#ifdef __cplusplus
}
#endif

#endif
