#include "lanes/tcp_lane.h"
#include "array/blocks.h"
#include "array/pieces.h"
#include "array/transfer.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "connection/channel.h"
#include "lanes/piece_threads.h"

#include <stdatomic.h>

int send_pieces(struct work *work, struct channel *channel, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    struct piece_header header = {LAST_PIECE, 0, 0};
    for (uint32_t i; (i = atomic_fetch_add(&work->next, 1)) < work->missing_count;) {
        uint64_t start, length = piece_span(transfer, work->missing[i], &start);
        const uint8_t *piece = (const uint8_t *)transfer->array.data + start;
        struct piece_header each = {work->missing[i], (uint32_t)length, piece_checksum(transfer, piece, length)};
        TRY(write_two(channel, &each, sizeof each, piece, length, error));
        TRY(report_progress(channel->monitor, length, error));
    }
    return write_bytes(channel, &header, sizeof header, error);
}

int receive_pieces(struct work *work, struct channel *channel, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    for (;;) {
        struct piece_header header;
        uint64_t start;
        TRY(read_bytes(channel, &header, sizeof header, error));
        if (header.number == LAST_PIECE)
            return PELLUCID_OK;
        if (header.number >= transfer->count || piece_span(transfer, header.number, &start) != header.length)
            return protocol_error(error, "it sent more than it announced");
        uint8_t *piece = (uint8_t *)transfer->array.data + start;
        TRY(read_bytes(channel, piece, header.length, error));
        if (piece_checksum(transfer, piece, header.length) == header.checksum) {
            transfer->has_piece[header.number] = 1; /* each piece has one writer at a time */
            TRY(report_progress(channel->monitor, header.length, error));
        }
    }
}
