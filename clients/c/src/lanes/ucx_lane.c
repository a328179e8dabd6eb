#include "lanes/ucx_lane.h"
#include "array/pieces.h"
#include "array/transfer.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/text.h"
#include "base/ucx_library.h"
#include "connection/channel.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "lanes/ucx_batch.h"
#include "lanes/ucx_endpoint.h"

#include <inttypes.h>
#include <stdlib.h>

/* UCX uses RDMA where a site has it, otherwise its own sockets and shared memory. Endpoints are created only from
 * addresses exchanged over the authenticated connection, which also shows when the peer has died. */

static int post_send(struct ucx_batch *batch, uint32_t number, void **request, pellucid_error *error) {
    static const struct ucx_parameters plain = {0};
    uint64_t start, length = piece_span(batch->transfer, number, &start);
    const uint8_t *piece = (const uint8_t *)batch->transfer->array.data + start;
    struct text header = {0};
    append(&header, "piece\nnumber: %" PRIu32 "\nchecksum: %" PRIu64, number,
           piece_checksum(batch->transfer, piece, length));
    TRY(send_message(&batch->link->control, &header, "", 0, -1, error));
    *request = ucx()->send(batch->link->ucx.endpoint, piece, length, number, &plain);
    return PELLUCID_OK;
}

static int on_sent(struct ucx_batch *batch, uint32_t number, pellucid_error *error) {
    uint64_t start;
    return report_progress(&batch->link->monitor, piece_span(batch->transfer, number, &start), error);
}

static int check_while_sending(struct ucx_batch *batch, pellucid_error *error) {
    TRY(report_progress(&batch->link->monitor, 0, error));
    if (!has_data(&batch->link->control, 0))
        return PELLUCID_OK;
    return failure_reason(&batch->link->control, transfer_interrupted(error, "the peer sent an unexpected message"),
                          error);
}

static int ignore_completion(struct ucx_batch *batch, uint32_t number, pellucid_error *error) {
    (void)batch, (void)number, (void)error;
    return PELLUCID_OK;
}

static int post_flush(struct ucx_batch *batch, uint32_t number, void **request, pellucid_error *error) {
    static const struct ucx_parameters plain = {0};
    (void)number, (void)error;
    *request = ucx()->flush(batch->link->ucx.endpoint, &plain);
    return PELLUCID_OK;
}

int send_through_ucx(struct link *link, struct transfer *transfer, const struct message *ready, const uint32_t *missing,
                     uint32_t count, pellucid_error *error) {
    static const uint32_t once = 0;
    struct ucx_batch pieces = {.link = link, .transfer = transfer, .numbers = missing, .count = count};
    struct ucx_batch flush = {.link = link, .transfer = transfer, .numbers = &once, .count = 1};
    struct ucx_parameters there = {.field_mask = UCX_ADDRESS, .first = {.address = ready->body}};
    TRY(ucx_open(link, error));
    if (link->ucx.endpoint == NULL) {
        int status = ready->body_length == 0 ? -1 : ucx()->endpoint_new(link->ucx.worker, &there, &link->ucx.endpoint);
        if (status != 0)
            return ucx_failed(error, "connecting", status);
    }
    pieces.post = post_send, pieces.on_complete = on_sent, pieces.check = check_while_sending;
    flush.post = post_flush, flush.on_complete = ignore_completion, flush.check = check_while_sending;
    TRY(ucx_run(&pieces, error));
    TRY(ucx_run(&flush, error)); /* nothing calls ucp_worker_progress afterwards: everything must have left */
    return send_word(&link->control, "sent", error);
}

static int post_receive(struct ucx_batch *batch, uint32_t number, void **request, pellucid_error *error) {
    static const struct ucx_parameters plain = {0};
    uint64_t start, length = piece_span(batch->transfer, number, &start);
    (void)error;
    uint8_t *piece = (uint8_t *)batch->transfer->array.data + start;
    *request = ucx()->receive(batch->link->ucx.worker, piece, length, number, UINT64_MAX, &plain);
    return PELLUCID_OK;
}

/* A piece is kept when the computed and the sent checksum agree; either may come first. */
static int compare_checksum(struct ucx_batch *batch, uint32_t number, uint64_t sum, pellucid_error *error) {
    uint64_t start;
    if (!batch->has_sum[number]) {
        batch->has_sum[number] = 1;
        batch->sums[number] = sum;
        return PELLUCID_OK;
    }
    if (batch->sums[number] != sum || batch->transfer->has_piece[number])
        return PELLUCID_OK;
    batch->transfer->has_piece[number] = 1;
    return report_progress(&batch->link->monitor, piece_span(batch->transfer, number, &start), error);
}

static int on_received(struct ucx_batch *batch, uint32_t number, pellucid_error *error) {
    uint64_t start, length = piece_span(batch->transfer, number, &start);
    const uint8_t *piece = (const uint8_t *)batch->transfer->array.data + start;
    return compare_checksum(batch, number, piece_checksum(batch->transfer, piece, length), error);
}

/* Read the checksum of a piece, or the message that all pieces were sent. */
static int read_piece_message(struct ucx_batch *batch, pellucid_error *error) {
    struct message message;
    uint64_t number = 0, sum = 0;
    char text[24];
    TRY(expect_message(&batch->link->control, "piece", "sent", &message, error));
    batch->is_over = is_kind(&message, "sent");
    int code = batch->is_over ? PELLUCID_OK : parse_number_field(&message, "number", &number, error);
    copy_field(&message, "checksum", text, sizeof text);
    message_free(&message);
    if (code != PELLUCID_OK || batch->is_over)
        return code;
    if (number >= batch->transfer->count)
        return protocol_error(error, "it sent a piece that does not exist");
    sum = strtoull(text, NULL, 10);
    return compare_checksum(batch, (uint32_t)number, sum, error);
}

static int check_while_receiving(struct ucx_batch *batch, pellucid_error *error) {
    TRY(report_progress(&batch->link->monitor, 0, error));
    while (!batch->is_over && has_data(&batch->link->control, 0))
        TRY(read_piece_message(batch, error));
    return PELLUCID_OK;
}

/* Wait until the sender has sent everything. Its pieces move only while ucp_worker_progress is called. */
static int ucx_wait_for_end(struct ucx_batch *batch, pellucid_error *error) {
    double since = now_s();
    while (!batch->is_over) {
        ucx()->progress(batch->link->ucx.worker);
        if (has_data(&batch->link->control, 1))
            TRY(read_piece_message(batch, error));
        TRY(report_progress(&batch->link->monitor, 0, error));
        if (now_s() - since > batch->link->monitor.timeout_s)
            return transfer_interrupted(error, "no message from the peer before the timeout");
    }
    return PELLUCID_OK;
}

/* Send "ready" with our UCX address. Frees the header. */
static int send_ucx_ready(struct link *link, struct text *header, pellucid_error *error) {
    void *address = NULL;
    size_t length = 0;
    int code = ucx_open(link, error);
    int status = code != PELLUCID_OK ? 0 : ucx()->address_of(link->ucx.worker, &address, &length);
    if (code == PELLUCID_OK && status != 0)
        code = ucx_failed(error, "its own address", status);
    if (code != PELLUCID_OK) {
        free(header->at);
        return code;
    }
    code = send_message(&link->control, header, address, length, -1, error);
    ucx()->release_address(link->ucx.worker, address);
    return code;
}

int receive_through_ucx(struct link *link, struct transfer *transfer, struct text *header, pellucid_error *error) {
    struct ucx_batch batch = {.link = link, .transfer = transfer};
    uint32_t *missing = calloc((size_t)transfer->count + 1, sizeof *missing);
    batch.sums = calloc((size_t)transfer->count + 1, sizeof *batch.sums);
    batch.has_sum = calloc((size_t)transfer->count + 1, 1);
    batch.post = post_receive, batch.on_complete = on_received, batch.check = check_while_receiving;
    int has_memory = missing != NULL && batch.sums != NULL && batch.has_sum != NULL;
    for (uint32_t i = 0; has_memory && i < transfer->count; i++)
        if (!transfer->has_piece[i])
            missing[batch.count++] = i;
    batch.numbers = missing;
    if (!has_memory)
        free(header->at);
    int code = has_memory ? send_ucx_ready(link, header, error) : out_of_memory(error, transfer->count);
    code = code != PELLUCID_OK ? code : ucx_run(&batch, error);
    code = code != PELLUCID_OK ? code : ucx_wait_for_end(&batch, error);
    free(missing);
    free(batch.sums);
    free(batch.has_sum);
    return code;
}
