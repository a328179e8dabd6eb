#include "array/transfer.h"
#include "array/array.h"
#include "base/errors.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void transfer_free(struct transfer *transfer) {
    pellucid_free(&transfer->array);
    free(transfer->has_piece);
    if (transfer->descriptor >= 0)
        close(transfer->descriptor);
    memset(transfer, 0, sizeof *transfer);
    transfer->descriptor = -1;
}

void move_array(struct transfer *transfer, pellucid_array *array) {
    *array = transfer->array;
    memset(&transfer->array, 0, sizeof transfer->array);
    transfer_free(transfer);
}

int allocate_here(struct transfer *transfer, pellucid_error *error) {
    size_t mapped = ((struct owned *)transfer->array.owned)->mapped;
    void *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return out_of_memory(error, mapped);
    transfer->array.data = memory;
    return PELLUCID_OK;
}
