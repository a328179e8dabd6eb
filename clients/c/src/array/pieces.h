/* Pieces of an array: their size, their memory, and which are missing. */
#ifndef PELLUCID_ARRAY_PIECES_H
#define PELLUCID_ARRAY_PIECES_H

#include "array/transfer.h"
#include "base/text.h"
#include "connection/messages.h"
#include "internal.h"

/* Set the size of the pieces; returns 0 if it is invalid. */
INTERNAL int set_piece_size(struct transfer *transfer, uint64_t piece_bytes);
INTERNAL uint64_t piece_span(const struct transfer *transfer, uint32_t number, uint64_t *start);
/* Reserve and map the memory for an announced array, before its bytes arrive. */
INTERNAL int allocate_transfer(struct transfer *transfer, pellucid_error *error);
/* Map pages for writing in one call, where the kernel supports it: a page fault for each takes far longer. */
INTERNAL void populate_pages(void *memory, uint64_t bytes);
INTERNAL void populate_transfer(const struct transfer *transfer);
INTERNAL uint64_t piece_checksum(const struct transfer *transfer, const void *bytes, uint64_t length);
/* Append the pieces whose flag is `value`, as ranges: " 0-17 20-20". Stops before the text is too long for a header;
 * returns the number of the first piece that was left out. */
INTERNAL uint32_t append_ranges(struct text *text, const uint8_t *flags, uint8_t value, uint32_t count);
/* Append the field of missing pieces; returns how many bytes are present. */
INTERNAL uint64_t append_missing(const struct transfer *transfer, struct text *text);
/* The pieces that a field of a message lists, in ascending order. The list is to be freed, also after a failure. */
INTERNAL int parse_pieces(const struct message *message, const char *key, const struct transfer *transfer,
                          uint32_t **list, uint32_t *length, pellucid_error *error);

#endif
