/* The agent of this user behind a JupyterHub. */
#ifndef PELLUCID_VIEWER_HUB_H
#define PELLUCID_VIEWER_HUB_H

#include "base/monitor.h"
#include "internal.h"

/* The user at the site's Hub after "pellucid login"; otherwise all NULL. To be freed. */
struct hub {
    char *url, *user, *token;
};

INTERNAL void hub_free(struct hub *hub);
INTERNAL int find_hub(struct hub *hub);
/* The address of the user's agent at the Hub; to be freed. */
INTERNAL char *hub_agent_url(const struct hub *hub);
/* Start the user's agent at the Hub, and wait until it is ready. */
INTERNAL int start_hub_agent(const struct hub *hub, struct monitor *monitor, pellucid_error *error);
/* The user's token at the Hub, for addresses behind that Hub only; otherwise NULL. To be freed. */
INTERNAL char *hub_bearer(const char *url);

#endif
