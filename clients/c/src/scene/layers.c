/* The layers of a viewer: volumes first, then points, meshes and slices. */
#include "base/errors.h"
#include "base/json.h"
#include "base/text.h"
#include "internal.h"
#include "scene/scene_changes.h"
#include "viewer/viewer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum layer_change { SHOW_LAYER, HIDE_LAYER, REMOVE_LAYER, SET_LAYER_OPACITY };
struct layer_request {
    size_t number;
    enum layer_change change;
    double opacity;
};
static const char *const LAYER_KINDS[] = {"volumes", "points", "meshes", "slices"};
enum { LAYER_KIND_COUNT = sizeof LAYER_KINDS / sizeof *LAYER_KINDS };

/* Whether a layer has an opacity of its own, and where; NULL if it has none. */
static const char *opacity_path(const char *kind, const char *layer) {
    if (strcmp(kind, "meshes") == 0 || strcmp(kind, "slices") == 0)
        return "\"opacity\"";
    const char *labels = strcmp(kind, "volumes") == 0 ? json_find(layer, "labels") : NULL;
    return labels != NULL && *labels == '{' ? "\"labels\", \"opacity\"" : NULL;
}

static void describe_layer(const char *kind, int index, const char *layer, const char *facts, pellucid_layer *to) {
    memset(to, 0, sizeof *to);
    double shape[3] = {0}, spacing[3] = {0};
    const char *labels = json_find(layer, "labels");
    const char *owner = labels != NULL && *labels == '{' ? labels : layer;
    snprintf(to->kind, sizeof to->kind, "%s", kind);
    to->index = index;
    json_text_into(facts, "name", to->name, sizeof to->name);
    if (to->name[0] == 0)
        json_text_into(layer, "source", to->name, sizeof to->name);
    to->is_visible = json_is_true(json_find(layer, "is_visible"));
    to->has_labels = labels != NULL && *labels == '{';
    to->opacity = opacity_path(kind, layer) != NULL ? json_number(json_find(owner, "opacity"), -1) : -1;
    json_numbers(json_find(facts, "shape"), shape, 3);
    json_numbers(json_find(facts, "spacing"), spacing, 3);
    json_text_into(facts, "unit", to->unit, sizeof to->unit);
    json_text_into(facts, "dtype", to->type, sizeof to->type);
    for (int i = 0; i < 3; i++) {
        to->shape[i] = (uint64_t)shape[i];
        to->spacing[i] = spacing[i];
    }
}

static void describe_layers(const struct scene *scene, pellucid_layer *layers) {
    for (int kind = 0; kind < LAYER_KIND_COUNT; kind++) {
        const char *facts = json_first(json_find(scene->body, kind == 0 ? "layers" : LAYER_KINDS[kind]));
        int index = 0;
        for (const char *at = json_first(json_find(scene->content, LAYER_KINDS[kind])); at != NULL; at = json_next(at)) {
            describe_layer(LAYER_KINDS[kind], index++, at, facts, layers++);
            facts = json_next(facts);
        }
    }
}

int pellucid_viewer_layers(pellucid_viewer *viewer, pellucid_layer **layers, size_t *count, pellucid_error *error) {
    struct scene scene;
    *layers = NULL;
    *count = 0;
    TRY(read_scene(viewer, &scene, error));
    for (int kind = 0; kind < LAYER_KIND_COUNT; kind++)
        *count += json_count(json_find(scene.content, LAYER_KINDS[kind]));
    *layers = calloc(*count + 1, sizeof **layers);
    if (*layers != NULL)
        describe_layers(&scene, *layers);
    free(scene.body);
    return *layers != NULL ? PELLUCID_OK : out_of_memory(error, *count * sizeof **layers);
}

/* Append the change of one layer, given its kind, its index among those of its kind, and the layer itself. */
static int append_layer_change(const struct layer_request *request, const char *kind, size_t index, const char *layer,
                               struct text *changes, pellucid_error *error) {
    const char *opacity = opacity_path(kind, layer);
    if (request->change == SET_LAYER_OPACITY && opacity == NULL)
        return fail(error, PELLUCID_INVALID, "Change the opacities of its transfer function.",
                    "Layer %zu has no opacity of its own.", request->number);
    if (request->change == SET_LAYER_OPACITY) {
        append_change(changes, "\"%s\", %zu, %s", kind, index, opacity);
        append_number(changes, request->opacity);
    } else if (request->change == REMOVE_LAYER) {
        append_change(changes, "\"%s\", %zu", kind, index);
        append(changes, "null");
    } else {
        append_change(changes, "\"%s\", %zu, \"is_visible\"", kind, index);
        append(changes, request->change == SHOW_LAYER ? "true" : "false");
    }
    append(changes, "}");
    return PELLUCID_OK;
}

static int make_layer_change(const char *content, const void *context, struct text *changes, pellucid_error *error) {
    const struct layer_request *request = context;
    size_t before = 0;
    for (int kind = 0; kind < LAYER_KIND_COUNT; kind++) {
        const char *all = json_find(content, LAYER_KINDS[kind]);
        size_t count = json_count(all), index = request->number - before;
        if (request->number < before + count)
            return append_layer_change(request, LAYER_KINDS[kind], index, json_element(all, index), changes, error);
        before += count;
    }
    return fail(error, PELLUCID_INVALID,
                before > 0 ? "Use a lower number, from 0." : "Call pellucid_viewer_render_volume first.",
                "The scene has no layer %zu.", request->number);
}

static int change_layer(pellucid_viewer *viewer, struct layer_request request, pellucid_error *error) {
    return change_scene(viewer, make_layer_change, &request, error);
}

int pellucid_viewer_layers_hide(pellucid_viewer *viewer, size_t number, pellucid_error *error) {
    return change_layer(viewer, (struct layer_request){number, HIDE_LAYER, 0}, error);
}

int pellucid_viewer_layers_show(pellucid_viewer *viewer, size_t number, pellucid_error *error) {
    return change_layer(viewer, (struct layer_request){number, SHOW_LAYER, 0}, error);
}

int pellucid_viewer_layers_remove(pellucid_viewer *viewer, size_t number, pellucid_error *error) {
    return change_layer(viewer, (struct layer_request){number, REMOVE_LAYER, 0}, error);
}

int pellucid_viewer_layers_set_opacity(pellucid_viewer *viewer, size_t number, double opacity, pellucid_error *error) {
    return change_layer(viewer, (struct layer_request){number, SET_LAYER_OPACITY, opacity}, error);
}
