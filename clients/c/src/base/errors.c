#include "base/errors.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text from a peer may be shown in a terminal: remove control characters. */
static void make_printable(char *text) {
    for (; *text; text++)
        *text = (unsigned char)*text < 32 || *text == 127 ? ' ' : *text;
}

int fail(pellucid_error *error, int code, const char *remedy, const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->what, sizeof error->what, format, arguments);
        va_end(arguments);
        snprintf(error->remedy, sizeof error->remedy, "%s", remedy);
        make_printable(error->what);
        make_printable(error->remedy);
        error->code = code;
    }
    return code;
}

int transfer_interrupted(pellucid_error *error, const char *why) {
    return fail(error, PELLUCID_BROKEN,
                "Check that the peer is running, and send again; pieces that have arrived are not sent twice.",
                "The transfer was interrupted: %s.", why);
}

int protocol_error(pellucid_error *error, const char *why) {
    return fail(error, PELLUCID_PROTOCOL, "Check that both programs use the same version of Pellucid.",
                "The peer violated the transfer protocol: %s.", why);
}

int out_of_memory(pellucid_error *error, uint64_t bytes) {
    return fail(error, PELLUCID_MEMORY, "Send a part of it, or free memory.",
                "Not enough memory for %" PRIu64 " bytes.", bytes);
}

int token_rejected(pellucid_error *error, const char *who) {
    return fail(error, PELLUCID_TOKEN, "Use the token that the receiver was started with; nothing was sent.",
                "%s rejected the token.", who);
}

int transfer_too_large(pellucid_error *error, uint64_t announced, uint64_t limit) {
    return fail(error, PELLUCID_TOO_LARGE,
                "Send a part of it or a smaller type, or start the receiver with a larger limit.",
                "The array has %" PRIu64 " bytes; the receiver accepts at most %" PRIu64 " bytes.", announced, limit);
}

static const char *const CODE_NAMES[] = {"ok",   "invalid",   "unreachable", "token",  "too large", "broken",
                                         "busy", "cancelled", "protocol",    "memory", "refused",   "timeout"};

const char *pellucid_code_name(int code) {
    int count = (int)(sizeof CODE_NAMES / sizeof *CODE_NAMES);
    return code >= 0 && code < count ? CODE_NAMES[code] : "unknown";
}

/* The error classes of the Python client, which messages name. */
static const struct {
    const char *name;
    int code;
} ERROR_NAMES[] = {{"InvalidInput", PELLUCID_INVALID},           {"Unreachable", PELLUCID_UNREACHABLE},
                   {"TokenRejected", PELLUCID_TOKEN},            {"TransferTooLarge", PELLUCID_TOO_LARGE},
                   {"NotEnoughMemory", PELLUCID_MEMORY},         {"TransferInterrupted", PELLUCID_BROKEN},
                   {"ReceiverBusy", PELLUCID_BUSY},              {"Cancelled", PELLUCID_CANCELLED},
                   {"TransferProtocolError", PELLUCID_PROTOCOL}, {"PellucidError", PELLUCID_REFUSED}};
enum { ERROR_COUNT = sizeof ERROR_NAMES / sizeof *ERROR_NAMES };

int code_from_name(const char *name) {
    for (int i = 0; i < ERROR_COUNT; i++)
        if (strcmp(ERROR_NAMES[i].name, name) == 0)
            return ERROR_NAMES[i].code;
    return PELLUCID_REFUSED;
}

const char *name_from_code(int code) {
    for (int i = 0; i < ERROR_COUNT; i++)
        if (ERROR_NAMES[i].code == code)
            return ERROR_NAMES[i].name;
    return "PellucidError";
}
