/* UCX: starting and stopping it for one link. */
#ifndef PELLUCID_LANES_UCX_ENDPOINT_H
#define PELLUCID_LANES_UCX_ENDPOINT_H

#include "internal.h"
#include "lanes/link.h"

/* Whether there is an RDMA card, on which UCX is faster than sockets. */
INTERNAL int has_rdma(void);
INTERNAL int ucx_failed(pellucid_error *error, const char *what, int status);
INTERNAL int ucx_open(struct link *link, pellucid_error *error);
INTERNAL void ucx_close(struct ucx_lane *lane);

#endif
