/* The labels of a viewer: names, colours, visibility, sizes; painting and saving them. */
#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"
#include "connection/http_response.h"
#include "internal.h"
#include "scene/scene_changes.h"
#include "viewer/http_request.h"
#include "viewer/viewer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum visibility { KEEP_VISIBILITY, MAKE_VISIBLE, MAKE_HIDDEN };
/* A change of labels: of all in `labels`, and which are isolated, unless that is kept. */
struct labels_request {
    int layer;
    const int64_t *labels;
    size_t count;
    const pellucid_label_color *how;
    enum visibility visibility;
    int isolates, shows_all, sets_mask;
};

/* The number of a layer with labels, and the labels; -1 is the first layer that has some. */
static int find_labels(const char *content, int wanted, int *layer, const char **labels, pellucid_error *error) {
    int number = 0;
    for (const char *at = json_first(json_find(content, "volumes")); at != NULL; at = json_next(at), number++) {
        *labels = json_find(at, "labels");
        *layer = number;
        if (*labels != NULL && **labels == '{' && (wanted < 0 || wanted == number))
            return PELLUCID_OK;
    }
    static const char remedy[] = "Call pellucid_viewer_render_volume with how = \"labels\" first.";
    if (wanted < 0)
        return fail(error, PELLUCID_INVALID, remedy, "The viewer shows no labels.");
    return fail(error, PELLUCID_INVALID, remedy, "Layer %d has no labels.", wanted);
}

/* Append a member: the new value if there is one, otherwise that of the entry, otherwise the default. */
static void append_label_member(struct text *text, const char *key, const char *new_value, const char *entry,
                                const char *otherwise) {
    const char *known = json_find(entry, key), *end = known != NULL ? json_end(known) : NULL;
    append(text, ", \"%s\": ", key);
    if (new_value != NULL)
        append(text, "%s", new_value);
    else if (end != NULL)
        append(text, "%.*s", (int)(end - known), known);
    else
        append(text, "%s", otherwise);
}

/* Append the color of one label, changed. entry: as it is now; NULL if the label has none. */
static void append_label(struct text *text, int64_t label, const struct labels_request *request, const char *entry) {
    struct text name = {0}, color = {0}, opacity = {0};
    const pellucid_label_color *how = request->how;
    const char *visibility = request->visibility == KEEP_VISIBILITY ? NULL
                             : request->visibility == MAKE_VISIBLE  ? "true"
                                                                    : "false";
    if (how != NULL && how->name != NULL)
        append_json(&name, how->name);
    if (how != NULL && how->color != NULL)
        append_numbers(&color, how->color, 3);
    if (how != NULL && how->opacity != NULL)
        append_number(&opacity, *how->opacity);
    append(text, "{\"label\": %" PRId64, label);
    append_label_member(text, "name", name.at, entry, "\"\"");
    append_label_member(text, "color", color.at, entry, "null");
    append_label_member(text, "opacity", opacity.at, entry, "null");
    append_label_member(text, "is_visible", visibility, entry, "true");
    append(text, "}");
    text->has_failed |= name.has_failed || color.has_failed || opacity.has_failed;
    free(name.at);
    free(color.at);
    free(opacity.at);
}

static int is_listed(const struct labels_request *request, long long label) {
    for (size_t i = 0; i < request->count; i++)
        if (request->labels[i] == label)
            return 1;
    return 0;
}

static long long label_of(const char *entry) {
    const char *label = json_find(entry, "label");
    return label != NULL ? strtoll(label, NULL, 10) : 0;
}

/* Append all colors: the changed ones first, then the others as they are. */
static void append_colors(struct text *text, const char *colors, const struct labels_request *request) {
    const char *separator = "";
    for (size_t i = 0; i < request->count; i++, separator = ", ") {
        const char *entry = json_first(colors);
        while (entry != NULL && label_of(entry) != request->labels[i])
            entry = json_next(entry);
        append(text, "%s", separator);
        append_label(text, request->labels[i], request, entry);
    }
    for (const char *entry = json_first(colors); entry != NULL; entry = json_next(entry)) {
        if (is_listed(request, label_of(entry)))
            continue;
        append(text, "%s", separator);
        separator = ", ";
        if (request->shows_all)
            append_label(text, label_of(entry), request, entry);
        else
            append(text, "%.*s", (int)(json_end(entry) - entry), entry);
    }
}

static int make_labels_change(const char *content, const void *context, struct text *changes, pellucid_error *error) {
    const struct labels_request *request = context;
    const char *labels;
    int layer;
    TRY(find_labels(content, request->layer, &layer, &labels, error));
    if (request->isolates || request->shows_all) {
        append_change(changes, "\"volumes\", %d, \"labels\", \"isolated\"", layer);
        for (size_t i = 0; i < request->count; i++)
            append(changes, "%s%" PRId64, i > 0 ? ", " : "[", request->labels[i]);
        append(changes, request->count > 0 ? "]}" : "[]}");
    }
    if (request->sets_mask) {
        append_change(changes, "\"volumes\", %d, \"labels\", \"is_mask\"", layer);
        append(changes, request->count > 0 ? "true}" : "false}");
    }
    if (!request->isolates) {
        append_change(changes, "\"volumes\", %d, \"labels\", \"colors\"", layer);
        append(changes, "[");
        append_colors(changes, json_find(labels, "colors"), request);
        append(changes, "]}");
    }
    return PELLUCID_OK;
}

int pellucid_viewer_labels_set(pellucid_viewer *viewer, int layer, int64_t label, const pellucid_label_color *how,
                               pellucid_error *error) {
    struct labels_request request = {.layer = layer, .labels = &label, .count = 1, .how = how};
    return change_scene(viewer, make_labels_change, &request, error);
}

int pellucid_viewer_labels_hide(pellucid_viewer *viewer, int layer, const int64_t *labels, size_t count,
                                pellucid_error *error) {
    struct labels_request request = {.layer = layer, .labels = labels, .count = count, .visibility = MAKE_HIDDEN};
    return change_scene(viewer, make_labels_change, &request, error);
}

int pellucid_viewer_labels_show(pellucid_viewer *viewer, int layer, const int64_t *labels, size_t count,
                                pellucid_error *error) {
    struct labels_request request = {.layer = layer, .labels = labels, .count = count, .visibility = MAKE_VISIBLE};
    return change_scene(viewer, make_labels_change, &request, error);
}

int pellucid_viewer_labels_isolate(pellucid_viewer *viewer, int layer, const int64_t *labels, size_t count,
                                   pellucid_error *error) {
    struct labels_request request = {.layer = layer, .labels = labels, .count = count, .isolates = 1};
    return change_scene(viewer, make_labels_change, &request, error);
}

int pellucid_viewer_labels_mask_volume(pellucid_viewer *viewer, int layer, const int64_t *labels, size_t count,
                                       pellucid_error *error) {
    struct labels_request request = {
        .layer = layer, .labels = labels, .count = count, .isolates = 1, .sets_mask = 1};
    return change_scene(viewer, make_labels_change, &request, error);
}

int pellucid_viewer_labels_show_all(pellucid_viewer *viewer, int layer, pellucid_error *error) {
    struct labels_request request = {.layer = layer, .shows_all = 1, .visibility = MAKE_VISIBLE};
    return change_scene(viewer, make_labels_change, &request, error);
}

/* The number of the layer with labels in the scene as it is now. */
static int current_labels_layer(pellucid_viewer *viewer, int wanted, int *layer, pellucid_error *error) {
    struct scene scene;
    const char *labels;
    TRY(read_scene(viewer, &scene, error));
    int code = find_labels(scene.content, wanted, layer, &labels, error);
    free(scene.body);
    return code;
}

int pellucid_viewer_labels_to_csv(pellucid_viewer *viewer, int layer, char **csv, pellucid_error *error) {
    struct response response;
    char path[64];
    *csv = NULL;
    TRY(current_labels_layer(viewer, layer, &layer, error));
    snprintf(path, sizeof path, "/api/labels?format=csv&layer=%d", layer);
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "GET", path, NULL, &response, error));
    *csv = response.body;
    return PELLUCID_OK;
}

static void read_label_row(const char *json, pellucid_label_row *row) {
    double start[3] = {0}, stop[3] = {0};
    memset(row, 0, sizeof *row);
    row->label = label_of(json);
    json_text_into(json, "name", row->name, sizeof row->name);
    row->voxels = (uint64_t)json_number(json_find(json, "voxels"), 0);
    row->volume = json_number(json_find(json, "volume"), 0);
    json_numbers(json_find(json, "center"), row->center, 3);
    json_numbers(json_find(json, "start"), start, 3);
    json_numbers(json_find(json, "stop"), stop, 3);
    for (int i = 0; i < 3; i++) {
        row->start[i] = (uint64_t)start[i];
        row->stop[i] = (uint64_t)stop[i];
    }
}

int pellucid_viewer_labels_table(pellucid_viewer *viewer, int layer, pellucid_label_row **rows, size_t *count,
                                 pellucid_error *error) {
    struct response response;
    char path[64];
    *rows = NULL;
    *count = 0;
    TRY(current_labels_layer(viewer, layer, &layer, error));
    snprintf(path, sizeof path, "/api/labels?layer=%d", layer);
    TRY(http_json(&viewer->endpoint, &viewer->monitor, "GET", path, NULL, &response, error));
    const char *listed = json_end(response.body) != NULL ? json_find(response.body, "rows") : NULL;
    size_t length = json_count(listed), i = 0;
    *rows = calloc(length + 1, sizeof **rows);
    for (const char *at = json_first(listed); *rows != NULL && at != NULL; at = json_next(at))
        read_label_row(at, *rows + i++);
    free(response.body);
    if (*rows == NULL)
        return out_of_memory(error, length * sizeof **rows);
    *count = length;
    return PELLUCID_OK;
}

int pellucid_viewer_labels_paint(pellucid_viewer *viewer, int layer, const double (*points)[3], size_t count,
                                 int64_t label, const pellucid_brush *brush, pellucid_error *error) {
    struct text body = {0};
    TRY(current_labels_layer(viewer, layer, &layer, error));
    append(&body, "{\"layer\": %d, \"label\": %" PRId64 ", \"points\": [", layer, label);
    for (size_t i = 0; i < count; i++) {
        append(&body, i > 0 ? ", " : "");
        append_numbers(&body, points[i], 3);
    }
    append(&body, "]");
    if (brush != NULL && brush->radius > 0) {
        append(&body, ", \"radius\": ");
        append_number(&body, brush->radius);
    }
    if (brush != NULL && brush->axis != 0)
        append(&body, ", \"axis\": \"%c\"", brush->axis);
    if (brush != NULL && brush->only != NULL)
        append(&body, ", \"only\": %" PRId64, *brush->only);
    append(&body, "}");
    return request_only(viewer, "POST", "/api/paint", &body, error);
}

int pellucid_viewer_labels_erase(pellucid_viewer *viewer, int layer, const double (*points)[3], size_t count,
                                 const pellucid_brush *brush, pellucid_error *error) {
    return pellucid_viewer_labels_paint(viewer, layer, points, count, 0, brush, error);
}

int pellucid_viewer_labels_save(pellucid_viewer *viewer, int layer, const char *path, pellucid_error *error) {
    struct text body = {0};
    TRY(current_labels_layer(viewer, layer, &layer, error));
    append(&body, "{\"layer\": %d, \"path\": ", layer);
    append_json(&body, path);
    append(&body, "}");
    return request_only(viewer, "POST", "/api/labels/save", &body, error);
}
