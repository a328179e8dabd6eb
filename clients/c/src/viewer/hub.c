#include "viewer/hub.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/monitor.h"
#include "base/text.h"
#include "connection/endpoint.h"
#include "viewer/http_request.h"
#include "connection/http_response.h"
#include "viewer/state_folder.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HUB_START_TIMEOUT_S = 120 };

void hub_free(struct hub *hub) {
    free(hub->url);
    free(hub->user);
    free(hub->token);
    memset(hub, 0, sizeof *hub);
}

int find_hub(struct hub *hub) {
    char folder[4096], path[4200];
    state_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/hub.json", folder);
    char *content = read_file(path);
    *hub = (struct hub){json_text(content, "url"), json_text(content, "user"), json_text(content, "token")};
    free(content);
    if (hub->url != NULL && hub->user != NULL && hub->token != NULL)
        return 1;
    hub_free(hub);
    return 0;
}

/* Append a text as part of a URL. */
static void append_quoted(struct text *text, const char *value, const char *safe) {
    for (const unsigned char *at = (const unsigned char *)value; *at; at++)
        append(text, isalnum(*at) || strchr(safe, *at) != NULL ? "%c" : "%%%02X", *at);
}

char *hub_agent_url(const struct hub *hub) {
    struct text url = {0};
    append(&url, "%s/user/", hub->url);
    append_quoted(&url, hub->user, "-_.~@");
    append(&url, "/");
    if (url.has_failed)
        free(url.at);
    return url.has_failed ? NULL : url.at;
}

int start_hub_agent(const struct hub *hub, struct monitor *monitor, pellucid_error *error) {
    struct text url = {0}, path = {0};
    struct endpoint endpoint = {0};
    double since = now_s();
    append(&url, "%s/hub/api/", hub->url);
    append(&path, "/users/");
    append_quoted(&path, hub->user, "-_.~@");
    int code =
        url.has_failed || path.has_failed ? out_of_memory(error, 0) : parse_link(url.at, hub->token, &endpoint, error);
    endpoint.address.needs_proof = 0;
    for (int has_requested = 0, is_ready = 0; code == PELLUCID_OK && !is_ready;) {
        struct response response = {0};
        code = http_json(&endpoint, monitor, "GET", path.at, NULL, &response, error);
        const char *server = json_find(json_find(response.body, "servers"), ""), *ready = json_find(server, "ready");
        is_ready = ready != NULL && strncmp(ready, "true", 4) == 0;
        free(response.body);
        if (code == PELLUCID_OK && server == NULL && !has_requested) {
            size_t length = path.length;
            append(&path, "/server");
            code = path.has_failed ? out_of_memory(error, 0)
                                   : http_json(&endpoint, monitor, "POST", path.at, NULL, NULL, error);
            path.at[path.length = length] = 0;
            has_requested = 1;
        }
        if (code == PELLUCID_OK && !is_ready && now_s() - since > HUB_START_TIMEOUT_S)
            code = fail(error, PELLUCID_TIMEOUT, "Open the Hub in a browser to see why.",
                        "Your agent did not start at the Hub %s.", hub->url);
        if (code == PELLUCID_OK && !is_ready)
            sleep_s(0.2);
    }
    endpoint_free(&endpoint);
    free(url.at);
    free(path.at);
    return code;
}

char *hub_bearer(const char *url) {
    struct hub hub;
    if (url == NULL || !find_hub(&hub))
        return NULL;
    char *agent = hub_agent_url(&hub), *bearer = NULL;
    if (agent != NULL && strncmp(url, agent, strlen(agent)) == 0)
        bearer = strdup(hub.token);
    free(agent);
    hub_free(&hub);
    return bearer;
}
