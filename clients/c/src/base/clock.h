/* Seconds: a clock that only goes forward, and waiting. */
#ifndef PELLUCID_BASE_CLOCK_H
#define PELLUCID_BASE_CLOCK_H

#include "internal.h"

INTERNAL double now_s(void);
INTERNAL void sleep_s(double seconds);

#endif
