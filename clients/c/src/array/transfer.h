/* One transfer: an array, its number, and how it is divided into pieces. */
#ifndef PELLUCID_ARRAY_TRANSFER_H
#define PELLUCID_ARRAY_TRANSFER_H

#include "internal.h"

enum { TRANSFER_ID_BYTES = 33 };

/* One transfer: the array, its number, and its pieces. */
struct transfer {
    pellucid_array array;
    char number[TRANSFER_ID_BYTES];
    int has_checksum, is_stream;
    uint64_t bytes, piece_bytes;
    uint32_t count;     /* of pieces */
    uint8_t *has_piece; /* for each piece, at the receiver */
    int descriptor;     /* of the memory, at the receiver; -1 at the sender */
};

INTERNAL void transfer_free(struct transfer *transfer);
/* Move a received array to the caller. */
INTERNAL void move_array(struct transfer *transfer, pellucid_array *array);
INTERNAL int allocate_here(struct transfer *transfer, pellucid_error *error);

#endif
