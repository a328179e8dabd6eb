/* pellucid_allocate: memory of the receiver to write into. */
#ifndef PELLUCID_TRANSFER_ALLOCATION_H
#define PELLUCID_TRANSFER_ALLOCATION_H

#include "array/transfer.h"
#include "connection/address.h"
#include "internal.h"

/* Check the arguments of a transfer, and copy them. */
INTERNAL int start_transfer(struct transfer *transfer, const pellucid_array *array, const pellucid_options *options,
                            pellucid_error *error);
INTERNAL int allocate_at(const struct address *address, const char *token, pellucid_array *array,
                         const pellucid_options *given, pellucid_allocation **result, pellucid_error *error);

#endif
