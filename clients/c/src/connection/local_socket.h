/* Local sockets of this machine, which can pass memory. */
#ifndef PELLUCID_CONNECTION_LOCAL_SOCKET_H
#define PELLUCID_CONNECTION_LOCAL_SOCKET_H

#include "base/monitor.h"
#include "connection/channel.h"
#include "internal.h"

INTERNAL int connect_local(const char *name, struct monitor *monitor, struct channel *channel);
INTERNAL int listen_local(const char *name);
/* An id that all processes of this machine share until it restarts. */
INTERNAL void read_machine_id(char *text, size_t capacity);

#endif
