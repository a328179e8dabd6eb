#include "array/lane.h"
#include "base/errors.h"

#include <string.h>

static const char *const LANE_NAMES[] = {"tcp", "shm", "ucx", "proxy"};

const char *lane_name(enum lane lane) { return LANE_NAMES[lane]; }

int is_lane(const char *wanted, enum lane lane) { return wanted != NULL && strcmp(wanted, lane_name(lane)) == 0; }

int check_lane(const char *lane, pellucid_error *error) {
    if (lane == NULL || strcmp(lane, "auto") == 0 || is_lane(lane, SHM) || is_lane(lane, TCP) || is_lane(lane, UCX) ||
        is_lane(lane, PROXY))
        return PELLUCID_OK;
    return fail(error, PELLUCID_INVALID, "Use shm, tcp, ucx or proxy, or leave it out.", "Unknown lane '%.20s'.", lane);
}
