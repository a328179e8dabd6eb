#include "lanes/link.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "connection/channel.h"
#include "connection/connect.h"
#include "connection/handshake.h"
#include "connection/messages.h"
#include "lanes/ucx_endpoint.h"

void link_close(struct link *link) {
    for (int i = 0; i < link->stream_count; i++)
        channel_close(&link->streams[i]);
    link->stream_count = 0;
    ucx_close(&link->ucx);
    channel_close(&link->control);
    monitor_destroy(&link->monitor);
}

int open_streams(struct link *link, const char *transfer, int count, pellucid_error *error) {
    count = count < MAX_STREAMS ? count : MAX_STREAMS;
    while (link->stream_count < count) {
        struct channel *channel = &link->streams[link->stream_count];
        struct message welcome;
        if (link->listener != NULL) {
            TRY(link->accept(link, transfer, channel, error));
        } else {
            TRY(connect_to(link->address, &link->monitor, channel, error));
            int code = authenticate(channel, link->token, transfer, &welcome, error);
            if (code != PELLUCID_OK) {
                channel_close(channel);
                return code;
            }
            message_free(&welcome);
        }
        link->stream_count++;
    }
    return PELLUCID_OK;
}
