/* The fastest route for voxels to a viewer. */
#ifndef PELLUCID_VIEWER_ROUTE_H
#define PELLUCID_VIEWER_ROUTE_H

#include "internal.h"
#include "viewer/viewer.h"

/* The fastest way for voxels: straight to the viewer's transport (where pages come from is tried first), through the
 * web server that the pages come from, or in single requests where even that cannot be. Found out once. */
INTERNAL enum route choose_route(pellucid_viewer *viewer);

#endif
