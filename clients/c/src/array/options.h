/* Options, with defaults in place of zeros. */
#ifndef PELLUCID_ARRAY_OPTIONS_H
#define PELLUCID_ARRAY_OPTIONS_H

#include "internal.h"

INTERNAL pellucid_options with_defaults(const pellucid_options *given);

#endif
