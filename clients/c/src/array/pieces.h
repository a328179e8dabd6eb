/* Pieces of an array: their size, their memory, and which are missing. */
#ifndef PELLUCID_ARRAY_PIECES_H
#define PELLUCID_ARRAY_PIECES_H

#include "array/transfer.h"
#include "base/text.h"
#include "connection/messages.h"
#include "internal.h"

/* Whether it can be cut into such pieces. */
INTERNAL int set_piece_size(struct transfer *transfer, uint64_t piece_bytes);
INTERNAL uint64_t piece_span(const struct transfer *transfer, uint32_t number, uint64_t *start);
/* Memory for what was announced, reserved and mapped before a byte comes. */
INTERNAL int allocate_transfer(struct transfer *transfer, pellucid_error *error);
/* Map pages for writing before bytes come, in one call where the kernel can: a fault for each takes far longer. */
INTERNAL void populate_pages(void *memory, uint64_t bytes);
INTERNAL void populate_transfer(const struct transfer *transfer);
INTERNAL uint64_t piece_checksum(const struct transfer *transfer, const void *bytes, uint64_t length);
/* Add the missing pieces as ranges; the number of bytes that are there already. */
INTERNAL uint64_t append_missing(const struct transfer *transfer, struct text *text);
/* The list of pieces that the other end misses. */
INTERNAL int parse_missing(const struct message *message, const struct transfer *transfer, uint32_t **list,
                           uint32_t *length, pellucid_error *error);

#endif
