/* Networks that a viewer applies to a volume while it shows the labels. */
#include "base/clock.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"
#include "internal.h"
#include "viewer/http_request.h"
#include "connection/http_response.h"
#include "viewer/viewer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NETWORK_BYTES = 256 * 1024 * 1024 };
static const double NETWORK_POLL_S = 0.05;
static const char TASK_CHARACTERS[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/* The bytes of a file, to be freed. */
static int read_network(const char *file, char **content, size_t *length, pellucid_error *error) {
    FILE *opened = file != NULL ? fopen(file, "rbe") : NULL;
    long size = -1;
    if (opened != NULL && fseek(opened, 0, SEEK_END) == 0)
        size = ftell(opened);
    if (size < 0 || size > MAX_NETWORK_BYTES) {
        if (opened != NULL)
            fclose(opened);
        return fail(error, PELLUCID_INVALID, "Pass an ONNX file, or a package of bioimage.io, of at most 256 MiB.",
                    "The network %s cannot be read: %s.", file != NULL ? file : "NULL",
                    size < 0 ? strerror(errno) : "it is too large");
    }
    rewind(opened);
    *content = malloc((size_t)size + 1);
    *length = *content != NULL ? fread(*content, 1, (size_t)size, opened) : 0;
    fclose(opened);
    if (*content == NULL)
        return out_of_memory(error, (uint64_t)size);
    if (*length == (size_t)size)
        return PELLUCID_OK;
    free(*content);
    return fail(error, PELLUCID_INVALID, "Check the file.", "The network %s could not be read to its end.", file);
}

/* Append the last part of a path, with everything but letters, digits and "-_." percent-encoded. */
static void append_file_name(struct text *text, const char *file) {
    const char *slash = strrchr(file, '/');
    for (const char *at = slash != NULL ? slash + 1 : file; *at != 0; at++) {
        int is_plain = strchr(TASK_CHARACTERS, *at) != NULL || *at == '.';
        append(text, is_plain ? "%c" : "%%%02X", (unsigned char)*at);
    }
}

/* path: of the uploaded network on the viewer's machine, to be freed. */
static int upload_network(pellucid_viewer *viewer, const char *file, char **path, pellucid_error *error) {
    struct text address = {0};
    struct response response;
    char *content = NULL;
    size_t length = 0;
    TRY(read_network(file, &content, &length, error));
    append(&address, "/api/upload?name=");
    append_file_name(&address, file);
    int code = PELLUCID_OK;
    if (address.has_failed)
        code = out_of_memory(error, address.length);
    else
        code = http_request(&viewer->endpoint, &viewer->monitor, "PUT", address.at, content, length, MAX_RESPONSE_BYTES,
                            &response, error);
    free(content);
    free(address.at);
    TRY(code);
    *path = json_text(response.body, "path");
    free(response.body);
    return *path != NULL ? PELLUCID_OK : protocol_error(error, "its response has no path");
}

/* Append the members of a JSON object. */
static int append_members(struct text *body, const char *request, pellucid_error *error) {
    const char *at = json_skip_space(request), *end = json_end(at);
    if (*at != '{' || end == NULL || *json_skip_space(end) != 0)
        return fail(error, PELLUCID_INVALID, "Pass a JSON object, such as {\"threshold\": 0.5}, or NULL.",
                    "The request for the network is not a JSON object.");
    at = json_skip_space(at + 1);
    append(body, "%s%.*s", *at == '}' ? "" : ", ", (int)(end - 1 - at), at);
    return PELLUCID_OK;
}

int pellucid_viewer_apply_network(pellucid_viewer *viewer, int layer, const char *file, const char *request,
                                  pellucid_network *network, pellucid_error *error) {
    pellucid_error unused;
    struct text body = {0};
    struct response response;
    char *path;
    error = error != NULL ? error : &unused;
    TRY(upload_network(viewer, file, &path, error));
    append(&body, "{\"layer\": %d, \"path\": ", layer);
    append_json(&body, path);
    free(path);
    int code = request != NULL ? append_members(&body, request, error) : PELLUCID_OK;
    append(&body, "}");
    if (code != PELLUCID_OK) {
        free(body.at);
        return code;
    }
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "POST", "/api/networks", &body, &response, error));
    const char *number = json_find(response.body, "layer");
    json_text_into(response.body, "task", network->task, sizeof network->task);
    network->layer = number != NULL ? (int)strtol(number, NULL, 10) : -1;
    free(response.body);
    int is_known = network->task[0] != 0 && network->task[strspn(network->task, TASK_CHARACTERS)] == 0;
    return is_known && network->layer >= 0 ? PELLUCID_OK : protocol_error(error, "its response has no task or layer");
}

/* The share that is done, from 0 to 1; state: "running", "finished" or "stopped". */
static int query_network(pellucid_viewer *viewer, const pellucid_network *network, char state[16], double *share,
                         pellucid_error *error) {
    struct response response;
    char path[128];
    snprintf(path, sizeof path, "/api/tasks/%s", network->task);
    TRY(http_request(&viewer->endpoint, &viewer->monitor, "GET", path, "", 0, MAX_RESPONSE_BYTES, &response, error));
    const char *done = json_find(response.body, "done"), *total = json_find(response.body, "total");
    long long all = total != NULL ? strtoll(total, NULL, 10) : 0;
    json_text_into(response.body, "state", state, 16);
    *share = done != NULL && all > 0 ? (double)strtoll(done, NULL, 10) / (double)all : 0.0;
    if (strcmp(state, "finished") == 0)
        *share = 1;
    int code = strcmp(state, "stopped") == 0 ? error_from_response(&response, error) : PELLUCID_OK;
    free(response.body);
    return code;
}

int pellucid_viewer_wait_for_network(pellucid_viewer *viewer, const pellucid_network *network, double timeout_s,
                                     double *share, pellucid_error *error) {
    pellucid_error unused;
    double since = now_s(), reached = 0;
    char state[16];
    error = error != NULL ? error : &unused;
    for (;;) {
        TRY(query_network(viewer, network, state, &reached, error));
        if (share != NULL)
            *share = reached;
        if (strcmp(state, "finished") == 0)
            return PELLUCID_OK;
        TRY(report_progress(&viewer->monitor, 0, error));
        if (now_s() - since >= timeout_s)
            return fail(error, PELLUCID_TIMEOUT, "Wait longer: labels that are computed are shown already.",
                        "After %.1f s the network has labelled %.0f %% of the volume.", now_s() - since, 100 * reached);
        sleep_s(NETWORK_POLL_S);
    }
}

int pellucid_viewer_stop_network(pellucid_viewer *viewer, const pellucid_network *network, pellucid_error *error) {
    pellucid_error unused;
    char path[128];
    error = error != NULL ? error : &unused;
    snprintf(path, sizeof path, "/api/tasks/%s", network->task);
    return http_json(&viewer->endpoint, &viewer->monitor, "DELETE", path, NULL, NULL, error);
}
