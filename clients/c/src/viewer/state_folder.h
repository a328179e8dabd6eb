/* The folder with the records of this user, as pellucid.settings finds it. */
#ifndef PELLUCID_VIEWER_STATE_FOLDER_H
#define PELLUCID_VIEWER_STATE_FOLDER_H

#include "internal.h"

/* The content of a small file, to be freed; NULL if it cannot be read. */
INTERNAL char *read_file(const char *path);
/* The folder of the user's records, found as pellucid.settings does. */
INTERNAL void state_folder(char *path, size_t capacity);

#endif
