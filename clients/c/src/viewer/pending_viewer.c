/* Viewers that were requested from an agent, until they can be used. */
#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"
#include "internal.h"
#include "viewer/agent.h"
#include "viewer/http_request.h"
#include "viewer/hub.h"
#include "viewer/viewer_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_TIMEOUT_S = 600 };

struct pellucid_pending_viewer {
    struct endpoint agent;
    struct monitor monitor;
    pellucid_options options;
    char id[MAX_JOB_ID];
};

/* The agent of this user: at the Hub, on this machine, or a new one. */
static int find_user_agent(const pellucid_viewer_options *wanted, struct monitor *monitor, struct endpoint *agent,
                           pellucid_error *error) {
    struct hub hub = {0};
    char *url = NULL, *token = NULL;
    int code, is_at_hub = find_hub(&hub);
    if (is_at_hub) {
        code = start_hub_agent(&hub, monitor, error);
        url = code == PELLUCID_OK ? hub_agent_url(&hub) : NULL;
        code = code == PELLUCID_OK && url == NULL ? out_of_memory(error, 0) : code;
    } else {
        code = find_or_start_agent(wanted != NULL ? wanted->python : NULL, monitor, &url, &token, error);
    }
    code = code != PELLUCID_OK ? code : parse_link(url, is_at_hub ? hub.token : token, agent, error);
    agent->address.needs_proof &= !is_at_hub; /* a Hub gives no proof */
    hub_free(&hub);
    free(url);
    free(token);
    return code;
}

int pellucid_viewer_start_pending(const pellucid_viewer_options *wanted, const pellucid_options *given,
                                  pellucid_pending_viewer **result, pellucid_error *error) {
    pellucid_error unused;
    pellucid_pending_viewer *pending = calloc(1, sizeof *pending);
    error = error != NULL ? error : &unused;
    *result = NULL;
    if (pending == NULL)
        return out_of_memory(error, sizeof *pending);
    pending->options = given != NULL ? *given : (pellucid_options){0};
    if (pending->options.timeout_s <= 0)
        pending->options.timeout_s = START_TIMEOUT_S;
    monitor_init(&pending->monitor, &pending->options);
    int code = find_user_agent(wanted, &pending->monitor, &pending->agent, error);
    code = code != PELLUCID_OK ? code : request_viewer(&pending->agent, wanted, &pending->monitor, pending->id, error);
    if (code != PELLUCID_OK) {
        pellucid_pending_viewer_close(pending);
        return code;
    }
    *result = pending;
    return PELLUCID_OK;
}

int pellucid_pending_viewer_wait(pellucid_pending_viewer *pending, double timeout_s, pellucid_viewer **viewer,
                                 pellucid_error *error) {
    pellucid_error unused;
    char *url = NULL;
    error = error != NULL ? error : &unused;
    *viewer = NULL;
    TRY(wait_for_viewer(&pending->agent, &pending->monitor, pending->id, timeout_s, &url, error));
    int code = pellucid_viewer_connect(url, &pending->options, viewer, error);
    free(url);
    return code;
}

int pellucid_viewer_start(const pellucid_viewer_options *wanted, const pellucid_options *given,
                          pellucid_viewer **result, pellucid_error *error) {
    pellucid_pending_viewer *pending;
    *result = NULL;
    TRY(pellucid_viewer_start_pending(wanted, given, &pending, error));
    int code = pellucid_pending_viewer_wait(pending, pending->options.timeout_s, result, error);
    pellucid_pending_viewer_close(pending);
    return code;
}

int pellucid_pending_viewer_state(pellucid_pending_viewer *pending, pellucid_job_state *state, pellucid_error *error) {
    pellucid_error unused;
    return query_job(&pending->agent, &pending->monitor, pending->id, state, error != NULL ? error : &unused);
}

const char *pellucid_pending_viewer_id(const pellucid_pending_viewer *pending) { return pending->id; }

int pellucid_pending_viewer_log(pellucid_pending_viewer *pending, char **log, pellucid_error *error) {
    pellucid_error unused;
    struct response response;
    char path[128];
    *log = NULL;
    snprintf(path, sizeof path, "/api/jobs/%s/log", pending->id);
    TRY(http_json(&pending->agent, &pending->monitor, "GET", path, NULL, &response, error != NULL ? error : &unused));
    *log = response.body;
    return PELLUCID_OK;
}

int pellucid_pending_viewer_shutdown(pellucid_pending_viewer *pending, pellucid_error *error) {
    pellucid_error unused;
    char path[128];
    snprintf(path, sizeof path, "/api/jobs/%s", pending->id);
    return http_json(&pending->agent, &pending->monitor, "DELETE", path, NULL, NULL, error != NULL ? error : &unused);
}

void pellucid_pending_viewer_close(pellucid_pending_viewer *pending) {
    if (pending == NULL)
        return;
    monitor_destroy(&pending->monitor);
    endpoint_free(&pending->agent);
    free(pending);
}
