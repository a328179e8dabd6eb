#include "connection/websocket.h"
#include "connection/channel.h"
#include "connection/socket_io.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

int build_frame(struct websocket *websocket, int kind, const void *content, size_t count) {
    uint8_t *to = websocket->out, mask[4];
    if (getrandom(mask, sizeof mask, 0) != (ssize_t)sizeof mask) {
        errno = EIO;
        return 0;
    }
    *to++ = (uint8_t)(0x80 | kind);
    int bytes = count < 126 ? 0 : count < 65536 ? 2 : 8;
    *to++ = (uint8_t)(0x80 | (bytes == 0 ? count : bytes == 2 ? 126 : 127));
    for (int i = bytes - 1; i >= 0; i--)
        *to++ = (uint8_t)((uint64_t)count >> 8 * i);
    memcpy(to, mask, sizeof mask);
    to += sizeof mask;
    for (size_t i = 0; i < count; i++)
        to[i] = ((const uint8_t *)content)[i] ^ mask[i % 4];
    websocket->out_at = 0;
    websocket->out_end = (size_t)(to - websocket->out) + count;
    return 1;
}

/* Write the pending frame; 0 with errno if some of it remains. */
static int flush_frame(struct channel *channel) {
    struct websocket *websocket = channel->websocket;
    while (websocket->out_at < websocket->out_end) {
        ssize_t sent =
            transfer_raw(channel, websocket->out + websocket->out_at, websocket->out_end - websocket->out_at, 1);
        if (sent <= 0)
            return 0;
        websocket->out_at += (size_t)sent;
    }
    return 1;
}

ssize_t write_frame(struct channel *channel, const void *bytes, size_t count) {
    size_t part = count < FRAME_BYTES ? count : FRAME_BYTES;
    if (!flush_frame(channel) || !build_frame(channel->websocket, WS_BINARY, bytes, part))
        return -1;
    flush_frame(channel); /* the rest is written before the next read or write */
    return (ssize_t)part;
}

/* 1: the header of the frame is complete, 0: not yet, -1: it is invalid. */
static int parse_frame_header(struct websocket *websocket) {
    size_t length = websocket->header_length < 2 ? 0 : websocket->header[1], more = length == 126   ? 2
                                                                                    : length == 127 ? 8
                                                                                                    : 0;
    if (websocket->header_length < 2 || websocket->header_length < 2 + more)
        return 0;
    websocket->kind = (websocket->header[0] & 0x0F) == 0 ? WS_BINARY : websocket->header[0] & 0x0F;
    websocket->remaining = more == 0 ? length : 0;
    for (size_t i = 0; i < more; i++)
        websocket->remaining = websocket->remaining << 8 | websocket->header[2 + i];
    websocket->header_length = websocket->control_length = 0;
    int is_control = websocket->kind == WS_CLOSE || websocket->kind == WS_PING || websocket->kind == WS_PONG;
    return (length & 0x80) || (websocket->kind != WS_BINARY && !is_control) ||
                   (is_control && websocket->remaining > MAX_CONTROL_BYTES)
               ? -1
               : 1;
}

/* Handle a complete control frame. */
static void handle_control_frame(struct websocket *websocket) {
    if (websocket->kind == WS_CLOSE)
        websocket->is_over = 1;
    if (websocket->kind == WS_PING && websocket->out_at == websocket->out_end)
        build_frame(websocket, WS_PONG, websocket->control_payload, websocket->control_length);
}

ssize_t read_frame(struct channel *channel, void *bytes, size_t count) {
    struct websocket *websocket = channel->websocket;
    if (!flush_frame(channel) && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        return -1;
    while (!websocket->is_over) {
        ssize_t got;
        if (websocket->remaining > 0 && websocket->kind == WS_BINARY) {
            got = transfer_raw(channel, bytes, count < websocket->remaining ? count : (size_t)websocket->remaining, 0);
            websocket->remaining -= got > 0 ? (uint64_t)got : 0;
            return got;
        }
        if (websocket->remaining > 0) {
            got = transfer_raw(channel, websocket->control_payload + websocket->control_length,
                               (size_t)websocket->remaining, 0);
            websocket->control_length += got > 0 ? (size_t)got : 0;
            websocket->remaining -= got > 0 ? (uint64_t)got : 0;
        } else {
            size_t wanted = websocket->header_length < 2 ? 2 : websocket->header[1] == 126 ? 4 : 10;
            got = transfer_raw(channel, websocket->header + websocket->header_length, wanted - websocket->header_length,
                               0);
            websocket->header_length += got > 0 ? (size_t)got : 0;
        }
        if (got <= 0)
            return got;
        int begun = websocket->header_length > 0 ? parse_frame_header(websocket) : 1;
        if (begun < 0) {
            errno = EPROTO;
            return -1;
        }
        if (begun == 1 && websocket->remaining == 0 && websocket->kind != WS_BINARY)
            handle_control_frame(websocket);
    }
    return 0;
}
