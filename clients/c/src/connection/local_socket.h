/* Sockets of this machine, which memory can be handed through. */
#ifndef PELLUCID_CONNECTION_LOCAL_SOCKET_H
#define PELLUCID_CONNECTION_LOCAL_SOCKET_H

#include "base/monitor.h"
#include "connection/channel.h"
#include "internal.h"

INTERNAL int connect_local(const char *name, struct monitor *monitor, struct channel *channel);
INTERNAL int listen_local(const char *name);
/* The same text in every process of one running machine, and nowhere else. */
INTERNAL void read_machine_id(char *text, size_t capacity);

#endif
