/* TLS on a channel, with a pinned certificate or with those that the system trusts. */
#ifndef PELLUCID_CONNECTION_TLS_H
#define PELLUCID_CONNECTION_TLS_H

#include "connection/address.h"
#include "connection/channel.h"
#include "internal.h"

/* Start TLS on a channel, and verify the certificate: the pinned one, or one that the system trusts. */
INTERNAL int start_tls(struct channel *channel, const struct address *address, pellucid_error *error);

#endif
