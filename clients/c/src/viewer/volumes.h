/* Volumes that a viewer shows: whole, filled in place, or streamed. */
#ifndef PELLUCID_VIEWER_VOLUMES_H
#define PELLUCID_VIEWER_VOLUMES_H

#include "internal.h"

/* Send an array to the viewer's transport. */
INTERNAL int send_to_viewer(pellucid_viewer *viewer, const pellucid_array *array, const char *how, const char *kind,
                            pellucid_report *report, pellucid_error *error);

#endif
