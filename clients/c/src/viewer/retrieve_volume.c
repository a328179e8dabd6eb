/* pellucid_viewer_retrieve_volume. */
#include "internal.h"
#include "transfer/retrieving.h"
#include "viewer/http_arrays.h"
#include "viewer/route.h"
#include "viewer/viewer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int pellucid_viewer_retrieve_volume(pellucid_viewer *viewer, int layer, const uint64_t start[3], const uint64_t stop[3],
                                    pellucid_array *volume, pellucid_report *report, pellucid_error *error) {
    pellucid_report unused_report;
    pellucid_error unused_error;
    char box[160] = "", request[256];
    error = error != NULL ? error : &unused_error;
    report = report != NULL ? report : &unused_report;
    memset(report, 0, sizeof *report);
    memset(volume, 0, sizeof *volume);
    if (start != NULL && stop != NULL)
        snprintf(box, sizeof box, "%" PRIu64 ":%" PRIu64 ",%" PRIu64 ":%" PRIu64 ",%" PRIu64 ":%" PRIu64, start[0],
                 stop[0], start[1], stop[1], start[2], stop[2]);
    if (choose_route(viewer) != ROUTE_TRANSPORT)
        return retrieve_over_http(viewer, layer, box, volume, report, error);
    snprintf(request, sizeof request, "{\"layer\": %d, \"box\": \"%s\"}", layer, box);
    return retrieve_from(&viewer->transport, viewer->endpoint.token, request, &viewer->options, volume, report, error);
}
