/* HTTP responses, read with limits. */
#ifndef PELLUCID_CONNECTION_HTTP_RESPONSE_H
#define PELLUCID_CONNECTION_HTTP_RESPONSE_H

#include "connection/channel.h"
#include "internal.h"

enum {
    HTTP_PIECE_BYTES = 32 << 20,
    MAX_LINE_BYTES = 8192,
    MAX_HEADER_LINES = 100,
    MAX_RESPONSE_BYTES = 64 << 20,
    READ_BUFFER_BYTES = 16384
};

/* A response; body is to be freed. */
struct response {
    int status;
    char *body; /* ends with a 0 */
    size_t length, capacity;
    int is_last; /* the server closes the connection afterwards */
};

/* Reserve `more` bytes and a final 0. The memory grows with the received bytes, not with the announced length. */
INTERNAL int reserve_response(struct response *response, size_t more, uint64_t limit, pellucid_error *error);
INTERNAL int read_http(struct channel *channel, struct response *response, uint64_t limit, pellucid_error *error);

#endif
