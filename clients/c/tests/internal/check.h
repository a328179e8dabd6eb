/* Claims, and the tests of all files. */
#ifndef CHECK_H
#define CHECK_H

#include "internal.h"

#include <stdio.h>

extern int failures;

#define CHECK(claim)                                                    \
    do {                                                                \
        if (!(claim)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim); \
            failures++;                                                 \
        }                                                               \
    } while (0)

void test_hashes(void);
void test_addresses(void);
void test_json(void);
void test_links(void);
void test_responses(void);
void test_frames(void);
void test_missing_pieces(void);
void test_types(const char *lane);
void test_pieces(const char *lane);
void test_errors(const char *lane);
void test_progress(const char *lane);
void test_cancel(const char *lane);
void test_stream(const char *lane);
void test_allocation(const char *lane);
void test_lost_connection(void);
void test_lost_stream(void);
void test_stream_without_receiver(void);
void test_candidates(void);

#endif
