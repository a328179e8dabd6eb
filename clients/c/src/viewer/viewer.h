/* Viewers: connecting, starting, querying, screenshots. */
#ifndef PELLUCID_VIEWER_VIEWER_H
#define PELLUCID_VIEWER_VIEWER_H

#include "base/monitor.h"
#include "connection/address.h"
#include "connection/endpoint.h"
#include "internal.h"

enum { PROBE_TIMEOUT_S = 3, PROTOCOL_VERSION = 4 };
enum route { ROUTE_UNKNOWN, ROUTE_TRANSPORT, ROUTE_HTTP };

struct pellucid_viewer {
    struct endpoint endpoint;
    char *url;
    char transfer[400]; /* the address of its transport; empty if it has none */
    char socket[108];   /* for programs on the same machine; may be empty */
    enum route route;
    struct address transport; /* as it is reached from here */
    pellucid_options options;
    struct monitor monitor;
};

#endif
