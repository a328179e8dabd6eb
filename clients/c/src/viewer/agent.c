#include "viewer/agent.h"
#include "base/clock.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/monitor.h"
#include "connection/channel.h"
#include "viewer/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_AGENT_ATTEMPTS = 100, AGENT_START_TIMEOUT_S = 180 };

/* Whether a process runs and started at that time: process ids are reused. */
static int is_process_alive(long pid, long long birth) {
    char path[64], state = 0;
    long long began = -1;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    char *content = read_file(path), *at = content == NULL ? NULL : strrchr(content, ')');
    if (at != NULL)
        sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld", &state,
               &began);
    free(content);
    return began == birth && state != 'Z' && state != 'X';
}

/* The address and token of the agent on this machine, to be freed; NULL if none runs. */
static void find_agent(const char *folder, char **url, char **token) {
    char path[4200], here[256] = "", host[256], *save = NULL;
    *url = *token = NULL;
    snprintf(path, sizeof path, "%s/agent/agent.json", folder);
    char *content = read_file(path), *process = json_text(content, "process");
    const char *name = process == NULL ? NULL : strtok_r(process, "/", &save);
    const char *pid = name == NULL ? NULL : strtok_r(NULL, "/", &save),
               *birth = pid == NULL ? NULL : strtok_r(NULL, "/", &save);
    snprintf(host, sizeof host, "%s", name != NULL ? name : "");
    gethostname(here, sizeof here - 1);
    int is_here = strcmp(here, host) == 0;
    /* An agent on another machine may have ended: a new agent finds out, and refuses to start if it has not. */
    if (birth != NULL && is_here && is_process_alive(atol(pid), atoll(birth)))
        *url = json_text(content, "url");
    if (*url != NULL && (*url)[0] == 0) { /* it has not published its address yet */
        free(*url);
        *url = NULL;
    }
    if (*url != NULL)
        *token = json_text(content, "token");
    free(process);
    free(content);
}

/* The Python that has Pellucid: the given one, that of the pellucid command, or python3. */
static void find_python(const char *given, char *path, size_t capacity) {
    const char *folders = getenv("PATH");
    snprintf(path, capacity, "%s", given != NULL ? given : "python3");
    while (given == NULL && folders != NULL && folders[0]) {
        char command[4096], line[1024] = "";
        int length = (int)strcspn(folders, ":");
        snprintf(command, sizeof command, "%.*s/pellucid", length, folders);
        folders += length + (folders[length] == ':');
        FILE *file = fopen(command, "re");
        int has_line = file != NULL && fgets(line, sizeof line, file) != NULL;
        if (file != NULL)
            fclose(file);
        if (has_line && strncmp(line, "#!/", 3) == 0) {
            line[strcspn(line, " \n")] = 0;
            snprintf(path, capacity, "%s", line + 2);
            return;
        }
    }
}

/* Start an agent, which outlives this program. It writes lines to the pipe: "ready", "running", "elsewhere" or "failed";
 * then what is wrong and what to do. */
static int spawn_agent(const char *python, const char *folder, int pipe_end, pid_t *child) {
    char log[4200];
    char *arguments[] = {"/bin/sh", "-c", "\"$0\" -P -m pellucid.agent.main --ready 3 &", (char *)(uintptr_t)python, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    snprintf(log, sizeof log, "%s/agent/agent.log", folder);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_adddup2(&actions, pipe_end, 3);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int fault = posix_spawn(child, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return fault;
}

/* output: of the agent; empty if it ended without any. */
static int agent_failed(pellucid_error *error, const char *folder, const char *output) {
    char where[600];
    snprintf(where, sizeof where, "see %.500s/agent/agent.log.", folder);
    return fail(error, PELLUCID_REFUSED, "Check that the pellucid command is on the PATH, or set the option python.",
                "The agent could not be started: %.400s", output[0] ? output : where);
}

/* Read from a pipe until it is closed. */
static int read_pipe(int fd, struct monitor *monitor, char *output, size_t capacity, pellucid_error *error) {
    double since = now_s();
    size_t length = 0;
    for (ssize_t got = 1; got != 0;) {
        struct pollfd waiting = {fd, POLLIN, 0};
        TRY(report_progress(monitor, 0, error));
        if (now_s() - since > AGENT_START_TIMEOUT_S)
            return fail(error, PELLUCID_TIMEOUT, "Run the program again; see agent/agent.log in the state folder.",
                        "The agent did not start within 180 s.");
        if (poll(&waiting, 1, POLL_MS) <= 0)
            continue;
        got = read(fd, output + length, capacity - 1 - length);
        if (got < 0 && errno != EINTR)
            got = 0;
        length += got > 0 ? (size_t)got : 0;
        if (length == capacity - 1)
            got = 0;
    }
    output[length] = 0;
    return PELLUCID_OK;
}

static int make_folders(const char *path) {
    char part[4300];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = part + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        mkdir(part, 0700);
        *slash = '/';
    }
    return mkdir(part, 0700) == 0 || errno == EEXIST;
}

static int start_agent(const char *python, const char *folder, struct monitor *monitor, pellucid_error *error) {
    char agent[4200], found[4096], output[512] = "";
    int ends[2];
    pid_t child;
    snprintf(agent, sizeof agent, "%s/agent", folder);
    find_python(python, found, sizeof found);
    if (!make_folders(agent) || pipe2(ends, O_CLOEXEC) != 0)
        return agent_failed(error, folder, strerror(errno));
    int fault = spawn_agent(found, folder, ends[1], &child);
    close(ends[1]);
    int code = fault != 0 ? agent_failed(error, folder, strerror(fault))
                          : read_pipe(ends[0], monitor, output, sizeof output, error);
    close(ends[0]);
    while (fault == 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    TRY(code);
    char *sentences = output + strcspn(output, "\n");
    if (*sentences == '\n')
        *sentences++ = 0;
    if (strcmp(output, "ready") == 0 || strcmp(output, "running") == 0)
        return PELLUCID_OK;
    char *second = strchr(sentences, '\n');
    if (second != NULL)
        *second = ' ';
    return agent_failed(error, folder, sentences);
}

int find_or_start_agent(const char *python, struct monitor *monitor, char **url, char **token, pellucid_error *error) {
    char folder[4096];
    state_folder(folder, sizeof folder);
    for (int i = 0; i < MAX_AGENT_ATTEMPTS; i++) {
        find_agent(folder, url, token);
        if (*url != NULL)
            return PELLUCID_OK;
        TRY(start_agent(python, folder, monitor, error));
        find_agent(folder, url, token);
        if (*url != NULL)
            return PELLUCID_OK;
        sleep_s(0.1); /* another program is starting it */
    }
    return agent_failed(error, folder, "");
}
