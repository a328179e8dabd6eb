#include "viewer/volumes.h"
#include "base/errors.h"
#include "transfer/allocation.h"
#include "transfer/sending.h"
#include "transfer/stream.h"
#include "viewer/display.h"
#include "viewer/http_arrays.h"
#include "viewer/route.h"
#include "viewer/viewer.h"

#include <stdlib.h>
#include <string.h>

static int transport_unreachable(pellucid_viewer *viewer, pellucid_error *error) {
    return fail(error, PELLUCID_UNREACHABLE, "Use pellucid_viewer_render_volume, which also works over HTTP.",
                "The viewer's transport at %s cannot be reached from here.",
                viewer->transfer[0] ? viewer->transfer : "no address");
}

int send_to_viewer(pellucid_viewer *viewer, const pellucid_array *array, const char *how, const char *kind,
                   pellucid_report *report, pellucid_error *error) {
    pellucid_array prepared = *array;
    char *metadata = display_metadata(array->metadata, how, kind, error);
    if (metadata == NULL)
        return PELLUCID_INVALID;
    prepared.metadata = metadata;
    int code = send_to(&viewer->transport, viewer->endpoint.token, &prepared, &viewer->options, report, error);
    free(metadata);
    return code;
}

int pellucid_viewer_render_volume(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                                  pellucid_report *report, pellucid_error *error) {
    pellucid_report unused_report;
    pellucid_error unused_error;
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    TRY(check_volume(volume, 1, error));
    pellucid_array shown = as_displayed(volume);
    if (choose_route(viewer) == ROUTE_TRANSPORT)
        return send_to_viewer(viewer, &shown, how, "volume", report, error);
    return render_over_http(viewer, &shown, how, report, error);
}

/* The announcement of a volume whose voxels come later. The caller frees its metadata. */
static int prepare_volume(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                          pellucid_array *prepared, pellucid_error *error) {
    TRY(check_volume(volume, 0, error));
    if (choose_route(viewer) != ROUTE_TRANSPORT)
        return transport_unreachable(viewer, error);
    *prepared = as_displayed(volume);
    prepared->metadata = display_metadata(volume->metadata, how, "volume", error);
    return prepared->metadata != NULL ? PELLUCID_OK : PELLUCID_INVALID;
}

int pellucid_viewer_allocate(pellucid_viewer *viewer, pellucid_array *volume, const char *how,
                             pellucid_allocation **allocation, pellucid_error *error) {
    pellucid_error unused;
    error = error != NULL ? error : &unused;
    *allocation = NULL;
    pellucid_array prepared;
    TRY(prepare_volume(viewer, volume, how, &prepared, error));
    int code = allocate_at(&viewer->transport, viewer->endpoint.token, &prepared, &viewer->options, allocation, error);
    if (code == PELLUCID_OK)
        volume->data = prepared.data;
    free((void *)prepared.metadata);
    return code;
}

int pellucid_viewer_stream(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                           pellucid_stream **stream, pellucid_error *error) {
    pellucid_error unused;
    error = error != NULL ? error : &unused;
    *stream = NULL;
    pellucid_array prepared;
    TRY(prepare_volume(viewer, volume, how, &prepared, error));
    int code = stream_to(&viewer->transport, viewer->endpoint.token, &prepared, &viewer->options, stream, error);
    free((void *)prepared.metadata);
    return code;
}
