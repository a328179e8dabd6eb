/* A link to a listener, and the best lane on it. */
#ifndef PELLUCID_TRANSFER_CONNECT_LINK_H
#define PELLUCID_TRANSFER_CONNECT_LINK_H

#include "connection/address.h"
#include "internal.h"
#include "lanes/link.h"

INTERNAL int open_link(struct link *link, const struct address *address, const char *token,
                       const pellucid_options *options, pellucid_error *error);

#endif
