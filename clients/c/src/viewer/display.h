/* How a viewer is to display an array. */
#ifndef PELLUCID_VIEWER_DISPLAY_H
#define PELLUCID_VIEWER_DISPLAY_H

#include "internal.h"

/* A volume as a viewer takes it: booleans are drawn as numbers. */
INTERNAL pellucid_array as_displayed(const pellucid_array *volume);
INTERNAL const char *how_or_default(const char *how);
/* The metadata of an array, with how the viewer displays it; to be freed. */
INTERNAL char *display_metadata(const char *metadata, const char *how, const char *kind, pellucid_error *error);
INTERNAL int check_volume(const pellucid_array *volume, int needs_data, pellucid_error *error);

#endif
