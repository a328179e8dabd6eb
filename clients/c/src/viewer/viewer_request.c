#include "viewer/viewer_request.h"
#include "array/array.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/monitor.h"
#include "base/text.h"
#include "connection/endpoint.h"
#include "viewer/http_request.h"
#include "connection/http_response.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ID_CHARACTERS[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

enum { POLL_WAIT_S = 30 };

static void append_member(struct text *body, const char *key, const char *value) {
    if (value == NULL)
        return;
    append(body, ", \"%s\": ", key);
    append_json(body, value);
}

/* Append the request for a viewer as JSON. */
static void append_viewer_options(struct text *body, const pellucid_viewer_options *options) {
    char folder[4096];
    append(body, "{\"roots\": [");
    append_json(body, getcwd(folder, sizeof folder) != NULL ? folder : "/");
    for (int i = 0; options->roots != NULL && options->roots[i] != NULL; i++) {
        append(body, ", ");
        append_json(body, options->roots[i]);
    }
    locale_t before = use_c_locale();
    append(body, "], \"idle_timeout_s\": %.17g",
           60 * (options->idle_timeout_minutes > 0 ? options->idle_timeout_minutes : 60));
    uselocale(before);
    if (options->gpus != 0)
        append(body, ", \"gpus\": %d", options->gpus < 0 ? 0 : options->gpus);
    if (options->shape[0] > 0)
        append(body, ", \"shape\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], \"dtype\": \"%s\"", options->shape[0],
               options->shape[1], options->shape[2], pellucid_type_name(options->type));
    if (options->memory_bytes > 0)
        append(body, ", \"memory_bytes\": %" PRIu64, options->memory_bytes);
    if (options->cores > 0)
        append(body, ", \"cores\": %d", options->cores);
    append_member(body, "device", options->device);
    append_member(body, "name", options->name);
    append_member(body, "source", options->source);
    append(body, ", \"overrides\": {\"options\": null");
    append_member(body, "scheduler", options->scheduler);
    append_member(body, "partition", options->partition);
    append_member(body, "account", options->account);
    append_member(body, "constraint", options->constraint);
    if (options->time_limit_minutes > 0)
        append(body, ", \"time_limit_minutes\": %d", options->time_limit_minutes);
    append(body, "}}");
}

/* Get a link to a viewer that works once. path: below the agent's address, with the code. */
static int request_viewer_link(const struct endpoint *agent, struct monitor *monitor, const char *id, char path[512],
                               pellucid_error *error) {
    char request_path[256];
    struct response opened;
    snprintf(request_path, sizeof request_path, "/api/jobs/%s/open", id);
    TRY(http_json(agent, monitor, "POST", request_path, NULL, &opened, error));
    json_text_into(opened.body, "path", path, 512);
    free(opened.body);
    return path[0] ? PELLUCID_OK : protocol_error(error, "the response of the agent has no path");
}

/* Wait until a viewer can be used. path: as from request_viewer_link. */
static int wait_for_viewer(const struct endpoint *agent, struct monitor *monitor, struct response *job, char path[512],
                           pellucid_error *error) {
    double since = now_s();
    for (;;) {
        char id[80], phase[32], last[32], request_path[256], why[256];
        const char *state = json_find(job->body, "state");
        json_text_into(job->body, "id", id, sizeof id);
        json_text_into(job->body, "path", path, 512);
        json_text_into(state, "phase", phase, sizeof phase);
        json_text_into(state, "last", last, sizeof last);
        json_text_into(state, "reason", why, sizeof why);
        if (id[0] == 0 || phase[0] == 0 || id[strspn(id, ID_CHARACTERS)] != 0 ||
            phase[strspn(phase, ID_CHARACTERS)] != 0)
            return protocol_error(error, "the response of the agent has no id or state");
        if (path[0] && (strcmp(phase, "running") == 0 || strcmp(last, "running") == 0))
            return request_viewer_link(agent, monitor, id, path, error);
        if (strcmp(phase, "ended") == 0 || strcmp(phase, "failed") == 0 || strcmp(phase, "lost") == 0 ||
            strcmp(phase, "ending") == 0)
            return fail(error, PELLUCID_REFUSED, "Run pellucid logs to see its output.", "The viewer has ended: %s",
                        why[0] ? why : "it was stopped.");
        TRY(report_progress(monitor, 0, error));
        if (now_s() - since > monitor->timeout_s)
            return fail(error, PELLUCID_TIMEOUT, "Use a longer timeout_s, or run pellucid list to see its state.",
                        "The viewer is %s after %.0f s. %s", phase, now_s() - since, why);
        snprintf(request_path, sizeof request_path, "/api/jobs/%s?not_phase=%s&wait_s=%d", id, phase, POLL_WAIT_S);
        free(job->body);
        memset(job, 0, sizeof *job);
        TRY(http_json(agent, monitor, "GET", request_path, NULL, job, error));
    }
}

int request_viewer(const char *agent_url, const char *token, const struct hub *hub,
                   const pellucid_viewer_options *options, struct monitor *monitor, char **url, pellucid_error *error) {
    static const pellucid_viewer_options nothing;
    struct endpoint agent = {0};
    struct text body = {0}, whole = {0};
    struct response job = {0};
    char path[512];
    append_viewer_options(&body, options != NULL ? options : &nothing);
    int code = parse_link(agent_url, token != NULL ? token : hub->token, &agent, error);
    agent.address.needs_proof &= token != NULL;
    if (code != PELLUCID_OK)
        free(body.at);
    code = code != PELLUCID_OK ? code : http_json(&agent, monitor, "POST", "/api/instances", &body, &job, error);
    code = code != PELLUCID_OK ? code : wait_for_viewer(&agent, monitor, &job, path, error);
    free(job.body);
    if (code == PELLUCID_OK) {
        append_url(&whole, &agent);
        append(&whole, "%s", path);
        code = whole.has_failed ? out_of_memory(error, 0) : PELLUCID_OK;
        *url = whole.at;
    }
    endpoint_free(&agent);
    return code;
}
