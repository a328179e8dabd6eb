/* Addresses of the transport: host:port, or tls://host:port#PIN. */
#ifndef PELLUCID_CONNECTION_ADDRESS_H
#define PELLUCID_CONNECTION_ADDRESS_H

#include "base/sha256.h"
#include "base/text.h"
#include "internal.h"

struct address {
    char host[256];
    char port[8];
    int is_secure;             /* uses TLS */
    char pin[HASH_TEXT_BYTES]; /* SHA-256 of the accepted certificate; empty: the certificates that the system trusts */
    int needs_proof;           /* without TLS: the server proves that it issued the secret before it receives it */
    int is_web;                /* the connection goes through a web server */
    char path[512];            /* of the page on that server */
    char bearer[512];          /* the secret for that server */
};

INTERNAL int parse_address(const char *text, struct address *address, pellucid_error *error);
/* host:port, as in the header Host of a request. */
INTERNAL void append_host(struct text *text, const struct address *address);
INTERNAL int unreachable(pellucid_error *error, const struct address *address, const char *why);

#endif
