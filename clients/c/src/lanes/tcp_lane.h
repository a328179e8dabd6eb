/* The lane tcp: pieces over several connections. */
#ifndef PELLUCID_LANES_TCP_LANE_H
#define PELLUCID_LANES_TCP_LANE_H

#include "connection/channel.h"
#include "internal.h"
#include "lanes/piece_threads.h"

INTERNAL int send_pieces(struct work *work, struct channel *channel, pellucid_error *error);
INTERNAL int receive_pieces(struct work *work, struct channel *channel, pellucid_error *error);

#endif
