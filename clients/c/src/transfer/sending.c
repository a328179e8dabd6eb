#include "transfer/sending.h"
#include "array/array.h"
#include "array/lane.h"
#include "array/options.h"
#include "array/transfer.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/secrets.h"
#include "connection/address.h"
#include "connection/endpoint.h"
#include "connection/handshake.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "transfer/connect_link.h"
#include "transfer/session.h"

#include <stdlib.h>
#include <string.h>

void wait_before_retry(int attempt) { sleep_s(0.2 * (1 << (attempt < 6 ? attempt : 6))); }

int is_retryable(int code) { return code == PELLUCID_BROKEN || code == PELLUCID_UNREACHABLE || code == PELLUCID_BUSY; }

int report_failure(struct link *link, int code, const pellucid_error *error) {
    if (code != PELLUCID_OK && code != PELLUCID_BROKEN && error != NULL)
        send_error(&link->control, error);
    return code;
}

static int attempt_send(const struct address *address, const char *token, struct transfer *transfer,
                        const pellucid_options *options, pellucid_report *report, pellucid_error *error,
                        int *has_connected) {
    struct link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return out_of_memory(error, sizeof *link);
    int code = open_link(link, address, token, options, error);
    if (code == PELLUCID_OK) {
        *has_connected = 1;
        code = report_failure(link, send_transfer(link, transfer, report, error), error);
        link_close(link);
    }
    free(link);
    return code;
}

int send_with_retries(const struct address *address, const char *token, struct transfer *transfer,
                      const pellucid_options *options, pellucid_report *report, pellucid_error *error) {
    int code = PELLUCID_BROKEN, has_connected = 0;
    for (int attempt = 1; attempt <= options->attempts; attempt++) {
        code = attempt_send(address, token, transfer, options, report, error, &has_connected);
        if (!is_retryable(code) || !has_connected || attempt == options->attempts)
            break;
        wait_before_retry(attempt);
    }
    return code;
}

int send_to(const struct address *address, const char *token, const pellucid_array *array,
            const pellucid_options *given, pellucid_report *report, pellucid_error *error) {
    pellucid_options options = with_defaults(given);
    pellucid_report unused_report;
    pellucid_error unused_error;
    struct transfer transfer = {.array = *array, .has_checksum = !options.no_checksum, .descriptor = -1};
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    TRY(check_array(array, 1, error));
    TRY(check_token(token, error));
    TRY(check_lane(options.lane, error));
    TRY(random_hex(16, transfer.number, error));
    transfer.bytes = pellucid_bytes(array);
    return send_with_retries(address, token, &transfer, &options, report, error);
}

int pellucid_send(const char *address, const char *token, const pellucid_array *array, const pellucid_options *options,
                  pellucid_report *report, pellucid_error *error) {
    struct address there;
    TRY(resolve_address(address, token, &there, error));
    return send_to(&there, token, array, options, report, error);
}
