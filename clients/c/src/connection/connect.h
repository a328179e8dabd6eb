/* Connecting: directly, or through a web server. */
#ifndef PELLUCID_CONNECTION_CONNECT_H
#define PELLUCID_CONNECTION_CONNECT_H

#include "base/monitor.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "internal.h"

enum { CONNECT_TIMEOUT_S = 10 };

INTERNAL int connect_to(const struct address *address, struct monitor *monitor, struct channel *channel,
                        pellucid_error *error);

#endif
