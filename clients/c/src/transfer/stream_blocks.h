/* Blocks of a stream over TCP: a window of them in flight, sent again after a lost connection. */
#ifndef PELLUCID_TRANSFER_STREAM_BLOCKS_H
#define PELLUCID_TRANSFER_STREAM_BLOCKS_H

#include "internal.h"
#include "transfer/stream.h"

/* The oldest block in flight; NULL if there is none. */
INTERNAL struct sent_block *oldest_block(pellucid_stream *stream);
/* Wait until the oldest block has arrived. */
INTERNAL int wait_for_oldest(pellucid_stream *stream, pellucid_error *error);
/* Send a block in contiguous parts that are small enough, divided along its slowest axis. */
INTERNAL int send_parts(pellucid_stream *stream, const uint8_t *block, const uint64_t start[3], const uint64_t shape[3],
                        pellucid_error *error);

#endif
