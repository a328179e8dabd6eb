/* The lane shm: pieces are copied into the memory of the receiver. */
#ifndef PELLUCID_LANES_SHM_LANE_H
#define PELLUCID_LANES_SHM_LANE_H

#include "array/transfer.h"
#include "connection/channel.h"
#include "connection/messages.h"
#include "internal.h"
#include "lanes/link.h"

/* Map the receiver's memory, whose descriptor came with a message. It must be sealed against shrinking: access beyond
 * its end would crash this process. */
INTERNAL int attach_memory(struct channel *control, uint64_t bytes, void **memory, pellucid_error *error);
INTERNAL int send_through_shm(struct link *link, struct transfer *transfer, const struct message *ready,
                              const uint32_t *missing, uint32_t count, pellucid_error *error);
/* Wait until the sender has copied all pieces; it reports now and then which are in place. */
INTERNAL int receive_through_shm(struct link *link, struct transfer *transfer, pellucid_error *error);

#endif
