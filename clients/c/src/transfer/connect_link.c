#include "transfer/connect_link.h"
#include "array/lane.h"
#include "base/errors.h"
#include "base/monitor.h"
#include "base/ucx_library.h"
#include "connection/address.h"
#include "connection/channel.h"
#include "connection/connect.h"
#include "connection/handshake.h"
#include "connection/local_socket.h"
#include "connection/messages.h"
#include "lanes/link.h"
#include "lanes/ucx_endpoint.h"

#include <string.h>

/* Switch to a local socket, which can pass memory; is_local: whether that was possible. */
static int switch_to_local(struct link *link, const struct message *welcome, int *is_local, pellucid_error *error) {
    char here[64], there[64], name[100];
    struct channel local;
    struct message again;
    read_machine_id(here, sizeof here);
    copy_field(welcome, "machine", there, sizeof there);
    copy_field(welcome, "local", name, sizeof name);
    *is_local = here[0] && strcmp(here, there) == 0 && name[0] && connect_local(name, &link->monitor, &local);
    if (!*is_local)
        return PELLUCID_OK;
    channel_close(&link->control);
    link->control = local;
    link->lane = SHM;
    TRY(authenticate(&link->control, link->token, NULL, &again, error));
    message_free(&again);
    return PELLUCID_OK;
}

/* Choose the best lane between the two programs, or the requested one. */
static int choose_lane(struct link *link, const struct message *welcome, const char *wanted, pellucid_error *error) {
    char lanes[64], rdma[8];
    int is_local = 0;
    copy_field(welcome, "lanes", lanes, sizeof lanes);
    copy_field(welcome, "rdma", rdma, sizeof rdma);
    if (strstr(lanes, lane_name(PROXY)) != NULL &&
        (wanted == NULL || strcmp(wanted, "auto") == 0 || is_lane(wanted, PROXY))) {
        link->lane = PROXY;
        return PELLUCID_OK;
    }
    if (is_lane(wanted, PROXY) || strstr(lanes, lane_name(TCP)) == NULL)
        return fail(error, PELLUCID_INVALID, "Leave the lane out.", "The lane is not available at this address.");
    if (is_lane(wanted, TCP))
        return PELLUCID_OK;
    if (!is_lane(wanted, UCX))
        TRY(switch_to_local(link, welcome, &is_local, error));
    if (is_local)
        return PELLUCID_OK;
    if (is_lane(wanted, SHM))
        return fail(error, PELLUCID_UNREACHABLE, "Leave the lane out.",
                    "The lane shm needs both programs on one machine.");
    int is_best = is_lane(wanted, UCX) || (rdma[0] && has_rdma());
    if (is_best && strstr(lanes, "ucx") != NULL && has_ucx_library())
        link->lane = UCX;
    else if (is_lane(wanted, UCX))
        return fail(error, PELLUCID_INVALID,
                    "Install UCX on both machines so that libucp.so.0 can be loaded, or leave the lane out.",
                    "The lane ucx is not available between the two programs.");
    return PELLUCID_OK;
}

int open_link(struct link *link, const struct address *address, const char *token, const pellucid_options *options,
              pellucid_error *error) {
    struct message welcome;
    memset(link, 0, sizeof *link);
    link->address = address;
    link->token = token;
    link->wanted_streams = options->streams;
    channel_clear(&link->control);
    monitor_init(&link->monitor, options);
    int code = connect_to(address, &link->monitor, &link->control, error);
    if (code == PELLUCID_OK)
        code = authenticate(&link->control, token, NULL, &welcome, error);
    if (code == PELLUCID_OK) {
        code = choose_lane(link, &welcome, options->lane, error);
        message_free(&welcome);
    }
    if (code != PELLUCID_OK)
        link_close(link);
    return code;
}
