#include "base/monitor.h"
#include "base/errors.h"

#include <pthread.h>
#include <string.h>

void monitor_init(struct monitor *monitor, const pellucid_options *options) {
    memset(monitor, 0, sizeof *monitor);
    pthread_mutex_init(&monitor->lock, NULL);
    monitor->is_initialized = 1;
    monitor->timeout_s = options->timeout_s;
    monitor->progress = options->progress;
    monitor->context = options->context;
}

void monitor_destroy(struct monitor *monitor) {
    if (monitor->is_initialized)
        pthread_mutex_destroy(&monitor->lock);
    monitor->is_initialized = 0;
}

int report_progress(struct monitor *monitor, uint64_t bytes, pellucid_error *error) {
    pthread_mutex_lock(&monitor->lock);
    monitor->done += bytes;
    if (monitor->progress != NULL && !monitor->is_cancelled)
        monitor->is_cancelled = monitor->progress(monitor->context, monitor->done, monitor->total) != 0;
    int is_cancelled = monitor->is_cancelled;
    pthread_mutex_unlock(&monitor->lock);
    if (!is_cancelled)
        return PELLUCID_OK;
    return fail(error, PELLUCID_CANCELLED, "Send again to continue where it stopped.", "The transfer was cancelled.");
}
