#include "base/secrets.h"
#include "base/errors.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

int random_hex(size_t count, char *text, pellucid_error *error) {
    uint8_t bytes[32];
    ssize_t got;
    do
        got = getrandom(bytes, count, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)count)
        return fail(error, PELLUCID_REFUSED, "Check that the getrandom system call works on this machine.",
                    "The system returned no random numbers.");
    to_hex(bytes, count, text);
    return PELLUCID_OK;
}

int secrets_equal(const char *a, const char *b) {
    size_t length = strlen(a);
    if (length != strlen(b))
        return 0;
    unsigned difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned)(a[i] ^ b[i]);
    return difference == 0;
}
