/* Access to a viewer: codes of links. */
#ifndef PELLUCID_VIEWER_ACCESS_H
#define PELLUCID_VIEWER_ACCESS_H

#include "base/monitor.h"
#include "connection/endpoint.h"
#include "internal.h"

/* Exchange the code of a link, which works once, for the token of later requests. */
INTERNAL int redeem_code(struct endpoint *endpoint, struct monitor *monitor, pellucid_error *error);

#endif
