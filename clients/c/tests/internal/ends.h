/* A listener and a sender in one process. */
#ifndef ENDS_H
#define ENDS_H

#include "internal.h"

#define TOKEN "correct horse battery"
enum { COUNT = 5 * (1 << 20) + 77 };

struct ends {
    pellucid_listener *listener;
    const char *lane;
    const pellucid_array *array;
    int code, repeats;
    pellucid_error error;
    pellucid_report report;
    pellucid_options options;
    const char *token;
};

struct ends *open_ends(const char *lane, uint64_t limit_bytes);
void close_ends(struct ends *ends);
/* Send in a thread while this one receives; the code of the receiver. */
int exchange(struct ends *ends, const pellucid_array *array, pellucid_array *received, double timeout_s);
/* COUNT numbers, to be freed. */
uint32_t *many_voxels(void);
/* A connection to a port of this machine. */
int dial(int port);

#endif
