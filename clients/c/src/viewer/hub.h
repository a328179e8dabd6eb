/* The agent of this user behind a JupyterHub. */
#ifndef PELLUCID_VIEWER_HUB_H
#define PELLUCID_VIEWER_HUB_H

#include "base/monitor.h"
#include "internal.h"

/* This person at the site's Hub, where "pellucid login" was used. All empty where not; to be freed. */
struct hub {
    char *url, *user, *token;
};

INTERNAL void hub_free(struct hub *hub);
INTERNAL int find_hub(struct hub *hub);
/* The address of this person's agent behind the Hub; to be freed. */
INTERNAL char *hub_agent_url(const struct hub *hub);
/* Start this person's agent behind the Hub, and wait until it is ready. */
INTERNAL int start_hub_agent(const struct hub *hub, struct monitor *monitor, pellucid_error *error);
/* This person's token at a Hub, where an address is behind it; nobody else is told it. To be freed. */
INTERNAL char *hub_bearer(const char *url);

#endif
