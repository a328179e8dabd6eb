/* pellucid_stream: a volume that is sent while it is being made. */
#ifndef PELLUCID_TRANSFER_STREAM_H
#define PELLUCID_TRANSFER_STREAM_H

#include "array/blocks.h"
#include "array/lane.h"
#include "array/transfer.h"
#include "connection/address.h"
#include "internal.h"
#include "lanes/link.h"

/* A block in flight, with a copy in case it must be sent again. */
struct sent_block {
    struct block_header header;
    uint8_t *copy;
    size_t capacity;
    int index; /* connection */
    int is_in_flight;
};

enum { WINDOW_BLOCKS = 16 };

struct pellucid_stream {
    struct link link;
    struct transfer transfer; /* data: the receiver's memory, on the same machine */
    struct address address;
    char *token;
    pellucid_options options;
    uint32_t number;
    enum lane lane;
    struct sent_block window[WINDOW_BLOCKS];
};

INTERNAL int connect_stream(pellucid_stream *stream, pellucid_error *error);
INTERNAL int stream_to(const struct address *address, const char *token, const pellucid_array *volume,
                       const pellucid_options *given, pellucid_stream **result, pellucid_error *error);

#endif
