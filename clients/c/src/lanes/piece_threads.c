#include "lanes/piece_threads.h"
#include "base/errors.h"
#include "connection/channel.h"
#include "connection/messages.h"
#include "lanes/link.h"

#include <pthread.h>
#include <sys/socket.h>

struct worker {
    struct work *work;
    struct channel *channel;
    pthread_t thread;
};

/* Record the first failure, and stop the other threads. */
static void fail_work(struct work *work, int code, const pellucid_error *error) {
    pthread_mutex_lock(&work->lock);
    if (work->code == PELLUCID_OK) {
        work->code = code;
        work->error = *error;
    }
    pthread_mutex_unlock(&work->lock);
    for (int i = 0; i < work->link->stream_count; i++)
        shutdown(work->link->streams[i].fd, SHUT_RDWR);
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    pellucid_error error;
    int code = worker->work->run(worker->work, worker->channel, &error);
    if (code != PELLUCID_OK)
        fail_work(worker->work, code, &error);
    return NULL;
}

int run_workers(struct work *work, int count, int (*run)(struct work *, struct channel *, pellucid_error *),
                pellucid_error *error) {
    struct worker workers[MAX_STREAMS];
    int started = 0;
    work->run = run;
    work->code = PELLUCID_OK;
    atomic_init(&work->next, 0);
    pthread_mutex_init(&work->lock, NULL);
    for (; started < count; started++) {
        workers[started].work = work;
        workers[started].channel = started < work->link->stream_count ? &work->link->streams[started] : NULL;
        if (pthread_create(&workers[started].thread, NULL, worker_main, &workers[started]) != 0) {
            pellucid_error none;
            fail_work(work, out_of_memory(&none, 0), &none);
            break;
        }
    }
    for (int i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_mutex_destroy(&work->lock);
    if (work->code != PELLUCID_OK && error != NULL)
        *error = work->error;
    return failure_reason(&work->link->control, work->code, error);
}

int run_streams(struct work *work, int (*run)(struct work *, struct channel *, pellucid_error *),
                pellucid_error *error) {
    return run_workers(work, work->link->stream_count, run, error);
}
