/* pellucid_retrieve. */
#ifndef PELLUCID_TRANSFER_RETRIEVING_H
#define PELLUCID_TRANSFER_RETRIEVING_H

#include "connection/address.h"
#include "internal.h"

INTERNAL int retrieve_from(const struct address *address, const char *token, const char *request,
                           const pellucid_options *given, pellucid_array *array, pellucid_report *report,
                           pellucid_error *error);

#endif
