#include "transfer/session.h"
#include "array/announcement.h"
#include "array/lane.h"
#include "array/pieces.h"
#include "array/transfer.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/text.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "lanes/piece_threads.h"
#include "lanes/shm_lane.h"
#include "lanes/tcp_lane.h"
#include "lanes/ucx_lane.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 4 };

/* Send the pieces of one round. */
static int send_missing(struct link *link, struct transfer *transfer, const struct message *ready,
                        const uint32_t *missing, uint32_t count, pellucid_error *error) {
    struct work work = {.link = link, .transfer = transfer, .missing = missing, .missing_count = count};
    if (link->lane == SHM)
        return send_through_shm(link, transfer, ready, missing, count, error);
    if (link->lane == UCX)
        return send_through_ucx(link, transfer, ready, missing, count, error);
    uint64_t streams = 0;
    TRY(parse_number_field(ready, "streams", &streams, error));
    if (streams == 0)
        return protocol_error(error, "it requested pieces over 0 connections");
    int code = open_streams(link, transfer->number, streams < MAX_STREAMS ? (int)streams : MAX_STREAMS, error);
    return code == PELLUCID_OK ? run_streams(&work, send_pieces, error) : failure_reason(&link->control, code, error);
}

/* Answer one "ready". is_first: pieces that the receiver has already count as resumed. */
static int send_round(struct link *link, struct transfer *transfer, const struct message *ready, int is_first,
                      pellucid_report *report, pellucid_error *error) {
    uint64_t piece = 0, missing_bytes = 0, start;
    uint32_t *missing = NULL, count = 0;
    TRY(parse_number_field(ready, "piece", &piece, error));
    if (!set_piece_size(transfer, piece))
        return protocol_error(error, "it requested pieces of an invalid size");
    int code = parse_pieces(ready, "missing", transfer, &missing, &count, error);
    for (uint32_t i = 0; i < count; i++)
        missing_bytes += piece_span(transfer, missing[i], &start);
    link->monitor.done = transfer->bytes - missing_bytes;
    if (is_first)
        report->resumed_bytes = transfer->bytes - missing_bytes;
    code = code != PELLUCID_OK ? code : send_missing(link, transfer, ready, missing, count, error);
    report->streams = link->stream_count > 0 ? link->stream_count : 1;
    free(missing);
    return code;
}

/* Send the missing pieces until the receiver has everything. */
static int send_rounds(struct link *link, struct transfer *transfer, pellucid_report *report, pellucid_error *error) {
    for (int round = 0; round <= 2 * MAX_ROUNDS; round++) {
        struct message response;
        TRY(expect_message(&link->control, "ready", "stored", &response, error));
        int is_stored = is_kind(&response, "stored");
        int code = is_stored ? PELLUCID_OK : send_round(link, transfer, &response, round == 0, report, error);
        message_free(&response);
        if (is_stored || code != PELLUCID_OK)
            return code;
    }
    return protocol_error(error, "it requested the same pieces too often");
}

void finish_report(const struct link *link, const struct transfer *transfer, double since, pellucid_report *report) {
    snprintf(report->lane, sizeof report->lane, "%s", lane_name(link->lane));
    report->bytes = transfer->bytes - report->resumed_bytes;
    report->seconds = now_s() - since;
}

int send_transfer(struct link *link, struct transfer *transfer, pellucid_report *report, pellucid_error *error) {
    double since = now_s();
    link->monitor.total = transfer->bytes;
    int code = send_announcement(&link->control, transfer, link->lane, error);
    code = code != PELLUCID_OK ? code : send_rounds(link, transfer, report, error);
    finish_report(link, transfer, since, report);
    return code;
}

static int receive_round(struct link *link, struct transfer *transfer, uint64_t *there, pellucid_error *error) {
    struct text header = {0};
    append(&header, "ready\npiece: %" PRIu64 "\nstreams: %d", transfer->piece_bytes, link->wanted_streams);
    *there = append_missing(transfer, &header);
    if (link->lane == SHM)
        append(&header, "\ncopied: tell");
    link->monitor.done = *there;
    if (link->lane != SHM)
        populate_transfer(transfer);
    if (link->lane == UCX)
        return receive_through_ucx(link, transfer, &header, error);
    TRY(send_message(&link->control, &header, "", 0, link->lane == SHM ? transfer->descriptor : -1, error));
    if (link->lane != SHM) {
        struct work work = {.link = link, .transfer = transfer};
        int code = open_streams(link, transfer->number, link->wanted_streams, error);
        return code == PELLUCID_OK ? run_streams(&work, receive_pieces, error)
                                   : failure_reason(&link->control, code, error);
    }
    return receive_through_shm(link, transfer, error);
}

static int is_transfer_complete(const struct transfer *transfer) {
    return memchr(transfer->has_piece, 0, transfer->count) == NULL;
}

int receive_transfer(struct link *link, struct transfer *transfer, pellucid_report *report, pellucid_error *error) {
    double since = now_s();
    link->monitor.total = transfer->bytes;
    for (int round = 0; !is_transfer_complete(transfer); round++) {
        uint64_t there = 0;
        if (round == MAX_ROUNDS)
            return protocol_error(error, "pieces arrived with wrong checksums too often");
        int code = receive_round(link, transfer, &there, error);
        report->resumed_bytes = round == 0 ? there : report->resumed_bytes;
        TRY(code);
    }
    report->streams = link->stream_count > 0 ? link->stream_count : 1;
    finish_report(link, transfer, since, report);
    return send_word(&link->control, "stored", error);
}
