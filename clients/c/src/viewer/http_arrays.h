/* Volumes over HTTP, where no connection leads to the transport. */
#ifndef PELLUCID_VIEWER_HTTP_ARRAYS_H
#define PELLUCID_VIEWER_HTTP_ARRAYS_H

#include "internal.h"
#include "connection/http_response.h"

/* Send a volume in pieces, each in its own request. */
INTERNAL int render_over_http(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                              pellucid_report *report, pellucid_error *error);
/* Parse shape and type from a .npy header; returns the offset of the voxels, or 0. */
INTERNAL size_t parse_npy_header(const struct response *response, pellucid_array *array);
INTERNAL int retrieve_over_http(pellucid_viewer *viewer, int layer, const char *box, pellucid_array *volume,
                                pellucid_report *report, pellucid_error *error);

#endif
