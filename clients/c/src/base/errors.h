/* Errors: codes, their names, and the two sentences of each. */
#ifndef PELLUCID_BASE_ERRORS_H
#define PELLUCID_BASE_ERRORS_H

#include "internal.h"

#define TRY(call)                 \
    do {                          \
        int code_ = (call);       \
        if (code_ != PELLUCID_OK) \
            return code_;         \
    } while (0)

INTERNAL int fail(pellucid_error *error, int code, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
INTERNAL int transfer_interrupted(pellucid_error *error, const char *why);
INTERNAL int protocol_error(pellucid_error *error, const char *why);
INTERNAL int out_of_memory(pellucid_error *error, uint64_t bytes);
INTERNAL int token_rejected(pellucid_error *error, const char *who);
INTERNAL int transfer_too_large(pellucid_error *error, uint64_t announced, uint64_t limit);
INTERNAL int code_from_name(const char *name);
INTERNAL const char *name_from_code(int code);

#endif
