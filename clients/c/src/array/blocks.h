/* Headers of pieces and blocks on the wire, and blocks of a volume. */
#ifndef PELLUCID_ARRAY_BLOCKS_H
#define PELLUCID_ARRAY_BLOCKS_H

#include "array/transfer.h"
#include "internal.h"

#define LAST_PIECE 0xFFFFFFFFu

struct piece_header {
    uint32_t number, length;
    uint64_t checksum;
};

struct block_header {
    struct piece_header piece;
    uint32_t start[3], stop[3];
};

/* Copy a block to its position in a volume. */
INTERNAL void copy_block(const pellucid_array *volume, const uint8_t *block, const uint64_t start[3],
                         const uint64_t shape[3]);
INTERNAL int check_block(const struct transfer *transfer, const struct block_header *header, uint64_t start[3],
                         uint64_t shape[3], pellucid_error *error);

#endif
