#include "viewer/state_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 20 };

char *read_file(const char *path) {
    FILE *file = fopen(path, "re");
    char *content = file == NULL ? NULL : malloc(MAX_FILE_BYTES);
    if (content != NULL)
        content[fread(content, 1, MAX_FILE_BYTES - 1, file)] = 0;
    if (file != NULL)
        fclose(file);
    return content;
}

static void home_folder(const char *variable, const char *otherwise, char *path, size_t capacity) {
    const char *named = getenv(variable), *home = getenv("HOME");
    if (named != NULL && named[0] == '/')
        snprintf(path, capacity, "%s", named);
    else
        snprintf(path, capacity, "%s/%s", home != NULL ? home : "", otherwise);
}

/* Expand ~ in a path to the home folder. */
static void expand_home(const char *given, char *path, size_t capacity) {
    const char *home = getenv("HOME");
    if (given[0] == '~' && (given[1] == '/' || given[1] == 0) && home != NULL)
        snprintf(path, capacity, "%s%s", home, given + 1);
    else
        snprintf(path, capacity, "%s", given);
}

/* The state_folder of the settings file; empty if it is not set. */
static void configured_state_folder(char *path, size_t capacity) {
    char file[4096], *content, *save = NULL;
    const char *named = getenv("PELLUCID_CONFIG");
    path[0] = 0;
    if (named != NULL && named[0]) {
        expand_home(named, file, sizeof file);
    } else {
        home_folder("XDG_CONFIG_HOME", ".config", file, sizeof file - 32);
        strcat(file, "/pellucid/config.toml");
    }
    content = read_file(file);
    for (char *line = content == NULL ? NULL : strtok_r(content, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char value[4096];
        if (sscanf(line, " state_folder = \"%4095[^\"]\"", value) == 1 ||
            sscanf(line, " state_folder = '%4095[^']'", value) == 1)
            expand_home(value, path, capacity);
    }
    free(content);
}

void state_folder(char *path, size_t capacity) {
    const char *named = getenv("PELLUCID_STATE_FOLDER");
    if (named != NULL && named[0]) {
        expand_home(named, path, capacity);
        return;
    }
    configured_state_folder(path, capacity);
    if (path[0] == 0) {
        home_folder("XDG_STATE_HOME", ".local/state", path, capacity - 16);
        strcat(path, "/pellucid");
    }
}
