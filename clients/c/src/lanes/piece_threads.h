/* Threads that share the pieces of one transfer. */
#ifndef PELLUCID_LANES_PIECE_THREADS_H
#define PELLUCID_LANES_PIECE_THREADS_H

#include "array/transfer.h"
#include "connection/channel.h"
#include "internal.h"
#include "lanes/link.h"

#include <pthread.h>
#include <stdatomic.h>

/* The work that all threads share. */
struct work {
    struct link *link;
    struct transfer *transfer;
    const uint32_t *missing;
    uint32_t missing_count;
    uint8_t *memory;                /* of the receiver, on the same machine */
    struct copy_notifier *notifier; /* NULL if the receiver did not request it */
    atomic_uint next;
    pthread_mutex_t lock;
    int code;
    pellucid_error error;
    int (*run)(struct work *, struct channel *, pellucid_error *);
};

/* Run `count` threads, each on its own stream if there are streams. */
INTERNAL int run_workers(struct work *work, int count, int (*run)(struct work *, struct channel *, pellucid_error *),
                         pellucid_error *error);
INTERNAL int run_streams(struct work *work, int (*run)(struct work *, struct channel *, pellucid_error *),
                         pellucid_error *error);

#endif
