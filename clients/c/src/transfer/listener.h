/* pellucid_listen: sockets that wait for senders. */
#ifndef PELLUCID_TRANSFER_LISTENER_H
#define PELLUCID_TRANSFER_LISTENER_H

#include "array/transfer.h"
#include "base/monitor.h"
#include "base/sha256.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "internal.h"

enum { MAX_WAITING = 16, MAX_CANDIDATES = 32 };

/* A connection that has not yet proved that it holds the token. */
struct candidate {
    struct channel channel;
    char nonce[HASH_TEXT_BYTES];
};

struct pellucid_listener {
    int sockets[2]; /* TCP and local */
    char address[300], local[64], machine[64];
    char *token;
    int has_ucx;
    struct candidate candidates[MAX_CANDIDATES];
    int candidate_count;
    pellucid_options options;
    struct monitor monitor;
    struct channel waiting[MAX_WAITING]; /* control connections that wait for their turn */
    int waiting_count;
    struct transfer partial; /* the received part of an interrupted transfer */
};

INTERNAL int listen_at(const struct address *address, char *text, size_t capacity, pellucid_error *error);
INTERNAL void drop_candidate(pellucid_listener *listener, int index);

#endif
