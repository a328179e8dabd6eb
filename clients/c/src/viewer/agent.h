/* The agent of this user: found, or started. */
#ifndef PELLUCID_VIEWER_AGENT_H
#define PELLUCID_VIEWER_AGENT_H

#include "base/monitor.h"
#include "internal.h"

/* Find the agent, or start a new one. url, token: to be freed. */
INTERNAL int find_or_start_agent(const char *python, struct monitor *monitor, char **url, char **token,
                                 pellucid_error *error);

#endif
