/* A new viewer, requested from an agent. */
#ifndef PELLUCID_VIEWER_VIEWER_REQUEST_H
#define PELLUCID_VIEWER_VIEWER_REQUEST_H

#include "base/monitor.h"
#include "viewer/hub.h"
#include "internal.h"

/* Request a viewer from an agent. token: of an agent on this machine; NULL where it is behind the Hub.
 * url: of the viewer, to be freed. */
INTERNAL int request_viewer(const char *agent_url, const char *token, const struct hub *hub,
                            const pellucid_viewer_options *options, struct monitor *monitor, char **url,
                            pellucid_error *error);

#endif
