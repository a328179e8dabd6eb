#include "scene/scene_changes.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"
#include "connection/http_response.h"
#include "viewer/http_request.h"
#include "viewer/viewer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CHANGE_ATTEMPTS = 20 };
static const long long ANY_REVISION = -1;

int request_only(pellucid_viewer *viewer, const char *method, const char *path, struct text *body,
                 pellucid_error *error) {
    pellucid_error unused;
    return http_json(&viewer->endpoint, &viewer->monitor, method, path, body, NULL, error != NULL ? error : &unused);
}

int read_scene(pellucid_viewer *viewer, struct scene *scene, pellucid_error *error) {
    TRY(pellucid_viewer_query(viewer, &scene->body, error));
    const char *revision = json_end(scene->body) == NULL ? NULL : json_find(scene->body, "revision");
    scene->content = revision == NULL ? NULL : json_find(scene->body, "scene");
    scene->revision = revision == NULL ? 0 : strtoll(revision, NULL, 10);
    if (scene->content != NULL)
        return PELLUCID_OK;
    free(scene->body);
    scene->body = NULL;
    return protocol_error(error, "its response has no scene");
}

void append_change(struct text *changes, const char *path, ...) {
    char content[1024];
    va_list arguments;
    va_start(arguments, path);
    int length = vsnprintf(content, sizeof content, path, arguments);
    va_end(arguments);
    changes->has_failed |= length < 0 || length >= (int)sizeof content;
    append(changes, "%s{\"path\": [%s], \"value\": ", changes->length > 0 ? ", " : "", content);
}

static int send_at_revision(pellucid_viewer *viewer, struct text *changes, long long revision, pellucid_error *error) {
    struct text body = {0};
    append(&body, "{\"changes\": [%s]", changes->has_failed ? "" : changes->at);
    if (revision != ANY_REVISION)
        append(&body, ", \"revision\": %lld", revision);
    append(&body, "}");
    body.has_failed |= changes->has_failed;
    free(changes->at);
    memset(changes, 0, sizeof *changes);
    return request_only(viewer, "PATCH", "/api/scene", &body, error);
}

int send_changes(pellucid_viewer *viewer, struct text *changes, pellucid_error *error) {
    return send_at_revision(viewer, changes, ANY_REVISION, error);
}

int change_scene(pellucid_viewer *viewer, make_changes make, const void *context, pellucid_error *error) {
    long long tried = ANY_REVISION;
    for (int i = 0;; i++) {
        struct scene scene;
        struct text changes = {0};
        TRY(read_scene(viewer, &scene, error));
        int is_tried = scene.revision == tried; /* then another change was not the reason for the refusal */
        tried = scene.revision;
        int code = make(scene.content, context, &changes, error);
        free(scene.body);
        if (code != PELLUCID_OK) {
            free(changes.at);
            return code;
        }
        code = send_at_revision(viewer, &changes, tried, error);
        if (code != PELLUCID_REFUSED || is_tried || i == MAX_CHANGE_ATTEMPTS)
            return code;
    }
}

int find_volume(const char *content, int layer, const char **volume, pellucid_error *error) {
    const char *volumes = json_find(content, "volumes");
    *volume = layer < 0 ? NULL : json_element(volumes, (size_t)layer);
    if (*volume != NULL)
        return PELLUCID_OK;
    return fail(error, PELLUCID_INVALID,
                json_count(volumes) > 0 ? "Use a lower number, from 0." : "Call pellucid_viewer_render_volume first.",
                "The scene has no layer %d.", layer);
}

int pellucid_viewer_change(pellucid_viewer *viewer, const char *path, const char *value, pellucid_error *error) {
    struct text body = {0};
    append(&body, "{\"changes\": [{\"path\": %s, \"value\": %s}]}", path != NULL ? path : "[]",
           value != NULL ? value : "null");
    return request_only(viewer, "PATCH", "/api/scene", &body, error);
}

int pellucid_viewer_undo(pellucid_viewer *viewer, pellucid_error *error) {
    return request_only(viewer, "POST", "/api/undo", NULL, error);
}

int pellucid_viewer_redo(pellucid_viewer *viewer, pellucid_error *error) {
    return request_only(viewer, "POST", "/api/redo", NULL, error);
}
