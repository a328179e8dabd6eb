/* UCX: pieces in flight, in either direction. */
#ifndef PELLUCID_LANES_UCX_BATCH_H
#define PELLUCID_LANES_UCX_BATCH_H

#include "array/transfer.h"
#include "internal.h"
#include "lanes/link.h"

enum { MAX_IN_FLIGHT = 8, STEPS_PER_CHECK = 256, UCX_FEATURE_TAG = 1, UCX_ADDRESS = 1, UCX_IN_PROGRESS = 1 };

/* Pieces in flight, in either direction. */
struct ucx_batch {
    struct link *link;
    struct transfer *transfer;
    const uint32_t *numbers;
    uint32_t count, posted, completed;
    void *requests[MAX_IN_FLIGHT];
    uint64_t *sums; /* at the receiver, for each piece: the first of the sent and the computed checksum */
    uint8_t *has_sum;
    int is_over; /* at the receiver: the sender has sent everything */
    int (*post)(struct ucx_batch *, uint32_t number, void **request, pellucid_error *);
    int (*on_complete)(struct ucx_batch *, uint32_t number, pellucid_error *);
    int (*check)(struct ucx_batch *, pellucid_error *);
};

INTERNAL int ucx_run(struct ucx_batch *batch, pellucid_error *error);

#endif
