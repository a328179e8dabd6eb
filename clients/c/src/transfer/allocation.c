#include "transfer/allocation.h"
#include "array/announcement.h"
#include "array/array.h"
#include "array/lane.h"
#include "array/options.h"
#include "array/transfer.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/secrets.h"
#include "connection/address.h"
#include "connection/endpoint.h"
#include "connection/handshake.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "lanes/shm_lane.h"
#include "transfer/connect_link.h"
#include "transfer/sending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pellucid_allocation {
    struct link link;
    struct transfer transfer; /* its memory and texts belong to the allocation */
    struct address address;
    char *token;
    pellucid_options options;
    int is_open;
};

int start_transfer(struct transfer *transfer, const pellucid_array *array, const pellucid_options *options,
                   pellucid_error *error) {
    memset(transfer, 0, sizeof *transfer);
    transfer->descriptor = -1;
    transfer->has_checksum = !options->no_checksum;
    TRY(check_array(array, 0, error));
    TRY(check_lane(options->lane, error));
    transfer->array = *array;
    transfer->bytes = pellucid_bytes(array);
    TRY(copy_texts(&transfer->array, error));
    ((struct owned *)transfer->array.owned)->mapped = transfer->bytes > 0 ? transfer->bytes : 1;
    return random_hex(16, transfer->number, error);
}

/* Announce an array that is not filled yet, and get the receiver's memory for it. */
static int allocate_there(pellucid_allocation *allocation, pellucid_error *error) {
    struct message ready;
    struct link *link = &allocation->link;
    link->monitor.total = allocation->transfer.bytes;
    TRY(send_announcement(&link->control, &allocation->transfer, SHM, error));
    TRY(expect_message(&link->control, "ready", "stored", &ready, error));
    int has_memory = is_kind(&ready, "ready");
    message_free(&ready);
    if (has_memory)
        return attach_memory(&link->control, allocation->transfer.bytes, &allocation->transfer.array.data, error);
    link_close(link); /* an array without voxels is complete as soon as it is announced */
    return PELLUCID_OK;
}

static int open_allocation(pellucid_allocation *allocation, pellucid_error *error) {
    struct link *link = &allocation->link;
    TRY(open_link(link, &allocation->address, allocation->token, &allocation->options, error));
    allocation->is_open = 1;
    if (link->lane == SHM && allocation->transfer.bytes > 0)
        return allocate_there(allocation, error);
    link_close(link); /* filling it may take hours: connect again then */
    allocation->is_open = 0;
    return allocate_here(&allocation->transfer, error);
}

int allocate_at(const struct address *address, const char *token, pellucid_array *array, const pellucid_options *given,
                pellucid_allocation **result, pellucid_error *error) {
    pellucid_error unused;
    pellucid_allocation *allocation = calloc(1, sizeof *allocation);
    error = error != NULL ? error : &unused;
    *result = NULL;
    if (allocation == NULL)
        return out_of_memory(error, sizeof *allocation);
    allocation->options = with_defaults(given);
    allocation->address = *address;
    allocation->token = strdup(token != NULL ? token : "");
    int code = start_transfer(&allocation->transfer, array, &allocation->options, error);
    code = code != PELLUCID_OK ? code : check_token(allocation->token, error);
    code = code != PELLUCID_OK ? code : open_allocation(allocation, error);
    if (code != PELLUCID_OK) {
        pellucid_abandon(allocation);
        return code;
    }
    array->data = allocation->transfer.array.data;
    *result = allocation;
    return PELLUCID_OK;
}

int pellucid_allocate(const char *address, const char *token, pellucid_array *array, const pellucid_options *options,
                      pellucid_allocation **allocation, pellucid_error *error) {
    struct address there;
    *allocation = NULL;
    TRY(resolve_address(address, token, &there, error));
    return allocate_at(&there, token, array, options, allocation, error);
}

int pellucid_commit(pellucid_allocation *allocation, pellucid_report *report, pellucid_error *error) {
    pellucid_report unused_report;
    pellucid_error unused_error;
    struct message stored;
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    int code;
    if (allocation->is_open) {
        snprintf(report->lane, sizeof report->lane, "shm");
        code = report_progress(&allocation->link.monitor, 0, error);
        code = code != PELLUCID_OK ? code : send_word(&allocation->link.control, "sent", error);
        code = code != PELLUCID_OK ? code : expect_message(&allocation->link.control, "stored", NULL, &stored, error);
        if (code == PELLUCID_OK) {
            message_free(&stored);
            report_progress(&allocation->link.monitor, allocation->transfer.bytes, NULL);
        }
    } else {
        code = send_with_retries(&allocation->address, allocation->token, &allocation->transfer, &allocation->options,
                                 report, error);
    }
    pellucid_abandon(allocation);
    return code;
}

void pellucid_abandon(pellucid_allocation *allocation) {
    if (allocation == NULL)
        return;
    if (allocation->is_open)
        link_close(&allocation->link);
    transfer_free(&allocation->transfer);
    free(allocation->token);
    free(allocation);
}
