#include "lanes/shm_lane.h"
#include "array/pieces.h"
#include "array/transfer.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "connection/channel.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "lanes/piece_threads.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
    return *memory != NULL ? PELLUCID_OK : protocol_error(error, "it handed over no memory that fits");
}

static int copy_pieces(struct work *work, struct channel *unused, pellucid_error *error) {
    struct transfer *transfer = work->transfer;
    (void)unused;
    for (uint32_t i; (i = atomic_fetch_add(&work->next, 1)) < work->missing_count;) {
        uint64_t start, length = piece_span(transfer, work->missing[i], &start);
        populate_pages(work->memory + start, length);
        memcpy(work->memory + start, (const uint8_t *)transfer->array.data + start, length);
        TRY(report_progress(&work->link->monitor, length, error));
        if (has_data(&work->link->control, 0))
            return transfer_interrupted(error, "the other end went away");
    }
    return PELLUCID_OK;
}

int send_through_shm(struct link *link, struct transfer *transfer, const uint32_t *missing, uint32_t count,
                     pellucid_error *error) {
    struct work work = {.link = link, .transfer = transfer, .missing = missing, .missing_count = count};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    void *memory;
    TRY(attach_memory(&link->control, transfer->bytes, &memory, error));
    work.memory = memory;
    int code = run_workers(&work, cores < 1 ? 1 : cores < 4 ? (int)cores : 4, copy_pieces, error);
    munmap(memory, transfer->bytes > 0 ? transfer->bytes : 1);
    return code != PELLUCID_OK ? code : send_word(&link->control, "sent", error);
}
