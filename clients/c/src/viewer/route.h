/* The fastest route for voxels to a viewer. */
#ifndef PELLUCID_VIEWER_ROUTE_H
#define PELLUCID_VIEWER_ROUTE_H

#include "internal.h"
#include "viewer/viewer.h"

/* The fastest route for voxels: directly to the viewer's transport (the host of the page is tried first), through the
 * web server of the page, or by HTTP requests. It is chosen once. */
INTERNAL enum route choose_route(pellucid_viewer *viewer);

#endif
