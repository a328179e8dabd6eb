/* XXH3 with 64 bits and seed 0: the checksum of a piece. */
#ifndef PELLUCID_BASE_XXH3_H
#define PELLUCID_BASE_XXH3_H

#include "internal.h"

typedef void accumulator(uint64_t sums[8], const uint8_t *at, size_t stripes);

INTERNAL uint32_t load32(const uint8_t *at);
/* Several stripes, each with the secret shifted by eight bytes. */
INTERNAL void accumulate_many(uint64_t sums[8], const uint8_t *at, size_t stripes);
INTERNAL accumulator *best_accumulator(void);
INTERNAL uint64_t xxh3(const void *content, size_t length);

#endif
