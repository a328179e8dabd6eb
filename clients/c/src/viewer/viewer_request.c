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

/* The state of a job in a response of the agent. path: of the viewer below the agent's address; "" if it has none yet. */
struct job {
    pellucid_job_state state;
    char id[MAX_JOB_ID], path[512], last[32];
};

static int is_word(const char *text) { return text[0] != 0 && text[strspn(text, ID_CHARACTERS)] == 0; }

static int read_job(const char *body, struct job *job, pellucid_error *error) {
    memset(job, 0, sizeof *job);
    const char *state = json_end(body) != NULL ? json_find(body, "state") : NULL;
    json_text_into(body, "id", job->id, sizeof job->id);
    json_text_into(body, "path", job->path, sizeof job->path);
    json_text_into(state, "phase", job->state.phase, sizeof job->state.phase);
    json_text_into(state, "last", job->last, sizeof job->last);
    json_text_into(state, "reason", job->state.reason, sizeof job->state.reason);
    json_text_into(state, "node", job->state.node, sizeof job->state.node);
    job->state.place = (int)json_number(json_find(state, "place"), 0);
    job->state.expected_start = json_number(json_find(state, "expected_start"), 0);
    job->state.ends_at = json_number(json_find(state, "ends_at"), 0);
    if (is_word(job->id) && is_word(job->state.phase))
        return PELLUCID_OK;
    return protocol_error(error, "the response of the agent has no id or state");
}

/* Ask for a job; the response waits up to wait_s, as long as it is in this phase. */
static int get_job(const struct endpoint *agent, struct monitor *monitor, const char *id, const char *phase,
                   double wait_s, struct job *job, pellucid_error *error) {
    char path[256];
    struct response response;
    int wait_ms = (int)(1000 * wait_s);
    snprintf(path, sizeof path, "/api/jobs/%s?not_phase=%s&wait_s=%d.%03d", id, phase, wait_ms / 1000, wait_ms % 1000);
    TRY(http_json(agent, monitor, "GET", path, NULL, &response, error));
    int code = read_job(response.body, job, error);
    free(response.body);
    return code;
}

int query_job(const struct endpoint *agent, struct monitor *monitor, const char *id, pellucid_job_state *state,
              pellucid_error *error) {
    struct job job;
    TRY(get_job(agent, monitor, id, "", 0, &job, error));
    *state = job.state;
    return PELLUCID_OK;
}

/* Get a link to a viewer that works once, to be freed. */
static int request_viewer_link(const struct endpoint *agent, struct monitor *monitor, const char *id, char **url,
                               pellucid_error *error) {
    char request_path[256], path[512];
    struct response opened;
    struct text whole = {0};
    snprintf(request_path, sizeof request_path, "/api/jobs/%s/open", id);
    TRY(http_json(agent, monitor, "POST", request_path, NULL, &opened, error));
    json_text_into(opened.body, "path", path, sizeof path);
    free(opened.body);
    if (path[0] == 0)
        return protocol_error(error, "the response of the agent has no path");
    append_url(&whole, agent);
    append(&whole, "%s", path);
    *url = whole.at;
    return whole.has_failed ? out_of_memory(error, 0) : PELLUCID_OK;
}

static int is_over(const char *phase) {
    return strcmp(phase, "ended") == 0 || strcmp(phase, "failed") == 0 || strcmp(phase, "lost") == 0 ||
           strcmp(phase, "ending") == 0;
}

int wait_for_viewer(const struct endpoint *agent, struct monitor *monitor, const char *id, double timeout_s,
                    char **url, pellucid_error *error) {
    double since = now_s(), left_s = timeout_s;
    struct job job;
    TRY(get_job(agent, monitor, id, "", 0, &job, error));
    for (;;) {
        const char *phase = job.state.phase;
        if (job.path[0] && (strcmp(phase, "running") == 0 || strcmp(job.last, "running") == 0))
            return request_viewer_link(agent, monitor, id, url, error);
        if (is_over(phase))
            return fail(error, PELLUCID_REFUSED, "Run pellucid logs to see its output.", "The viewer has ended: %s",
                        job.state.reason[0] ? job.state.reason : "it was stopped.");
        TRY(report_progress(monitor, 0, error));
        left_s = timeout_s - (now_s() - since);
        if (left_s <= 0)
            return fail(error, PELLUCID_TIMEOUT, "Use a longer timeout_s, or run pellucid list to see its state.",
                        "The viewer is %s after %.0f s. %s", phase, now_s() - since, job.state.reason);
        char before[16];
        memcpy(before, phase, sizeof before);
        TRY(get_job(agent, monitor, id, before, left_s < POLL_WAIT_S ? left_s : POLL_WAIT_S, &job, error));
    }
}

int request_viewer(const struct endpoint *agent, const pellucid_viewer_options *options, struct monitor *monitor,
                   char id[MAX_JOB_ID], pellucid_error *error) {
    static const pellucid_viewer_options nothing;
    struct text body = {0};
    struct response response;
    struct job job;
    append_viewer_options(&body, options != NULL ? options : &nothing);
    TRY(http_json(agent, monitor, "POST", "/api/instances", &body, &response, error));
    int code = read_job(response.body, &job, error);
    free(response.body);
    memcpy(id, job.id, sizeof job.id);
    return code;
}
