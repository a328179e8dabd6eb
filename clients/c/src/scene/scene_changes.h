/* Reading and changing the scene of a viewer. */
#ifndef PELLUCID_SCENE_SCENE_CHANGES_H
#define PELLUCID_SCENE_SCENE_CHANGES_H

#include "base/text.h"
#include "internal.h"

/* The scene at a revision; body belongs to it, and is freed by the reader. */
struct scene {
    char *body;
    const char *content; /* in body: the scene itself */
    long long revision;
};

/* Append changes, such as {"path": [...], "value": ...}, that depend on the scene. */
typedef int (*make_changes)(const char *content, const void *context, struct text *changes, pellucid_error *error);

INTERNAL int read_scene(pellucid_viewer *viewer, struct scene *scene, pellucid_error *error);
/* Append the start of a change, up to its value: the caller appends the value and "}". path: of JSON, as printf. */
INTERNAL void append_change(struct text *changes, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* Make all these changes or none, whatever the scene is now. changes is freed. */
INTERNAL int send_changes(pellucid_viewer *viewer, struct text *changes, pellucid_error *error);
/* Make changes that depend on the scene; again, if it was changed meanwhile. */
INTERNAL int change_scene(pellucid_viewer *viewer, make_changes make, const void *context, pellucid_error *error);
/* A request without a response. body: JSON, freed; may be NULL. */
INTERNAL int request_only(pellucid_viewer *viewer, const char *method, const char *path, struct text *body,
                          pellucid_error *error);
/* A volume of the scene; fails if there is none with this number. */
INTERNAL int find_volume(const char *content, int layer, const char **volume, pellucid_error *error);

#endif
