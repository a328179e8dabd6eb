/* Pellucid from C and C++: arrays between programs and machines, and viewers that show them.
 *
 * One header, one source file, C11, libc and POSIX threads. Add pellucid.c to your program, or link the library that
 * `make` builds. TLS and https are there where libssl 3 can be loaded when the program runs, RDMA where libucp can.
 *
 *     pellucid_array scan = {.data = voxels, .axes = 3, .shape = {512, 1024, 1024}, .type = PELLUCID_UINT16,
 *                            .spacing = {0.65, 0.65, 0.65}, .unit = "um", .name = "scan"};
 *     pellucid_error error;
 *     if (pellucid_send("node7:5100", token, &scan, NULL, NULL, &error) != PELLUCID_OK)
 *         fprintf(stderr, "%s %s\n", error.what, error.remedy);
 *
 * Every function that can fail returns PELLUCID_OK (0) or a code, and where `error` is not NULL says there what
 * happened and what to do. Functions may be called from several threads, each on its own listener, stream
 * or viewer; where a report is returned, NULL will do.
 *
 * An address is "host:port", or "tls://host:port#PIN", where PIN is the SHA-256 of the certificate that the other end
 * printed. Both ends hold the same token; it is never sent. The page of a viewer ("https://host/path") is an address
 * too: its web server hands the bytes through.
 *
 * On one machine the bytes go through shared memory, else through several TCP connections, or UCX where both ends have
 * RDMA cards. Numbers are little endian, the last axis is the fastest: a volume is [z][y][x].
 */
#ifndef PELLUCID_H
#define PELLUCID_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELLUCID_MAX_AXES 8
#define PELLUCID_MAX_METADATA_BYTES (128 * 1024)

/* What went wrong. */
enum {
    PELLUCID_OK = 0,
    PELLUCID_INVALID = 1,     /* an argument that cannot mean anything */
    PELLUCID_UNREACHABLE = 2, /* nobody answers there, or somebody else */
    PELLUCID_TOKEN = 3,       /* the two ends do not hold the same token */
    PELLUCID_TOO_LARGE = 4,   /* more than the receiving end takes */
    PELLUCID_BROKEN = 5,      /* the connection went away; sending again sends only what is missing */
    PELLUCID_BUSY = 6,        /* the receiving end takes another array just now */
    PELLUCID_CANCELLED = 7,   /* stopped on request, here or there */
    PELLUCID_PROTOCOL = 8,    /* the other end broke the rules */
    PELLUCID_MEMORY = 9,      /* no memory */
    PELLUCID_REFUSED = 10,    /* the other end refuses, and says why */
    PELLUCID_TIMEOUT = 11     /* nothing arrived in time */
};

/* what: what happened. remedy: what to do about it. Both are sentences. */
typedef struct pellucid_error {
    int code;
    char what[512];
    char remedy[512];
} pellucid_error;

typedef enum pellucid_type {
    PELLUCID_BOOL,
    PELLUCID_INT8,
    PELLUCID_INT16,
    PELLUCID_INT32,
    PELLUCID_INT64,
    PELLUCID_UINT8,
    PELLUCID_UINT16,
    PELLUCID_UINT32,
    PELLUCID_UINT64,
    PELLUCID_FLOAT16,
    PELLUCID_FLOAT32,
    PELLUCID_FLOAT64,
    PELLUCID_COMPLEX64,
    PELLUCID_COMPLEX128
} pellucid_type;

/* An array, and what is said about it. Fields that are zero or NULL say nothing.
 * When it was received, everything in it belongs to the library until pellucid_free. */
typedef struct pellucid_array {
    void *data;
    int axes;
    uint64_t shape[PELLUCID_MAX_AXES];
    pellucid_type type;
    double spacing[PELLUCID_MAX_AXES]; /* along each axis, in unit; spacing[0] = 0: not known */
    const char *unit;
    const char *name;
    const char *metadata; /* a JSON object, at most PELLUCID_MAX_METADATA_BYTES bytes */
    void *owned;          /* the library's own; leave it NULL */
} pellucid_array;

/* How to do it; NULL, or zero in any field, is the default. */
typedef struct pellucid_options {
    const char
        *lane;       /* "shm", "tcp", "ucx", "proxy"; default: what is best between the two ends. A listening end offers
                             UCX where there are RDMA cards, or where this is "ucx": UCX handles signals of its own */
    int no_checksum; /* 1: pieces are not verified */
    int attempts;    /* how often a broken transfer is taken up; default 4 */
    int streams;     /* TCP connections, for the receiving end to choose; default 4 */
    double timeout_s;     /* how long the other end may say nothing; default 60 */
    uint64_t limit_bytes; /* the largest array that is received; default 1 TiB */
    /* Called a few times per second and after each piece, from any thread; anything but 0 cancels. */
    int (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    void *context;
} pellucid_options;

/* How it went. */
typedef struct pellucid_report {
    char lane[8];
    int streams;
    uint64_t bytes;         /* moved by the last attempt */
    uint64_t resumed_bytes; /* there already from attempts before */
    double seconds;
} pellucid_report;

uint64_t pellucid_bytes(const pellucid_array *array);
const char *pellucid_type_name(pellucid_type type);
/* "invalid", "unreachable", ...: a word for a code. */
const char *pellucid_code_name(int code);

/* ---- The end that connects --------------------------------------------------------------------------------------- */

/* Send an array to an end that listens; returns when all of it is there. It must not change meanwhile. */
int pellucid_send(const char *address, const char *token, const pellucid_array *array, const pellucid_options *options,
                  pellucid_report *report, pellucid_error *error);

/* Ask an end that listens for an array. request: a JSON object; what it may say is up to that end. */
int pellucid_retrieve(const char *address, const char *token, const char *request, const pellucid_options *options,
                      pellucid_array *array, pellucid_report *report, pellucid_error *error);

/* Give back the memory of an array that was received. Calling it again does nothing. */
void pellucid_free(pellucid_array *array);

/* Memory to write into before it is sent: on one machine it is the receiving end's own, and sending copies nothing.
 * `array` says shape and type; its data is filled in. Then pellucid_commit sends it, or pellucid_abandon gives it up.
 * After either of them array->data is gone. */
typedef struct pellucid_allocation pellucid_allocation;
int pellucid_allocate(const char *address, const char *token, pellucid_array *array, const pellucid_options *options,
                      pellucid_allocation **allocation, pellucid_error *error);
int pellucid_commit(pellucid_allocation *allocation, pellucid_report *report, pellucid_error *error);
void pellucid_abandon(pellucid_allocation *allocation);

/* A volume that is sent while it is being made. `volume` says what it will be (three axes; data is not used). */
typedef struct pellucid_stream pellucid_stream;
int pellucid_stream_open(const char *address, const char *token, const pellucid_array *volume,
                         const pellucid_options *options, pellucid_stream **stream, pellucid_error *error);
/* Send the block that begins at voxel start (z, y, x). block is [z][y][x] without gaps, and may be reused afterwards.
 * After a broken connection the blocks that were under way (at most 256 MiB) are sent again, and no others. */
int pellucid_stream_write(pellucid_stream *stream, const void *block, const uint64_t start[3], const uint64_t shape[3],
                          pellucid_error *error);
/* Finish, and wait until all has arrived. The stream is gone afterwards, whatever is returned. */
int pellucid_stream_close(pellucid_stream *stream, pellucid_error *error);
/* Leave it unfinished. */
void pellucid_stream_abandon(pellucid_stream *stream);

/* ---- The end that listens ---------------------------------------------------------------------------------------- */

/* Listen at "host:port"; port 0 takes a free one. Arrays that are sent wait for pellucid_receive. */
typedef struct pellucid_listener pellucid_listener;
int pellucid_listen(const char *address, const char *token, const pellucid_options *options,
                    pellucid_listener **listener, pellucid_error *error);
/* "host:port", for whoever should send. */
const char *pellucid_listener_address(const pellucid_listener *listener);
/* Take the next array, whole or as a stream. After a broken connection it goes on waiting, and keeps the pieces that
 * are there for a sender who tries again. timeout_s: how long to wait for a sender; negative: for ever.
 * One sender at a time: the next one waits for the next call. */
int pellucid_receive(pellucid_listener *listener, double timeout_s, pellucid_array *array, pellucid_report *report,
                     pellucid_error *error);
void pellucid_listener_close(pellucid_listener *listener);

/* ---- A viewer ---------------------------------------------------------------------------------------------------- */

/* What a viewer is to have, and where; zero or NULL in any field is the default. */
typedef struct pellucid_viewer_options {
    const char *device;    /* "cpu", "cuda", "cuda:1"; default: what there is */
    int gpus;              /* -1: none; default: estimated from shape and type */
    uint64_t shape[3];     /* z, y, x of the volume that will be shown */
    pellucid_type type;    /* its type */
    uint64_t memory_bytes; /* default: estimated */
    int cores;
    const char *name;
    const char *source;          /* a file that is shown at first */
    const char *const *roots;    /* folders whose files may be opened, besides this one; NULL behind the last */
    double idle_timeout_minutes; /* it ends after so long without use; default 60 */
    const char *scheduler;       /* "local" or "slurm"; from here on, the site's choices */
    const char *partition;
    const char *account;
    const char *constraint;
    int time_limit_minutes;
    const char *python; /* that has Pellucid, to start an agent with; default: the pellucid command's, else python3 */
} pellucid_viewer_options;

typedef struct pellucid_viewer pellucid_viewer;

/* Start a viewer through this person's agent, as pellucid.start(gpus="auto") does: the one behind the Hub after
 * `pellucid login`, else the one that runs on this machine, else a new one. Returns when the viewer can be used; in a
 * queue that may take long: options->timeout_s (default 600), and progress, which may cancel. It outlives us. */
int pellucid_viewer_start(const pellucid_viewer_options *viewer_options, const pellucid_options *options,
                          pellucid_viewer **viewer, pellucid_error *error);
/* Drive the viewer to which a link leads: with #code=, which works once, or with #share=, as `pellucid view --network`
 * prints it for programs. What stands behind pin= is the SHA-256 of the only certificate that is believed at an https
 * address; without it, those that the system trusts.
 * options: lane, attempts, no_checksum and progress are for voxels, timeout_s for one answer (default 600). */
int pellucid_viewer_connect(const char *url, const pellucid_options *options, pellucid_viewer **viewer,
                            pellucid_error *error);
/* Its address, without anything secret. */
const char *pellucid_viewer_url(const pellucid_viewer *viewer);
/* A link to be opened in a browser, as the owner; it works once. Give it back with free(). */
int pellucid_viewer_link(pellucid_viewer *viewer, char **link, pellucid_error *error);
/* Let go of the viewer, which goes on running. */
void pellucid_viewer_close(pellucid_viewer *viewer);

/* What is shown, as JSON (docs/protocol.md: Snapshot); give it back with free(). */
int pellucid_viewer_query(pellucid_viewer *viewer, char **json, pellucid_error *error);

/* Show a volume of three axes. how: "replace" (or NULL), "add" or "labels". Its bytes go straight to the viewer,
 * through shared memory or TCP; where that way is closed, through the page's web server: then report->lane is "proxy",
 * or "http" where not even that hands a connection through. */
int pellucid_viewer_render_volume(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                                  pellucid_report *report, pellucid_error *error);
/* The viewer's own memory to write a volume into: see pellucid_allocate. */
int pellucid_viewer_allocate(pellucid_viewer *viewer, pellucid_array *volume, const char *how,
                             pellucid_allocation **allocation, pellucid_error *error);
/* Show a volume while it is being made: see pellucid_stream_open. The picture follows what is written. */
int pellucid_viewer_stream(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                           pellucid_stream **stream, pellucid_error *error);
/* Show spheres at positions (x, y, z) in world units, whose radii follow their values. */
int pellucid_viewer_render_points(pellucid_viewer *viewer, const float (*positions)[3], const float *values,
                                  size_t count, const char *how, pellucid_error *error);
/* Show a file that the viewer's machine has. */
int pellucid_viewer_load(pellucid_viewer *viewer, const char *path, const char *how, pellucid_error *error);
/* The voxels from start up to stop (z, y, x) of a layer; with NULL, all of them. Give them back with pellucid_free. */
int pellucid_viewer_retrieve_volume(pellucid_viewer *viewer, int layer, const uint64_t start[3], const uint64_t stop[3],
                                    pellucid_array *volume, pellucid_report *report, pellucid_error *error);
/* The exact picture, as height x width x 4 bytes, RGBA. */
int pellucid_viewer_screenshot(pellucid_viewer *viewer, int width, int height, uint8_t *rgba, pellucid_error *error);
/* End the viewer, also for those who watch. It still has to be closed. */
int pellucid_viewer_shutdown(pellucid_viewer *viewer, pellucid_error *error);

#ifdef __cplusplus
}
#endif

#endif
