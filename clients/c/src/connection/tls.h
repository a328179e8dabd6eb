/* TLS on a channel, with a pinned certificate or with those that the system trusts. */
#ifndef PELLUCID_CONNECTION_TLS_H
#define PELLUCID_CONNECTION_TLS_H

#include "connection/address.h"
#include "connection/channel.h"
#include "internal.h"

/* Speak TLS on a channel: with nobody but the holder of the pinned certificate, or whom the system trusts. */
INTERNAL int start_tls(struct channel *channel, const struct address *address, pellucid_error *error);

#endif
