/* One transfer over a link, in rounds: until the receiver has every piece. */
#ifndef PELLUCID_TRANSFER_SESSION_H
#define PELLUCID_TRANSFER_SESSION_H

#include "array/transfer.h"
#include "internal.h"
#include "lanes/link.h"

INTERNAL void finish_report(const struct link *link, const struct transfer *transfer, double since,
                            pellucid_report *report);
INTERNAL int send_transfer(struct link *link, struct transfer *transfer, pellucid_report *report,
                           pellucid_error *error);
/* Receive an array into allocated memory. */
INTERNAL int receive_transfer(struct link *link, struct transfer *transfer, pellucid_report *report,
                              pellucid_error *error);

#endif
