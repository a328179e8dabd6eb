#include "array/blocks.h"
#include "array/array.h"
#include "array/transfer.h"
#include "base/errors.h"

#include <string.h>

enum { MAX_BLOCK_BYTES = 64 << 20 };

void copy_block(const pellucid_array *volume, const uint8_t *block, const uint64_t start[3], const uint64_t shape[3]) {
    uint64_t size = type_bytes(volume->type), row = shape[2] * size;
    for (uint64_t z = 0; z < shape[0]; z++)
        for (uint64_t y = 0; y < shape[1]; y++) {
            uint64_t at = ((start[0] + z) * volume->shape[1] + start[1] + y) * volume->shape[2] + start[2];
            memcpy((uint8_t *)volume->data + at * size, block, row);
            block += row;
        }
}

int check_block(const struct transfer *transfer, const struct block_header *header, uint64_t start[3],
                uint64_t shape[3], pellucid_error *error) {
    uint64_t bytes = type_bytes(transfer->array.type);
    for (int i = 0; i < 3; i++) {
        if (header->start[i] > header->stop[i] || header->stop[i] > transfer->array.shape[i])
            return protocol_error(error, "it sent a block outside the volume");
        start[i] = header->start[i];
        shape[i] = header->stop[i] - header->start[i];
        if (__builtin_mul_overflow(bytes, shape[i], &bytes))
            return protocol_error(error, "it sent a block that is too large");
    }
    if (bytes != header->piece.length || bytes > MAX_BLOCK_BYTES)
        return protocol_error(error, "it sent a block whose size does not match its header");
    return PELLUCID_OK;
}
