/* The announcement of an array: its shape, type and texts as a message. */
#ifndef PELLUCID_ARRAY_ANNOUNCEMENT_H
#define PELLUCID_ARRAY_ANNOUNCEMENT_H

#include "array/lane.h"
#include "array/transfer.h"
#include "connection/channel.h"
#include "connection/messages.h"
#include "internal.h"

INTERNAL int send_announcement(struct channel *control, const struct transfer *transfer, enum lane lane,
                               pellucid_error *error);
/* Whether two announcements describe the same transfer: then received pieces are kept. */
INTERNAL int is_same_array(const struct transfer *a, const struct transfer *b);
/* Parse an announcement. Its texts belong to the transfer. */
INTERNAL int parse_announcement(const struct message *message, struct transfer *transfer, pellucid_error *error);

#endif
