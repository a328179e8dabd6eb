#include "viewer/route.h"
#include "array/lane.h"
#include "connection/address.h"
#include "connection/endpoint.h"
#include "lanes/link.h"
#include "transfer/connect_link.h"
#include "viewer/viewer.h"

#include <stdlib.h>
#include <string.h>

/* Whether the viewer's transport answers at an address; if so, it is used from now on. */
static int try_transport(pellucid_viewer *viewer, const struct address *there) {
    pellucid_options options = viewer->options;
    struct link *link = calloc(1, sizeof *link);
    options.timeout_s = PROBE_TIMEOUT_S;
    options.lane = there->is_web ? lane_name(PROXY) : lane_name(TCP);
    int has_answered = link != NULL && open_link(link, there, viewer->endpoint.token, &options, NULL) == PELLUCID_OK;
    if (has_answered) {
        link_close(link);
        viewer->transport = *there;
    }
    free(link);
    return has_answered;
}

enum route choose_route(pellucid_viewer *viewer) {
    struct address announced, there;
    if (viewer->route != ROUTE_UNKNOWN)
        return viewer->route;
    viewer->route = ROUTE_HTTP;
    if (strlen(viewer->endpoint.token) < 8 || parse_address(viewer->transfer, &announced, NULL) != PELLUCID_OK)
        return viewer->route;
    there = announced;
    memcpy(there.host, viewer->endpoint.address.host, sizeof there.host);
    if (!is_lane(viewer->options.lane, PROXY) && (try_transport(viewer, &there) || try_transport(viewer, &announced)))
        viewer->route = ROUTE_TRANSPORT;
    else if (web_address(&viewer->endpoint, &there, NULL) == PELLUCID_OK && try_transport(viewer, &there))
        viewer->route = ROUTE_TRANSPORT;
    return viewer->route;
}
