/* A new viewer, requested from an agent. */
#ifndef PELLUCID_VIEWER_VIEWER_REQUEST_H
#define PELLUCID_VIEWER_VIEWER_REQUEST_H

#include "base/monitor.h"
#include "connection/endpoint.h"
#include "internal.h"

enum { MAX_JOB_ID = 80 };

/* Request a viewer. id: of its job. options: may be NULL. */
INTERNAL int request_viewer(const struct endpoint *agent, const pellucid_viewer_options *options,
                            struct monitor *monitor, char id[MAX_JOB_ID], pellucid_error *error);
INTERNAL int query_job(const struct endpoint *agent, struct monitor *monitor, const char *id,
                       pellucid_job_state *state, pellucid_error *error);
/* Wait until a viewer can be used. url: a link that works once, to be freed. */
INTERNAL int wait_for_viewer(const struct endpoint *agent, struct monitor *monitor, const char *id, double timeout_s,
                             char **url, pellucid_error *error);

#endif
