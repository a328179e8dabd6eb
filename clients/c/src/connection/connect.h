/* Connecting: directly, or through a web server. */
#ifndef PELLUCID_CONNECTION_CONNECT_H
#define PELLUCID_CONNECTION_CONNECT_H

#include "base/monitor.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "internal.h"

enum { CONNECT_TIMEOUT_S = 10 };

/* A connection to host and port, with TLS where the address has it. */
INTERNAL int connect_directly(const struct address *address, struct monitor *monitor, struct channel *channel,
                              pellucid_error *error);
/* The same, or a connection through the web server at the address. */
INTERNAL int connect_to(const struct address *address, struct monitor *monitor, struct channel *channel,
                        pellucid_error *error);

#endif
