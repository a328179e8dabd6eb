/* pellucid_send. */
#ifndef PELLUCID_TRANSFER_SENDING_H
#define PELLUCID_TRANSFER_SENDING_H

#include "array/transfer.h"
#include "connection/address.h"
#include "internal.h"
#include "lanes/link.h"

/* Wait, longer before each further attempt. */
INTERNAL void wait_before_retry(int attempt);
INTERNAL int is_retryable(int code);
/* Send the error to the peer, unless the connection is lost. */
INTERNAL int report_failure(struct link *link, int code, const pellucid_error *error);
/* Send, and resume an interrupted transfer as often as the options allow. */
INTERNAL int send_with_retries(const struct address *address, const char *token, struct transfer *transfer,
                               const pellucid_options *options, pellucid_report *report, pellucid_error *error);
INTERNAL int send_to(const struct address *address, const char *token, const pellucid_array *array,
                     const pellucid_options *given, pellucid_report *report, pellucid_error *error);

#endif
