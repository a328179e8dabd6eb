#include "connection/local_socket.h"
#include "base/monitor.h"
#include "connection/channel.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The address of a local socket with an abstract name: not a file, and removed with its process. */
static socklen_t local_address(const char *name, struct sockaddr_un *local) {
    memset(local, 0, sizeof *local);
    local->sun_family = AF_UNIX;
    strncpy(local->sun_path + 1, name, sizeof local->sun_path - 2);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(local->sun_path + 1));
}

int connect_local(const char *name, struct monitor *monitor, struct channel *channel) {
    struct sockaddr_un local;
    socklen_t length = local_address(name, &local);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&local, length) != 0) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    channel_start(channel, fd, monitor);
    return 1;
}

int listen_local(const char *name) {
    struct sockaddr_un local;
    socklen_t length = local_address(name, &local);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&local, length) == 0 && listen(fd, 64) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void read_machine_id(char *text, size_t capacity) {
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    text[0] = 0;
    if (file == NULL)
        return;
    if (fgets(text, (int)capacity, file) == NULL)
        text[0] = 0;
    text[strcspn(text, "\n")] = 0;
    fclose(file);
}
