#include "array/options.h"
#include "lanes/link.h"

pellucid_options with_defaults(const pellucid_options *given) {
    pellucid_options options = {0};
    if (given != NULL)
        options = *given;
    options.attempts = options.attempts > 0 ? options.attempts : 4;
    options.streams = options.streams > 0 && options.streams <= MAX_STREAMS ? options.streams : 4;
    options.timeout_s = options.timeout_s > 0 ? options.timeout_s : 60;
    options.limit_bytes = options.limit_bytes > 0 ? options.limit_bytes : (uint64_t)1 << 40;
    return options;
}
