#include "connection/proof.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/secrets.h"
#include "base/sha256.h"
#include "base/text.h"
#include "connection/connect.h"
#include "connection/http_response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROOF_BYTES = 4096 };

static void append_proof_request(struct text *body, const char *nonce, struct secret secret) {
    char hash[HASH_TEXT_BYTES];
    const char *last = strrchr(secret.text, '.');
    append(body, "{\"nonce\": \"%s\", ", nonce);
    if (secret.is_code) {
        char *name = strndup(secret.text, last != NULL ? (size_t)(last - secret.text) : 0);
        append(body, "\"code\": ");
        append_json(body, name);
        free(name);
    } else {
        sha256_hex(secret.text, strlen(secret.text), hash);
        append(body, "\"secret_hash\": \"%s\"", hash);
    }
    append(body, "}");
}

static int request_proof(const struct address *address, const char *prefix, struct secret secret, const char *nonce,
                         struct channel *channel, pellucid_error *error) {
    struct text request = {0}, body = {0};
    append_proof_request(&body, nonce, secret);
    append(&request, "POST %s/api/prove HTTP/1.1\r\nHost: ", prefix);
    append_host(&request, address);
    append(&request, "\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", body.length,
           body.has_failed ? "" : body.at);
    int code = body.has_failed || request.has_failed ? out_of_memory(error, request.length)
                                                     : write_bytes(channel, request.at, request.length, error);
    free(body.at);
    free(request.at);
    return code;
}

static int verify_proof(const struct address *address, struct secret secret, const char *nonce,
                        const struct response *response, pellucid_error *error) {
    char text[64], expected[HASH_TEXT_BYTES], proof[HASH_TEXT_BYTES];
    snprintf(text, sizeof text, "program %s", nonce);
    hmac_sha256_hex(secret.text, text, expected);
    json_text_into(response->body, "proof", proof, sizeof proof);
    if (secrets_equal(proof, expected))
        return PELLUCID_OK;
    int has_proof = response->status == 200 && json_find(response->body, "proof") != NULL;
    if (has_proof && secret.is_code) /* a server that was started again makes another proof */
        return fail(error, PELLUCID_TOKEN, "Use a new link: run pellucid open or pellucid view.",
                    "This link belongs to another viewer, or the viewer was restarted.");
    if (has_proof && proof[0] == 0)
        return fail(error, PELLUCID_TOKEN, "Use a new link: run pellucid open or pellucid view.",
                    "The viewer rejected this link.");
    return unreachable(error, address, "another program responds at this address");
}

/* is_closed: whether the server closes the connection after its response. */
static int check_proof(const struct address *address, const char *prefix, struct secret secret, struct channel *channel,
                       int *is_closed, pellucid_error *error) {
    char nonce[33];
    struct response response = {0};
    TRY(random_hex(16, nonce, error));
    TRY(request_proof(address, prefix, secret, nonce, channel, error));
    int code = read_http(channel, &response, MAX_PROOF_BYTES, error);
    code = code != PELLUCID_OK ? code : verify_proof(address, secret, nonce, &response, error);
    *is_closed = response.is_last;
    free(response.body);
    return code;
}

int connect_proved(const struct address *address, const char *prefix, struct secret secret, struct monitor *monitor,
                   struct channel *channel, pellucid_error *error) {
    int is_closed = 0;
    TRY(connect_directly(address, monitor, channel, error));
    if (!address->needs_proof || secret.text[0] == 0)
        return PELLUCID_OK;
    int code = check_proof(address, prefix, secret, channel, &is_closed, error);
    if (code != PELLUCID_OK || is_closed)
        channel_close(channel);
    /* Some proxies, such as the agent's, close the connection after each response. */
    return code == PELLUCID_OK && is_closed ? connect_directly(address, monitor, channel, error) : code;
}
