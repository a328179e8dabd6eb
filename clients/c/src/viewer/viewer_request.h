/* A new viewer, requested from an agent. */
#ifndef PELLUCID_VIEWER_VIEWER_REQUEST_H
#define PELLUCID_VIEWER_VIEWER_REQUEST_H

#include "base/monitor.h"
#include "internal.h"

/* Ask an agent for a viewer. url: the viewer's, to be freed. */
INTERNAL int request_viewer(const char *agent_url, const char *bearer, const pellucid_viewer_options *options,
                            struct monitor *monitor, char **url, pellucid_error *error);

#endif
