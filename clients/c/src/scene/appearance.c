/* How a volume of a viewer is drawn: transfer function, value range, presets, shading. */
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

/* Control points, each of which is [position, number] or [position, [numbers]]; `width` numbers of each are read. */
static int read_points(const char *json, double *to, size_t width) {
    for (const char *at = json_first(json); at != NULL; at = json_next(at), to += width) {
        const char *second = json_element(at, 1), *numbers = width > 2 ? second : at;
        size_t first = width > 2 ? 1 : 0;
        to[0] = json_number(json_first(at), 0);
        if (second == NULL || !json_numbers(numbers, to + first, width - first))
            return 0;
    }
    return 1;
}

static int read_transfer(const char *json, pellucid_transfer *transfer, pellucid_error *error) {
    const char *colors = json_find(json, "colors"), *opacities = json_find(json, "opacities");
    transfer->color_count = json_count(colors);
    transfer->opacity_count = json_count(opacities);
    size_t bytes = (4 * transfer->color_count + 2 * transfer->opacity_count + 1) * sizeof(double);
    double *points = malloc(bytes);
    if (points == NULL)
        return out_of_memory(error, bytes);
    transfer->owned = points;
    transfer->colors = (const double(*)[4])points;
    transfer->opacities = (const double(*)[2])(points + 4 * transfer->color_count);
    transfer->gamma = json_number(json_find(json, "gamma"), 1);
    int is_read = read_points(colors, points, 4) && read_points(opacities, points + 4 * transfer->color_count, 2) &&
                  json_numbers(json_find(json, "value_range"), transfer->value_range, 2);
    return is_read ? PELLUCID_OK : protocol_error(error, "its scene has no transfer function");
}

int pellucid_viewer_transfer(pellucid_viewer *viewer, int layer, pellucid_transfer *transfer, pellucid_error *error) {
    struct scene scene;
    const char *volume;
    memset(transfer, 0, sizeof *transfer);
    TRY(read_scene(viewer, &scene, error));
    int code = find_volume(scene.content, layer, &volume, error);
    code = code != PELLUCID_OK ? code : read_transfer(json_find(volume, "transfer"), transfer, error);
    free(scene.body);
    if (code != PELLUCID_OK)
        pellucid_transfer_free(transfer);
    return code;
}

void pellucid_transfer_free(pellucid_transfer *transfer) {
    free(transfer->owned);
    memset(transfer, 0, sizeof *transfer);
}

static void append_color_points(struct text *changes, const pellucid_transfer *transfer) {
    append(changes, "[");
    for (size_t i = 0; i < transfer->color_count; i++) {
        append(changes, i > 0 ? ", [" : "[");
        append_number(changes, transfer->colors[i][0]);
        append(changes, ", ");
        append_numbers(changes, transfer->colors[i] + 1, 3);
        append(changes, "]");
    }
    append(changes, "]");
}

static void append_opacity_points(struct text *changes, const pellucid_transfer *transfer) {
    append(changes, "[");
    for (size_t i = 0; i < transfer->opacity_count; i++) {
        append(changes, i > 0 ? ", " : "");
        append_numbers(changes, transfer->opacities[i], 2);
    }
    append(changes, "]");
}

int pellucid_viewer_set_transfer(pellucid_viewer *viewer, int layer, const pellucid_transfer *transfer,
                                 pellucid_error *error) {
    static const char path[] = "\"volumes\", %d, \"transfer\", \"%s\"";
    struct text changes = {0};
    if (transfer->color_count > 0) {
        append_change(&changes, path, layer, "colors");
        append_color_points(&changes, transfer);
        append(&changes, "}");
    }
    if (transfer->opacity_count > 0) {
        append_change(&changes, path, layer, "opacities");
        append_opacity_points(&changes, transfer);
        append(&changes, "}");
    }
    if (transfer->value_range[0] < transfer->value_range[1]) {
        append_change(&changes, path, layer, "value_range");
        append_numbers(&changes, transfer->value_range, 2);
        append(&changes, "}");
    }
    if (transfer->gamma > 0) {
        append_change(&changes, path, layer, "gamma");
        append_number(&changes, transfer->gamma);
        append(&changes, "}");
    }
    return send_changes(viewer, &changes, error);
}

int pellucid_viewer_value_range(pellucid_viewer *viewer, int layer, double range[2], pellucid_error *error) {
    pellucid_transfer transfer;
    TRY(pellucid_viewer_transfer(viewer, layer, &transfer, error));
    memcpy(range, transfer.value_range, sizeof transfer.value_range);
    pellucid_transfer_free(&transfer);
    return PELLUCID_OK;
}

int pellucid_viewer_set_value_range(pellucid_viewer *viewer, int layer, const double range[2], pellucid_error *error) {
    struct text changes = {0};
    append_change(&changes, "\"volumes\", %d, \"transfer\", \"value_range\"", layer);
    append_numbers(&changes, range, 2);
    append(&changes, "}");
    return send_changes(viewer, &changes, error);
}

int pellucid_viewer_use_preset(pellucid_viewer *viewer, const char *name, int layer, pellucid_error *error) {
    struct text body = {0};
    append(&body, "{\"layer\": %d, \"name\": ", layer);
    append_json(&body, name);
    append(&body, "}");
    return request_only(viewer, "PUT", "/api/presets", &body, error);
}

int pellucid_viewer_shading(pellucid_viewer *viewer, int layer, char shading[16], pellucid_error *error) {
    struct scene scene;
    const char *volume;
    TRY(read_scene(viewer, &scene, error));
    int code = find_volume(scene.content, layer, &volume, error);
    if (code == PELLUCID_OK)
        json_text_into(volume, "shading", shading, 16);
    free(scene.body);
    return code;
}

int pellucid_viewer_set_shading(pellucid_viewer *viewer, int layer, const char *shading, pellucid_error *error) {
    struct text changes = {0};
    append_change(&changes, "\"volumes\", %d, \"shading\"", layer);
    append_json(&changes, shading);
    append(&changes, "}");
    return send_changes(viewer, &changes, error);
}

/* hash: of the compiled shading, by which layers name it; to be freed. */
static int compile_shading(pellucid_viewer *viewer, const char *source, char **hash, pellucid_error *error) {
    struct text body = {0};
    struct response response;
    append(&body, "{\"source\": ");
    append_json(&body, source);
    append(&body, "}");
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "POST", "/api/shadings", &body, &response, error));
    *hash = json_text(response.body, "hash");
    free(response.body);
    return *hash != NULL ? PELLUCID_OK : protocol_error(error, "its response has no hash");
}

int pellucid_viewer_shade_with(pellucid_viewer *viewer, int layer, const char *source,
                               const pellucid_parameter *parameters, size_t count, pellucid_error *error) {
    struct text changes = {0};
    char *hash;
    TRY(compile_shading(viewer, source, &hash, error));
    append_change(&changes, "\"volumes\", %d, \"user_shading\"", layer);
    append_json(&changes, hash);
    append(&changes, "}");
    free(hash);
    append_change(&changes, "\"volumes\", %d, \"parameters\"", layer);
    for (size_t i = 0; i < count; i++) {
        append(&changes, i > 0 ? ", [" : "[[");
        append_json(&changes, parameters[i].name);
        append(&changes, ", ");
        append_number(&changes, parameters[i].value);
        append(&changes, "]");
    }
    append(&changes, count > 0 ? "]}" : "[]}");
    append_change(&changes, "\"volumes\", %d, \"shading\"", layer);
    append(&changes, "\"user\"}");
    return send_changes(viewer, &changes, error);
}
