#include "connection/endpoint.h"
#include "base/errors.h"
#include "base/text.h"
#include "connection/address.h"
#include "connection/handshake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void endpoint_free(struct endpoint *endpoint) {
    free(endpoint->token);
    free(endpoint->code);
    free(endpoint->bearer);
    memset(endpoint, 0, sizeof *endpoint);
}

/* The value of a key in a query or fragment; NULL if there is none. */
static const char *query_value(const char *query, const char *key, size_t *length) {
    size_t key_length = strlen(key);
    while (query != NULL) {
        query++;
        if (strncmp(query, key, key_length) == 0 && query[key_length] == '=') {
            *length = strcspn(query + key_length + 1, "&#");
            return query + key_length + 1;
        }
        query = strchr(query, '&');
    }
    return NULL;
}

static int invalid_link(pellucid_error *error) {
    return fail(error, PELLUCID_INVALID, "Use the complete link, including #code= or #share= and everything after it.",
                "This is not a link to a viewer.");
}

int parse_link(const char *url, const char *bearer, struct endpoint *endpoint, pellucid_error *error) {
    int is_secure = url != NULL && strncmp(url, "https://", 8) == 0;
    const char *rest = is_secure ? url + 8 : url != NULL && strncmp(url, "http://", 7) == 0 ? url + 7 : "";
    size_t host = strcspn(rest, "/?#"), share_length = 0, code_length = 0, pin_length = 0;
    const char *path = rest + host, *fragment = strchr(rest, '#'),
               *share = query_value(fragment, "share", &share_length),
               *code = query_value(fragment, "code", &code_length), *pin = query_value(fragment, "pin", &pin_length);
    size_t prefix = strcspn(path, "?#");
    char where[300];
    while (prefix > 0 && path[prefix - 1] == '/')
        prefix--;
    if (rest[strcspn(rest, " \t\r\n")] != 0 || host == 0 || host > sizeof where - 5 ||
        prefix >= sizeof endpoint->prefix)
        return invalid_link(error);
    if (share_length == 0 && code_length == 0 && bearer == NULL)
        return invalid_link(error);
    snprintf(where, sizeof where, "%.*s", (int)host, rest);
    const char *colon = strrchr(where, ':');
    if (colon == NULL || strchr(colon, ']') != NULL)
        strcat(where, is_secure ? ":443" : ":80");
    if (parse_address(where, &endpoint->address, NULL) != PELLUCID_OK)
        return invalid_link(error);
    endpoint->address.is_secure = is_secure;
    endpoint->address.needs_proof = !is_secure;
    if (pin_length == 64 && strspn(pin, "0123456789abcdef") >= 64)
        snprintf(endpoint->address.pin, sizeof endpoint->address.pin, "%.64s", pin);
    memcpy(endpoint->prefix, path, prefix);
    endpoint->token = strdup("");
    endpoint->code = bearer == NULL && share_length == 0 ? strndup(code, code_length) : NULL;
    endpoint->bearer = bearer != NULL ? strdup(bearer) : strndup(share != NULL ? share : "", share_length);
    return endpoint->token != NULL && endpoint->bearer != NULL ? PELLUCID_OK : out_of_memory(error, share_length);
}

void append_url(struct text *text, const struct endpoint *endpoint) {
    append(text, endpoint->address.is_secure ? "https://" : "http://");
    append_host(text, &endpoint->address);
    append(text, "%s/", endpoint->prefix);
}

int web_address(const struct endpoint *endpoint, struct address *address, pellucid_error *error) {
    *address = endpoint->address;
    address->is_web = 1;
    memcpy(address->path, endpoint->prefix, sizeof address->path);
    int length = snprintf(address->bearer, sizeof address->bearer, "%s", endpoint->bearer);
    return length < (int)sizeof address->bearer ? PELLUCID_OK : invalid_link(error);
}

int resolve_address(const char *text, const char *token, struct address *address, pellucid_error *error) {
    struct endpoint endpoint = {0};
    if (text == NULL || (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0))
        return parse_address(text, address, error);
    int code = check_token(token, error);
    code = code != PELLUCID_OK ? code : parse_link(text, token, &endpoint, error);
    code = code != PELLUCID_OK ? code : web_address(&endpoint, address, error);
    endpoint_free(&endpoint);
    return code;
}
