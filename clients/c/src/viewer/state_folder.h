/* The folder with the records of this user, as pellucid.settings finds it. */
#ifndef PELLUCID_VIEWER_STATE_FOLDER_H
#define PELLUCID_VIEWER_STATE_FOLDER_H

#include "internal.h"

/* All of a small file, to be freed; NULL where there is none. */
INTERNAL char *read_file(const char *path);
/* Where this person's records are: as pellucid.settings finds it. */
INTERNAL void state_folder(char *path, size_t capacity);

#endif
