/* The connections of one transfer. */
#ifndef PELLUCID_LANES_LINK_H
#define PELLUCID_LANES_LINK_H

#include "array/lane.h"
#include "base/monitor.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "internal.h"

enum { MAX_STREAMS = 64 };

/* The UCX objects of a link; NULL until they are used. */
struct ucx_lane {
    void *context, *worker, *endpoint;
};

/* The connections of one transfer. The client opens more of them; the listener waits for them. */
struct link {
    struct channel control;
    struct channel streams[MAX_STREAMS];
    int stream_count, wanted_streams;
    struct monitor monitor;
    enum lane lane;
    struct ucx_lane ucx;
    const struct address *address;
    const char *token;
    pellucid_listener *listener;                                                            /* NULL at the client */
    int (*accept)(struct link *, const char *transfer, struct channel *, pellucid_error *); /* at the listener */
};

INTERNAL void link_close(struct link *link);
INTERNAL int open_streams(struct link *link, const char *transfer, int count, pellucid_error *error);

#endif
