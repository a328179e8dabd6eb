/* Lanes: the ways that the bytes of an array can take. */
#ifndef PELLUCID_ARRAY_LANE_H
#define PELLUCID_ARRAY_LANE_H

#include "internal.h"

enum lane { TCP, SHM, UCX, PROXY };

INTERNAL const char *lane_name(enum lane lane);
INTERNAL int is_lane(const char *wanted, enum lane lane);
INTERNAL int check_lane(const char *lane, pellucid_error *error);

#endif
