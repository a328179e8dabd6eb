#include "transfer/retrieving.h"
#include "array/announcement.h"
#include "array/lane.h"
#include "array/options.h"
#include "array/pieces.h"
#include "array/transfer.h"
#include "base/errors.h"
#include "base/secrets.h"
#include "base/text.h"
#include "connection/address.h"
#include "connection/endpoint.h"
#include "connection/handshake.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "transfer/connect_link.h"
#include "transfer/sending.h"
#include "transfer/session.h"

#include <stdlib.h>
#include <string.h>

static int request_array(struct link *link, struct transfer *transfer, const char *number, const char *request,
                         const pellucid_options *options, pellucid_report *report, pellucid_error *error) {
    struct text header = {0};
    struct message announced;
    struct transfer fresh = {.descriptor = -1};
    append(&header, "request\ntransfer: %s\nlane: %s\nchecksum: %s", number, lane_name(link->lane),
           options->no_checksum ? "none" : "xxh3");
    TRY(send_message(&link->control, &header, request, strlen(request), -1, error));
    TRY(expect_message(&link->control, "announce", NULL, &announced, error));
    int code = parse_announcement(&announced, &fresh, error);
    message_free(&announced);
    if (code == PELLUCID_OK && strcmp(fresh.number, number) != 0)
        code = protocol_error(error, "it announced another transfer than the requested one");
    if (code == PELLUCID_OK && fresh.bytes > options->limit_bytes)
        code = transfer_too_large(error, fresh.bytes, options->limit_bytes);
    if (code == PELLUCID_OK && !(transfer->array.data != NULL && is_same_array(transfer, &fresh))) {
        transfer_free(transfer);
        *transfer = fresh;
        memset(&fresh, 0, sizeof fresh);
        fresh.descriptor = -1;
        code = allocate_transfer(transfer, error);
    }
    transfer_free(&fresh); /* the pieces that arrived before are used again */
    return code != PELLUCID_OK ? code : receive_transfer(link, transfer, report, error);
}

static int retrieve_with_retries(const struct address *address, const char *token, const char *request,
                                 const pellucid_options *options, struct transfer *transfer, pellucid_report *report,
                                 pellucid_error *error) {
    struct link *link = calloc(1, sizeof *link);
    char number[TRANSFER_ID_BYTES];
    int code = link == NULL ? out_of_memory(error, sizeof *link) : random_hex(16, number, error), has_connected = 0;
    for (int attempt = 1; link != NULL && attempt <= options->attempts; attempt++) {
        code = open_link(link, address, token, options, error);
        if (code == PELLUCID_OK) {
            has_connected = 1;
            code = report_failure(link, request_array(link, transfer, number, request, options, report, error), error);
            link_close(link);
        }
        if (!has_connected || !is_retryable(code) || attempt == options->attempts)
            break;
        wait_before_retry(attempt);
    }
    free(link);
    return code;
}

int retrieve_from(const struct address *address, const char *token, const char *request, const pellucid_options *given,
                  pellucid_array *array, pellucid_report *report, pellucid_error *error) {
    pellucid_options options = with_defaults(given);
    pellucid_report unused_report;
    pellucid_error unused_error;
    struct transfer transfer = {.descriptor = -1};
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    memset(array, 0, sizeof *array);
    TRY(check_token(token, error));
    TRY(check_lane(options.lane, error));
    request = request != NULL ? request : "{}";
    int code = retrieve_with_retries(address, token, request, &options, &transfer, report, error);
    if (code == PELLUCID_OK)
        move_array(&transfer, array);
    transfer_free(&transfer);
    return code;
}

int pellucid_retrieve(const char *address, const char *token, const char *request, const pellucid_options *options,
                      pellucid_array *array, pellucid_report *report, pellucid_error *error) {
    struct address there;
    memset(array, 0, sizeof *array);
    TRY(resolve_address(address, token, &there, error));
    return retrieve_from(&there, token, request, options, array, report, error);
}
