/* Where HTTP requests go: links to viewers and agents, and the transport behind them. */
#ifndef PELLUCID_CONNECTION_ENDPOINT_H
#define PELLUCID_CONNECTION_ENDPOINT_H

#include "base/text.h"
#include "connection/address.h"
#include "internal.h"

/* Where requests go: a viewer or an agent. */
struct endpoint {
    struct address address;
    char prefix[512]; /* the start of every path */
    char *token;      /* for the transport; the viewer sends it */
    char *code;       /* from the link, works once; NULL if there is none */
    char *bearer; /* sent with each request: from the link, in exchange for its code, or the user's token at a Hub */
};

INTERNAL void endpoint_free(struct endpoint *endpoint);
/* "https://host:port/prefix/#share=...&pin=...", or with code=. bearer: used instead of the secret of the link, unless
 * it is NULL. Without TLS the address needs a proof; requests to a Hub, which gives none, clear that. */
INTERNAL int parse_link(const char *url, const char *bearer, struct endpoint *endpoint, pellucid_error *error);
/* Append the address of the page, without secrets. */
INTERNAL void append_url(struct text *text, const struct endpoint *endpoint);
/* The address of the transport behind a page. */
INTERNAL int web_address(const struct endpoint *endpoint, struct address *address, pellucid_error *error);
INTERNAL int resolve_address(const char *text, const char *token, struct address *address, pellucid_error *error);

#endif
