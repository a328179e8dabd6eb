/* The camera of a viewer, and what is at a position. */
#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"
#include "connection/http_response.h"
#include "internal.h"
#include "scene/scene_changes.h"
#include "viewer/http_request.h"
#include "viewer/viewer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_camera(const char *json, pellucid_camera *camera) {
    memset(camera, 0, sizeof *camera);
    camera->field_of_view_deg = json_number(json_find(json, "field_of_view_deg"), 0); /* null: orthographic */
    camera->height = json_number(json_find(json, "height"), 0);
    return json_numbers(json_find(json, "position"), camera->position, 3) &&
           json_numbers(json_find(json, "target"), camera->target, 3) &&
           json_numbers(json_find(json, "up"), camera->up, 3);
}

int pellucid_viewer_camera(pellucid_viewer *viewer, pellucid_camera *camera, pellucid_error *error) {
    struct scene scene;
    TRY(read_scene(viewer, &scene, error));
    int is_read = read_camera(json_find(scene.content, "camera"), camera);
    free(scene.body);
    return is_read ? PELLUCID_OK : protocol_error(error, "its scene has no camera");
}

int pellucid_viewer_set_camera(pellucid_viewer *viewer, const pellucid_camera *camera, pellucid_error *error) {
    struct text body = {0};
    append(&body, "{\"camera\": {\"position\": ");
    append_numbers(&body, camera->position, 3);
    append(&body, ", \"target\": ");
    append_numbers(&body, camera->target, 3);
    append(&body, ", \"up\": ");
    append_numbers(&body, camera->up, 3);
    append(&body, ", \"field_of_view_deg\": ");
    if (camera->field_of_view_deg > 0)
        append_number(&body, camera->field_of_view_deg);
    else
        append(&body, "null");
    append(&body, ", \"height\": ");
    append_number(&body, camera->height > 0 ? camera->height : 2);
    append(&body, "}}");
    return request_only(viewer, "PUT", "/api/camera", &body, error);
}

int pellucid_viewer_fit_camera(pellucid_viewer *viewer, double aspect, int is_from_here, pellucid_error *error) {
    pellucid_camera camera;
    struct text body = {0};
    struct response response;
    append(&body, "{\"aspect\": ");
    if (aspect > 0)
        append_number(&body, aspect);
    else
        append(&body, "null");
    append(&body, ", \"is_from_here\": %s}", is_from_here ? "true" : "false");
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "POST", "/api/camera/fit", &body, &response, error));
    int is_read = json_end(response.body) != NULL && read_camera(json_find(response.body, "camera"), &camera);
    free(response.body);
    return is_read ? pellucid_viewer_set_camera(viewer, &camera, error)
                   : protocol_error(error, "its response has no camera");
}

int pellucid_viewer_restore_first_view(pellucid_viewer *viewer, pellucid_error *error) {
    return request_only(viewer, "POST", "/api/auto", NULL, error);
}

/* A whole number; `missing` where the value is null. */
static long long read_integer(const char *json, const char *key, long long missing) {
    const char *value = json_find(json, key);
    return value == NULL || *value == 'n' ? missing : strtoll(value, NULL, 10);
}

int pellucid_viewer_probe(pellucid_viewer *viewer, const double position[3], pellucid_hit *hit, pellucid_error *error) {
    struct text body = {0};
    struct response response;
    double voxel[3] = {0};
    memset(hit, 0, sizeof *hit);
    append(&body, "{\"position\": ");
    append_numbers(&body, position, 3);
    append(&body, "}");
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "POST", "/api/probe", &body, &response, error));
    int is_json = json_end(response.body) != NULL;
    const char *value = is_json ? json_find(response.body, "value") : NULL;
    hit->layer = (int)read_integer(is_json ? response.body : NULL, "layer", -1);
    hit->label_layer = (int)read_integer(is_json ? response.body : NULL, "label_layer", -1);
    hit->label = read_integer(is_json ? response.body : NULL, "label", 0);
    hit->has_value = value != NULL && *value != 'n';
    hit->value = json_number(value, 0);
    json_numbers(is_json ? json_find(response.body, "voxel") : NULL, voxel, 3);
    for (int i = 0; i < 3; i++)
        hit->voxel[i] = (int64_t)voxel[i];
    free(response.body);
    return is_json ? PELLUCID_OK : protocol_error(error, "its response is not JSON");
}
