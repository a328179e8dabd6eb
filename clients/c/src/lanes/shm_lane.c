#include "lanes/shm_lane.h"
#include "array/pieces.h"
#include "array/transfer.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/text.h"
#include "connection/channel.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "lanes/piece_threads.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const double COPIED_INTERVAL_S = 0.1;

int attach_memory(struct channel *control, uint64_t bytes, void **memory, pellucid_error *error) {
    struct stat status;
    int fd = take_passed_fd(control), seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
    *memory = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && seals >= 0 && (seals & F_SEAL_SHRINK) &&
        (uint64_t)status.st_size >= bytes) {
        void *mapped = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        *memory = mapped == MAP_FAILED ? NULL : mapped;
    }
    if (fd >= 0)
        close(fd);
    return *memory != NULL ? PELLUCID_OK : protocol_error(error, "it passed no memory of the announced size");
}

/* Reports to the receiver which pieces are in place, from several threads and not too often. */
struct copy_notifier {
    pthread_mutex_t lock;
    struct channel *control;
    uint8_t *is_copied; /* for each piece: copied, and not reported yet */
    uint32_t count;
    double next_s; /* when to report again, by now_s(); the first piece is reported at once */
};

static int send_copied(struct copy_notifier *notifier, pellucid_error *error) {
    struct text header = {0};
    append(&header, "copied\npieces:");
    uint32_t reported = append_ranges(&header, notifier->is_copied, 1, notifier->count);
    memset(notifier->is_copied, 0, reported);
    notifier->next_s = now_s() + COPIED_INTERVAL_S;
    return send_message(notifier->control, &header, "", 0, -1, error);
}

static int notify_copied(struct copy_notifier *notifier, uint32_t number, pellucid_error *error) {
    if (notifier == NULL)
        return PELLUCID_OK;
    pthread_mutex_lock(&notifier->lock);
    notifier->is_copied[number] = 1;
    int code = now_s() >= notifier->next_s ? send_copied(notifier, error) : PELLUCID_OK;
    pthread_mutex_unlock(&notifier->lock);
    return code;
}

static int copy_pieces(struct work *work, struct channel *unused, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    (void)unused;
    for (uint32_t i; (i = atomic_fetch_add(&work->next, 1)) < work->missing_count;) {
        uint64_t start, length = piece_span(transfer, work->missing[i], &start);
        populate_pages(work->memory + start, length);
        memcpy(work->memory + start, (const uint8_t *)transfer->array.data + start, length);
        TRY(notify_copied(work->notifier, work->missing[i], error));
        TRY(report_progress(&work->link->monitor, length, error));
        if (has_data(&work->link->control, 0))
            return transfer_interrupted(error, "the receiver disconnected");
    }
    return PELLUCID_OK;
}

int send_through_shm(struct link *link, struct transfer *transfer, const struct message *ready, const uint32_t *missing,
                     uint32_t count, pellucid_error *error) {
    struct work work = {.link = link, .transfer = transfer, .missing = missing, .missing_count = count};
    struct copy_notifier notifier = {.control = &link->control, .count = transfer->count};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t length = 0;
    void *memory;
    TRY(attach_memory(&link->control, transfer->bytes, &memory, error));
    work.memory = memory;
    notifier.is_copied = calloc((size_t)transfer->count + 1, 1);
    if (find_field(ready, "copied", &length) != NULL && notifier.is_copied != NULL)
        work.notifier = &notifier;
    pthread_mutex_init(&notifier.lock, NULL);
    int code = run_workers(&work, cores < 1 ? 1 : cores < 4 ? (int)cores : 4, copy_pieces, error);
    pthread_mutex_destroy(&notifier.lock);
    free(notifier.is_copied);
    munmap(memory, transfer->bytes > 0 ? transfer->bytes : 1);
    return code != PELLUCID_OK ? code : send_word(&link->control, "sent", error);
}

/* Count pieces that are in place now, each once. */
static int keep_pieces(struct link *link, struct transfer *transfer, const uint32_t *numbers, uint32_t count,
                       pellucid_error *error) {
    uint64_t bytes = 0, start;
    for (uint32_t i = 0; i < count; i++) {
        bytes += transfer->has_piece[numbers[i]] ? 0 : piece_span(transfer, numbers[i], &start);
        transfer->has_piece[numbers[i]] = 1;
    }
    return report_progress(&link->monitor, bytes, error);
}

static int keep_listed_pieces(struct link *link, struct transfer *transfer, const struct message *message,
                              pellucid_error *error) {
    uint32_t *numbers = NULL, count = 0;
    int code = parse_pieces(message, "pieces", transfer, &numbers, &count, error);
    code = code != PELLUCID_OK ? code : keep_pieces(link, transfer, numbers, count, error);
    free(numbers);
    return code;
}

int receive_through_shm(struct link *link, struct transfer *transfer, pellucid_error *error) {
    for (int is_sent = 0; !is_sent;) {
        struct message message;
        TRY(expect_message(&link->control, "sent", "copied", &message, error));
        is_sent = is_kind(&message, "sent");
        int code = is_sent ? PELLUCID_OK : keep_listed_pieces(link, transfer, &message, error);
        message_free(&message);
        TRY(code);
    }
    memset(transfer->has_piece, 1, transfer->count);
    return report_progress(&link->monitor, transfer->bytes - link->monitor.done, error);
}
