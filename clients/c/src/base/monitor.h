/* What all connections of a transfer share: progress, cancelling, the timeout. */
#ifndef PELLUCID_BASE_MONITOR_H
#define PELLUCID_BASE_MONITOR_H

#include "internal.h"

#include <pthread.h>

/* What all connections of a transfer share. */
struct monitor {
    pthread_mutex_t lock;
    double timeout_s;
    uint64_t done, total;
    int (*progress)(void *, uint64_t, uint64_t);
    void *context;
    int is_cancelled, is_initialized;
};

INTERNAL void monitor_init(struct monitor *monitor, const pellucid_options *options);
INTERNAL void monitor_destroy(struct monitor *monitor);
/* Add bytes to the progress; fails if the user cancels. */
INTERNAL int report_progress(struct monitor *monitor, uint64_t bytes, pellucid_error *error);

#endif
