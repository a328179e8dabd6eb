/* pellucid_receive. */
#include "array/announcement.h"
#include "array/blocks.h"
#include "array/lane.h"
#include "array/pieces.h"
#include "array/transfer.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/text.h"
#include "connection/channel.h"
#include "connection/messages.h"
#include "internal.h"
#include "lanes/link.h"
#include "lanes/piece_threads.h"
#include "transfer/accept.h"
#include "transfer/listener.h"
#include "transfer/sending.h"
#include "transfer/session.h"

#include <stdlib.h>
#include <string.h>

static int receive_blocks(struct work *work, struct channel *channel, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    uint8_t *block = NULL;
    size_t capacity = 0;
    int code = PELLUCID_OK;
    while (code == PELLUCID_OK) {
        struct block_header header;
        uint64_t start[3], shape[3];
        code = transfer_all(channel, &header, sizeof header, 0, 1, error);
        if (code != PELLUCID_OK || header.piece.number == LAST_PIECE)
            break;
        code = check_block(transfer, &header, start, shape, error);
        if (code == PELLUCID_OK && header.piece.length > capacity) {
            free(block);
            block = malloc(header.piece.length);
            capacity = block == NULL ? 0 : header.piece.length;
            code = block == NULL ? out_of_memory(error, header.piece.length) : PELLUCID_OK;
        }
        code = code != PELLUCID_OK ? code : read_bytes(channel, block, header.piece.length, error);
        if (code != PELLUCID_OK)
            break;
        uint32_t response[2] = {header.piece.number,
                                piece_checksum(transfer, block, header.piece.length) == header.piece.checksum};
        if (response[1])
            copy_block(&transfer->array, block, start, shape);
        code = write_bytes(channel, response, sizeof response, error);
        code = code != PELLUCID_OK ? code : report_progress(channel->monitor, header.piece.length, error);
    }
    free(block);
    return code;
}

static int receive_stream(struct link *link, struct transfer *transfer, pellucid_report *report,
                          pellucid_error *error) {
    double since = now_s();
    struct text header = {0};
    struct message message;
    link->monitor.total = transfer->bytes;
    append(&header, "ready\nstreams: %d", link->wanted_streams);
    if (link->lane != SHM)
        populate_transfer(transfer);
    TRY(send_message(&link->control, &header, "", 0, link->lane == SHM ? transfer->descriptor : -1, error));
    if (link->lane == SHM) {
        for (int is_over = 0; !is_over; message_free(&message)) {
            TRY(expect_message(&link->control, "block", "finish", &message, error));
            is_over = is_kind(&message, "finish");
        }
    } else {
        struct work work = {.link = link, .transfer = transfer};
        TRY(open_streams(link, transfer->number, link->wanted_streams, error));
        TRY(run_streams(&work, receive_blocks, error));
    }
    finish_report(link, transfer, since, report);
    return send_word(&link->control, "stored", error);
}

/* The received part of this transfer, or memory for a new one. */
static int find_or_allocate(pellucid_listener *listener, struct transfer *transfer, pellucid_error *error) {
    struct transfer *partial = &listener->partial;
    if (partial->array.data != NULL && is_same_array(partial, transfer)) {
        struct transfer partial_copy = *partial;
        transfer_free(transfer);
        *transfer = partial_copy;
        memset(partial, 0, sizeof *partial);
        partial->descriptor = -1;
        return PELLUCID_OK;
    }
    transfer_free(partial);
    return allocate_transfer(transfer, error);
}

static int serve_transfer(pellucid_listener *listener, struct link *link, struct transfer *transfer,
                          pellucid_report *report, pellucid_error *error) {
    struct message announced;
    char lane[8];
    TRY(expect_message(&link->control, "announce", "request", &announced, error));
    int code = is_kind(&announced, "announce") ? parse_announcement(&announced, transfer, error)
                                               : fail(error, PELLUCID_REFUSED, "Retrieve the array from a viewer.",
                                                      "This receiver does not send arrays.");
    copy_field(&announced, "lane", lane, sizeof lane);
    message_free(&announced);
    TRY(code);
    link->lane = is_lane(lane, SHM) ? SHM : is_lane(lane, UCX) ? UCX : TCP;
    if (!is_lane(lane, TCP) && !(link->lane == SHM && link->control.is_local) &&
        !(link->lane == UCX && listener->has_ucx && !transfer->is_stream))
        return fail(error, PELLUCID_REFUSED, "Use the lane tcp.",
                    "The receiver does not support the lane '%s' for this transfer.", lane);
    if (transfer->bytes > listener->options.limit_bytes)
        return transfer_too_large(error, transfer->bytes, listener->options.limit_bytes);
    TRY(find_or_allocate(listener, transfer, error));
    return transfer->is_stream ? receive_stream(link, transfer, report, error)
                               : receive_transfer(link, transfer, report, error);
}

static int receive_one(pellucid_listener *listener, double deadline, struct link *link, pellucid_array *array,
                       pellucid_report *report, pellucid_error *error) {
    struct transfer transfer = {.descriptor = -1};
    memset(link, 0, sizeof *link);
    TRY(next_control(listener, deadline, &link->control, error));
    link->listener = listener;
    link->accept = accept_stream;
    link->wanted_streams = listener->options.streams;
    monitor_init(&link->monitor, &listener->options);
    link->control.monitor = &link->monitor;
    int code = serve_transfer(listener, link, &transfer, report, error);
    report_failure(link, code, error);
    link_close(link);
    if (code == PELLUCID_OK) {
        move_array(&transfer, array);
        return PELLUCID_OK;
    }
    if (code == PELLUCID_BROKEN && transfer.array.data != NULL)
        listener->partial = transfer;
    else
        transfer_free(&transfer);
    /* A failed sender does not end the listener: the next one may succeed. */
    return code == PELLUCID_CANCELLED && link->monitor.is_cancelled ? code : PELLUCID_BROKEN;
}

int pellucid_receive(pellucid_listener *listener, double timeout_s, pellucid_array *array, pellucid_report *report,
                     pellucid_error *error) {
    pellucid_report unused_report;
    pellucid_error unused_error;
    double until = timeout_s < 0 ? -1 : now_s() + timeout_s;
    struct link *link = malloc(sizeof *link);
    int code = PELLUCID_BROKEN;
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(array, 0, sizeof *array);
    if (link == NULL)
        return out_of_memory(error, sizeof *link);
    while (code == PELLUCID_BROKEN) {
        memset(report, 0, sizeof *report);
        code = receive_one(listener, until, link, array, report, error);
    }
    free(link);
    return code;
}
