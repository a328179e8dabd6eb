#include "array/pieces.h"
#include "array/array.h"
#include "array/transfer.h"
#include "base/errors.h"
#include "base/text.h"
#include "base/xxh3.h"
#include "connection/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIN_PIECE_BYTES = 1 << 19, MAX_PIECES = 8192 };

int set_piece_size(struct transfer *transfer, uint64_t piece_bytes) {
    uint64_t most = transfer->bytes / MAX_PIECES;
    if (piece_bytes == 0 || piece_bytes > UINT32_MAX || piece_bytes < most / 16 ||
        piece_bytes % type_bytes(transfer->array.type) != 0)
        return 0;
    transfer->piece_bytes = piece_bytes;
    transfer->count = (uint32_t)(transfer->bytes / piece_bytes + (transfer->bytes % piece_bytes != 0));
    return transfer->count <= 32 * MAX_PIECES;
}

uint64_t piece_span(const struct transfer *transfer, uint32_t number, uint64_t *start) {
    *start = (uint64_t)number * transfer->piece_bytes;
    uint64_t remaining = transfer->bytes - *start;
    return remaining < transfer->piece_bytes ? remaining : transfer->piece_bytes;
}

static int reserve_memory(int descriptor, uint64_t bytes) {
    int fault;
    do
        fault = posix_fallocate(descriptor, 0, (off_t)bytes);
    while (fault == EINTR);
    return fault == 0;
}

int allocate_transfer(struct transfer *transfer, pellucid_error *error) {
    const uint64_t most = (uint64_t)1 << 44, step = MIN_PIECE_BYTES;
    struct owned *owned = transfer->array.owned;
    if (transfer->bytes > most)
        return transfer_too_large(error, transfer->bytes, most);
    if (!set_piece_size(transfer, (transfer->bytes / MAX_PIECES + step) / step * step))
        return out_of_memory(error, transfer->bytes);
    owned->mapped = transfer->bytes > 0 ? transfer->bytes : 1;
    transfer->has_piece = calloc((size_t)transfer->count + 1, 1);
    transfer->descriptor = memfd_create("pellucid", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (transfer->has_piece == NULL || transfer->descriptor < 0 ||
        ftruncate(transfer->descriptor, (off_t)owned->mapped) != 0 ||
        fcntl(transfer->descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
        !reserve_memory(transfer->descriptor, owned->mapped))
        return out_of_memory(error, transfer->bytes);
    void *memory = mmap(NULL, owned->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, transfer->descriptor, 0);
    if (memory == MAP_FAILED)
        return out_of_memory(error, transfer->bytes);
    transfer->array.data = memory;
    return PELLUCID_OK;
}

void populate_pages(void *memory, uint64_t bytes) {
    enum { POPULATE_WRITE = 23, PAGE = 4096 };
    uint64_t before = (uintptr_t)memory % PAGE;
    volatile uint8_t *at = memory;
    if (bytes == 0 || madvise((uint8_t *)memory - before, bytes + before, POPULATE_WRITE) == 0)
        return;
    for (uint64_t i = 0; i < bytes; i += PAGE)
        at[i] = at[i];
}

void populate_transfer(const struct transfer *transfer) { populate_pages(transfer->array.data, transfer->bytes); }

uint64_t piece_checksum(const struct transfer *transfer, const void *bytes, uint64_t length) {
    return transfer->has_checksum ? xxh3(bytes, length) : 0;
}

uint32_t append_ranges(struct text *text, const uint8_t *flags, uint8_t value, uint32_t count) {
    enum { MAX_RANGE_BYTES = 32 };
    uint32_t i = 0;
    for (; i < count && text->length < MAX_HEADER_BYTES - MAX_RANGE_BYTES; i++) {
        if (flags[i] != value)
            continue;
        uint32_t first = i;
        while (i + 1 < count && flags[i + 1] == value)
            i++;
        append(text, " %" PRIu32 "-%" PRIu32, first, i);
    }
    return i;
}

uint64_t append_missing(const struct transfer *transfer, struct text *text) {
    uint64_t present = 0, start;
    append(text, "\nmissing:%s", transfer->count == 0 ? " " : "");
    append_ranges(text, transfer->has_piece, 0, transfer->count);
    for (uint32_t i = 0; i < transfer->count; i++)
        present += transfer->has_piece[i] ? piece_span(transfer, i, &start) : 0;
    return present;
}

int parse_pieces(const struct message *message, const char *key, const struct transfer *transfer, uint32_t **list,
                 uint32_t *length, pellucid_error *error) {
    size_t text_length = 0;
    const char *at = find_field(message, key, &text_length), *end = at == NULL ? NULL : at + text_length;
    *length = 0;
    *list = malloc(sizeof **list * ((size_t)transfer->count + 1));
    if (*list == NULL)
        return out_of_memory(error, transfer->count);
    while (at != NULL && at < end) {
        const char *dash = at, *stop;
        uint64_t first, last;
        if (*at == ' ') {
            at++;
            continue;
        }
        while (dash < end && *dash != '-')
            dash++;
        for (stop = dash; stop < end && *stop != ' ';)
            stop++;
        if (dash == end || !parse_number(at, dash, &first) || !parse_number(dash + 1, stop, &last) || first > last ||
            last >= transfer->count || (*length > 0 && first <= (*list)[*length - 1]))
            return protocol_error(error, "it listed pieces that do not exist");
        for (uint64_t i = first; i <= last; i++)
            (*list)[(*length)++] = (uint32_t)i;
        at = stop;
    }
    return PELLUCID_OK;
}
