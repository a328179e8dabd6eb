#include "transfer/stream_blocks.h"
#include "array/array.h"
#include "array/blocks.h"
#include "array/lane.h"
#include "array/pieces.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "connection/channel.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "transfer/sending.h"
#include "transfer/stream.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PART_BYTES = 16 << 20 };

static int transmit_block(pellucid_stream *stream, const struct sent_block *block, pellucid_error *error) {
    struct channel *channel = &stream->link.streams[block->index];
    return write_two(channel, &block->header, sizeof block->header, block->copy, block->header.piece.length, error);
}

struct sent_block *oldest_block(pellucid_stream *stream) {
    struct sent_block *found = NULL;
    for (struct sent_block *each = stream->window; each < stream->window + WINDOW_BLOCKS; each++)
        if (each->is_in_flight && (found == NULL || each->header.piece.number < found->header.piece.number))
            found = each;
    return found;
}

/* Read the next confirmation on a connection. A block with a wrong checksum is sent again. */
static int read_answer(pellucid_stream *stream, int index, pellucid_error *error) {
    uint32_t response[2];
    TRY(read_bytes(&stream->link.streams[index], response, sizeof response, error));
    for (struct sent_block *each = stream->window; each < stream->window + WINDOW_BLOCKS; each++)
        if (each->is_in_flight && each->index == index && each->header.piece.number == response[0]) {
            if (response[1] != 1)
                return transmit_block(stream, each, error);
            each->is_in_flight = 0;
            return report_progress(&stream->link.monitor, each->header.piece.length, error);
        }
    return protocol_error(error, "it confirmed a block that was not sent");
}

/* Connect again, announce the same transfer, and send the blocks in flight again. */
static int reconnect_stream(pellucid_stream *stream, pellucid_error *error) {
    uint64_t done = stream->link.monitor.done;
    int index = 0;
    link_close(&stream->link);
    TRY(connect_stream(stream, error));
    stream->link.monitor.done = done;
    for (struct sent_block *each = stream->window; each < stream->window + WINDOW_BLOCKS; each++)
        if (each->is_in_flight) {
            each->index = index++ % stream->link.stream_count;
            TRY(transmit_block(stream, each, error));
        }
    return PELLUCID_OK;
}

/* After a lost connection, reconnect as often as the options allow. */
static int recover_stream(pellucid_stream *stream, int code, pellucid_error *error) {
    code = failure_reason(&stream->link.control, code, error);
    for (int attempt = 1; attempt < stream->options.attempts && is_retryable(code); attempt++) {
        if (stream->lane == SHM)
            break;
        stream->options.lane = lane_name(stream->lane);
        wait_before_retry(attempt);
        code = reconnect_stream(stream, error);
    }
    return code;
}

int wait_for_oldest(pellucid_stream *stream, pellucid_error *error) {
    struct sent_block *block = oldest_block(stream);
    int code = block == NULL ? PELLUCID_OK : read_answer(stream, block->index, error);
    return code == PELLUCID_OK ? code : recover_stream(stream, code, error);
}

/* Find a free slot for a copy; waits if all are in flight. */
static int find_slot(pellucid_stream *stream, uint64_t length, struct sent_block **slot, pellucid_error *error) {
    for (;;) {
        for (struct sent_block *each = stream->window; each < stream->window + WINDOW_BLOCKS; each++)
            if (!each->is_in_flight) {
                *slot = each;
                uint8_t *larger = each->capacity >= length ? each->copy : realloc(each->copy, length);
                if (larger == NULL)
                    return out_of_memory(error, length);
                each->copy = larger;
                each->capacity = each->capacity >= length ? each->capacity : length;
                return PELLUCID_OK;
            }
        TRY(wait_for_oldest(stream, error));
    }
}

static int send_block(pellucid_stream *stream, const uint8_t *block, const uint64_t start[3], const uint64_t shape[3],
                      pellucid_error *error) {
    uint64_t length = shape[0] * shape[1] * shape[2] * type_bytes(stream->transfer.array.type);
    struct sent_block *slot;
    if (stream->link.stream_count == 0)
        return transfer_interrupted(error, "the stream was lost and could not be resumed");
    TRY(find_slot(stream, length, &slot, error));
    memcpy(slot->copy, block, length);
    slot->header.piece =
        (struct piece_header){stream->number, (uint32_t)length, piece_checksum(&stream->transfer, slot->copy, length)};
    for (int i = 0; i < 3; i++) {
        slot->header.start[i] = (uint32_t)start[i];
        slot->header.stop[i] = (uint32_t)(start[i] + shape[i]);
    }
    slot->index = (int)(stream->number % (uint32_t)stream->link.stream_count);
    slot->is_in_flight = 1;
    stream->number = stream->number == LAST_PIECE - 1 ? 0 : stream->number + 1;
    int code = transmit_block(stream, slot, error);
    return code == PELLUCID_OK ? code : recover_stream(stream, code, error);
}

int send_parts(pellucid_stream *stream, const uint8_t *block, const uint64_t start[3], const uint64_t shape[3],
               pellucid_error *error) {
    uint64_t size = type_bytes(stream->transfer.array.type), unit = size;
    int axis = shape[0] > 1 ? 0 : shape[1] > 1 ? 1 : 2;
    for (int i = axis + 1; i < 3; i++)
        unit *= shape[i];
    uint64_t most = unit < MAX_PART_BYTES ? MAX_PART_BYTES / unit : 1;
    if (shape[axis] <= most && unit <= MAX_PART_BYTES)
        return send_block(stream, block, start, shape, error);
    for (uint64_t at = 0; at < shape[axis]; at += most) {
        uint64_t from[3] = {start[0], start[1], start[2]}, part[3] = {shape[0], shape[1], shape[2]};
        from[axis] += at;
        part[axis] = shape[axis] - at < most ? shape[axis] - at : most;
        TRY(send_parts(stream, block + at * unit, from, part, error));
    }
    return PELLUCID_OK;
}
