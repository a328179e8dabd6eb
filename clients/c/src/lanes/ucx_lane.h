/* The lane ucx. */
#ifndef PELLUCID_LANES_UCX_LANE_H
#define PELLUCID_LANES_UCX_LANE_H

#include "array/transfer.h"
#include "base/text.h"
#include "connection/messages.h"
#include "internal.h"
#include "lanes/link.h"

INTERNAL int send_through_ucx(struct link *link, struct transfer *transfer, const struct message *ready,
                              const uint32_t *missing, uint32_t count, pellucid_error *error);
INTERNAL int receive_through_ucx(struct link *link, struct transfer *transfer, struct text *header,
                                 pellucid_error *error);

#endif
