/* The bytes of a channel in the frames of a WebSocket (RFC 6455), where a web server is in between. */
#ifndef PELLUCID_CONNECTION_WEBSOCKET_H
#define PELLUCID_CONNECTION_WEBSOCKET_H

#include "connection/channel.h"
#include "internal.h"

#include <sys/types.h>

enum {
    FRAME_BYTES = 1 << 17,
    FRAME_HEADER_BYTES = 14,
    MAX_CONTROL_BYTES = 125,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10
};

/* The frame being read, and the one being written. */
struct websocket {
    uint8_t header[10]; /* of the next frame */
    size_t header_length;
    int kind;
    uint64_t remaining; /* bytes of the current frame */
    uint8_t control_payload[MAX_CONTROL_BYTES];
    size_t control_length;
    int is_over;
    size_t out_at, out_end; /* the part that is not written yet */
    uint8_t out[FRAME_HEADER_BYTES + FRAME_BYTES];
};

/* Build a frame, masked as clients must, so that no proxy can mistake its content for a request. */
INTERNAL int build_frame(struct websocket *websocket, int kind, const void *content, size_t count);
INTERNAL ssize_t write_frame(struct channel *channel, const void *bytes, size_t count);
INTERNAL ssize_t read_frame(struct channel *channel, void *bytes, size_t count);

#endif
