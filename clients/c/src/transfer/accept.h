/* Connections to a listener: each has to prove first that it holds the token. */
#ifndef PELLUCID_TRANSFER_ACCEPT_H
#define PELLUCID_TRANSFER_ACCEPT_H

#include "connection/channel.h"
#include "internal.h"
#include "lanes/link.h"

enum { HANDSHAKE_TIMEOUT_S = 10 };

INTERNAL int accept_stream(struct link *link, const char *transfer, struct channel *channel, pellucid_error *error);
INTERNAL int next_control(pellucid_listener *listener, double until, struct channel *channel, pellucid_error *error);

#endif
