#include "connection/address.h"
#include "base/errors.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

int parse_address(const char *text, struct address *address, pellucid_error *error) {
    memset(address, 0, sizeof *address);
    const char *rest = text == NULL ? "" : text;
    int is_tls = strncmp(rest, "tls://", 6) == 0;
    rest += is_tls || strncmp(rest, "tcp://", 6) == 0 ? 6 : 0;
    const char *hash = strchr(rest, '#'), *end = hash != NULL ? hash : rest + strlen(rest), *colon = end;
    while (colon > rest && *colon != ':')
        colon--;
    uint64_t port = 0;
    size_t length = (size_t)(colon - rest);
    int is_right = *colon == ':' && length < sizeof address->host && parse_number(colon + 1, end, &port) &&
                   port < 65536 && is_tls == (hash != NULL) && (hash == NULL || strlen(hash + 1) == 64);
    if (!is_right)
        return fail(error, PELLUCID_INVALID, "Use host:port, or tls://host:port#PIN.", "'%.80s' is not an address.",
                    text == NULL ? "" : text);
    if (length >= 2 && rest[0] == '[' && rest[length - 1] == ']') {
        rest++;
        length -= 2;
    }
    memcpy(address->host, rest, length);
    address->host[length] = 0;
    if (length == 0)
        strcpy(address->host, "127.0.0.1");
    snprintf(address->port, sizeof address->port, "%u", (unsigned)port);
    snprintf(address->pin, sizeof address->pin, "%s", hash != NULL ? hash + 1 : "");
    address->is_secure = is_tls;
    return PELLUCID_OK;
}

void append_host(struct text *text, const struct address *address) {
    int is_v6 = strchr(address->host, ':') != NULL;
    append(text, is_v6 ? "[%s]:%s" : "%s:%s", address->host, address->port);
}

int unreachable(pellucid_error *error, const struct address *address, const char *why) {
    return fail(error, PELLUCID_UNREACHABLE,
                "Check that it is running, the address and port, and the firewall between the two machines.",
                "Could not reach %s:%s: %s.", address->host, address->port, why);
}
