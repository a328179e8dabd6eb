#include "transfer/stream.h"
#include "array/announcement.h"
#include "array/array.h"
#include "array/blocks.h"
#include "array/options.h"
#include "array/transfer.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/text.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "connection/endpoint.h"
#include "connection/handshake.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "lanes/shm_lane.h"
#include "transfer/allocation.h"
#include "transfer/connect_link.h"
#include "transfer/stream_blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int connect_stream(pellucid_stream *stream, pellucid_error *error) {
    struct message ready;
    uint64_t streams = 0;
    struct link *link = &stream->link;
    TRY(open_link(link, &stream->address, stream->token, &stream->options, error));
    link->lane = link->lane == UCX ? TCP : link->lane; /* UCX does not support blocks */
    stream->lane = link->lane;
    link->monitor.total = stream->transfer.bytes;
    TRY(send_announcement(&link->control, &stream->transfer, link->lane, error));
    TRY(expect_message(&link->control, "ready", NULL, &ready, error));
    int code = link->lane == SHM ? PELLUCID_OK : parse_number_field(&ready, "streams", &streams, error);
    message_free(&ready);
    TRY(code);
    if (link->lane == SHM)
        return attach_memory(&link->control, stream->transfer.bytes, &stream->transfer.array.data, error);
    if (streams == 0)
        return protocol_error(error, "it requested blocks over 0 connections");
    streams = streams < MAX_STREAMS ? streams : MAX_STREAMS;
    return failure_reason(&link->control, open_streams(link, stream->transfer.number, (int)streams, error), error);
}

int stream_to(const struct address *address, const char *token, const pellucid_array *volume,
              const pellucid_options *given, pellucid_stream **result, pellucid_error *error) {
    pellucid_error unused;
    pellucid_stream *stream = calloc(1, sizeof *stream);
    error = error != NULL ? error : &unused;
    *result = NULL;
    if (stream == NULL)
        return out_of_memory(error, sizeof *stream);
    channel_clear(&stream->link.control);
    stream->options = with_defaults(given);
    stream->address = *address;
    stream->token = strdup(token != NULL ? token : "");
    int code = start_transfer(&stream->transfer, volume, &stream->options, error);
    stream->transfer.is_stream = 1;
    if (code == PELLUCID_OK && volume->axes != 3)
        code = fail(error, PELLUCID_INVALID, "Pass a volume with the axes z, y, x.", "A stream has three axes, not %d.",
                    volume->axes);
    for (int i = 0; code == PELLUCID_OK && i < 3; i++)
        if (volume->shape[i] > UINT32_MAX)
            code = fail(error, PELLUCID_INVALID, "Use at most 4294967295 voxels along each axis.",
                        "The stream is too long along axis %d.", i);
    code = code != PELLUCID_OK ? code : check_token(stream->token, error);
    code = code != PELLUCID_OK ? code : connect_stream(stream, error);
    if (code != PELLUCID_OK) {
        pellucid_stream_abandon(stream);
        return code;
    }
    *result = stream;
    return PELLUCID_OK;
}

int pellucid_stream_open(const char *address, const char *token, const pellucid_array *volume,
                         const pellucid_options *options, pellucid_stream **stream, pellucid_error *error) {
    struct address there;
    *stream = NULL;
    TRY(resolve_address(address, token, &there, error));
    return stream_to(&there, token, volume, options, stream, error);
}

static int write_through_shm(pellucid_stream *stream, const void *block, const uint64_t start[3],
                             const uint64_t shape[3], pellucid_error *error) {
    struct text header = {0};
    struct channel *control = &stream->link.control;
    if (has_data(control, 0))
        return failure_reason(control, transfer_interrupted(error, "the receiver disconnected"), error);
    copy_block(&stream->transfer.array, block, start, shape);
    append(&header, "block\nbox:");
    for (int i = 0; i < 3; i++)
        append(&header, " %" PRIu64, start[i]);
    for (int i = 0; i < 3; i++)
        append(&header, " %" PRIu64, start[i] + shape[i]);
    TRY(send_message(control, &header, "", 0, -1, error));
    return report_progress(&stream->link.monitor,
                           shape[0] * shape[1] * shape[2] * type_bytes(stream->transfer.array.type), error);
}

int pellucid_stream_write(pellucid_stream *stream, const void *block, const uint64_t start[3], const uint64_t shape[3],
                          pellucid_error *error) {
    pellucid_error unused;
    const pellucid_array *volume = &stream->transfer.array;
    error = error != NULL ? error : &unused;
    for (int i = 0; i < 3; i++)
        if (start[i] > volume->shape[i] || shape[i] > volume->shape[i] - start[i])
            return fail(error, PELLUCID_INVALID, "Check start and shape against the shape of the volume.",
                        "The block does not fit into the volume.");
    if (shape[0] == 0 || shape[1] == 0 || shape[2] == 0)
        return PELLUCID_OK;
    if (stream->link.lane == SHM)
        return write_through_shm(stream, block, start, shape, error);
    return send_parts(stream, block, start, shape, error);
}

/* Finish on every connection, and wait until the receiver has stored everything. */
static int finish_stream(pellucid_stream *stream, pellucid_error *error) {
    struct block_header last = {.piece = {LAST_PIECE, 0, 0}};
    struct message stored;
    if (stream->link.lane == SHM)
        TRY(send_word(&stream->link.control, "finish", error));
    for (int i = 0; i < stream->link.stream_count; i++)
        TRY(write_bytes(&stream->link.streams[i], &last, sizeof last, error));
    TRY(expect_message(&stream->link.control, "stored", NULL, &stored, error));
    message_free(&stored);
    return PELLUCID_OK;
}

int pellucid_stream_close(pellucid_stream *stream, pellucid_error *error) {
    pellucid_error unused;
    int code = PELLUCID_OK;
    error = error != NULL ? error : &unused;
    while (code == PELLUCID_OK && oldest_block(stream) != NULL)
        code = wait_for_oldest(stream, error);
    if (code == PELLUCID_OK)
        code = failure_reason(&stream->link.control, finish_stream(stream, error), error);
    pellucid_stream_abandon(stream);
    return code;
}

void pellucid_stream_abandon(pellucid_stream *stream) {
    if (stream == NULL)
        return;
    for (int i = 0; i < WINDOW_BLOCKS; i++)
        free(stream->window[i].copy);
    link_close(&stream->link);
    transfer_free(&stream->transfer);
    free(stream->token);
    free(stream);
}
