/* Pellucid from C and C++: arrays between programs and machines, and viewers that show them.
 *
 * One header, one source file, C11, libc and POSIX threads. Add pellucid.c to your program, or link the library that
 * `make` builds. TLS and https need libssl 3, RDMA needs libucp; both are loaded when the program runs.
 *
 *     pellucid_array scan = {.data = voxels, .axes = 3, .shape = {512, 1024, 1024}, .type = PELLUCID_UINT16,
 *                            .spacing = {0.65, 0.65, 0.65}, .unit = "um", .name = "scan"};
 *     pellucid_error error;
 *     if (pellucid_send("node7:5100", token, &scan, NULL, NULL, &error) != PELLUCID_OK)
 *         fprintf(stderr, "%s %s\n", error.what, error.remedy);
 *
 * Every function that can fail returns PELLUCID_OK (0) or a code, and writes to `error`, unless it is NULL, what
 * happened and what to do. Functions may be called from several threads, each on its own listener, stream
 * or viewer. `report` may be NULL.
 *
 * An address is "host:port", or "tls://host:port#PIN", where PIN is the SHA-256 of the certificate that the receiver
 * printed. Both programs hold the same token; it is never sent. The page of a viewer ("https://host/path") is an
 * address too: its web server passes the bytes on.
 *
 * On one machine the bytes go through shared memory, otherwise through several TCP connections, or UCX if both
 * machines have RDMA cards. Numbers are little endian, the last axis is the fastest: a volume is [z][y][x].
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
    PELLUCID_INVALID = 1,     /* an invalid argument */
    PELLUCID_UNREACHABLE = 2, /* nothing answers there, or another program */
    PELLUCID_TOKEN = 3,       /* the two programs do not hold the same token */
    PELLUCID_TOO_LARGE = 4,   /* more than the receiver accepts */
    PELLUCID_BROKEN = 5,      /* the connection was lost; sending again sends only the missing pieces */
    PELLUCID_BUSY = 6,        /* the receiver is receiving another array */
    PELLUCID_CANCELLED = 7,   /* cancelled by this program or by the peer */
    PELLUCID_PROTOCOL = 8,    /* the peer violated the protocol */
    PELLUCID_MEMORY = 9,      /* not enough memory */
    PELLUCID_REFUSED = 10,    /* the peer rejected the request and sent a reason */
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

/* An array and its description. Fields that are zero or NULL are not set.
 * A received array belongs to the library until pellucid_free. */
typedef struct pellucid_array {
    void *data;
    int axes;
    uint64_t shape[PELLUCID_MAX_AXES];
    pellucid_type type;
    double spacing[PELLUCID_MAX_AXES]; /* along each axis, in unit; spacing[0] = 0: unknown */
    const char *unit;
    const char *name;
    const char *metadata; /* a JSON object, at most PELLUCID_MAX_METADATA_BYTES bytes */
    void *owned;          /* used by the library; leave it NULL */
} pellucid_array;

/* Options of a transfer; NULL, or zero in any field, is the default. */
typedef struct pellucid_options {
    /* "shm", "tcp", "ucx" or "proxy"; default: the best one. A listener offers UCX if there are RDMA cards, or if this
     * is "ucx": UCX installs signal handlers. */
    const char *lane;
    int no_checksum;      /* 1: pieces are not verified */
    int attempts;         /* how often to try an interrupted transfer; default 4 */
    int streams;          /* TCP connections, chosen by the receiver; default 4 */
    double timeout_s;     /* how long to wait for a message from the peer; default 60 */
    uint64_t limit_bytes; /* the largest array to receive; default 1 TiB */
    /* Called a few times per second and after each piece, from any thread; a result other than 0 cancels. */
    int (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    void *context;
} pellucid_options;

/* The result of a transfer. */
typedef struct pellucid_report {
    char lane[8];
    int streams;
    uint64_t bytes;         /* sent or received by the last attempt */
    uint64_t resumed_bytes; /* kept from earlier attempts */
    double seconds;
} pellucid_report;

uint64_t pellucid_bytes(const pellucid_array *array);
const char *pellucid_type_name(pellucid_type type);
/* "invalid", "unreachable", ...: a word for a code. */
const char *pellucid_code_name(int code);

/* ---- Sending and retrieving -------------------------------------------------------------------------------------- */

/* Send an array to a listener; returns when all of it has arrived. It must not change meanwhile. */
int pellucid_send(const char *address, const char *token, const pellucid_array *array, const pellucid_options *options,
                  pellucid_report *report, pellucid_error *error);

/* Retrieve an array from a listener. request: a JSON object that the listener understands. */
int pellucid_retrieve(const char *address, const char *token, const char *request, const pellucid_options *options,
                      pellucid_array *array, pellucid_report *report, pellucid_error *error);

/* Free the memory of a received array. Calling it again does nothing. */
void pellucid_free(pellucid_array *array);

/* Memory to fill before it is sent: on one machine it is the receiver's own, and sending copies nothing.
 * `array` has the shape and type; its data is set. Then pellucid_commit sends it, or pellucid_abandon discards it.
 * After either of them array->data is invalid. */
typedef struct pellucid_allocation pellucid_allocation;
int pellucid_allocate(const char *address, const char *token, pellucid_array *array, const pellucid_options *options,
                      pellucid_allocation **allocation, pellucid_error *error);
int pellucid_commit(pellucid_allocation *allocation, pellucid_report *report, pellucid_error *error);
void pellucid_abandon(pellucid_allocation *allocation);

/* A volume that is sent while it is being made. `volume` describes it (three axes; data is not used). */
typedef struct pellucid_stream pellucid_stream;
int pellucid_stream_open(const char *address, const char *token, const pellucid_array *volume,
                         const pellucid_options *options, pellucid_stream **stream, pellucid_error *error);
/* Send the block that begins at voxel start (z, y, x). block is [z][y][x] without gaps, and may be reused afterwards.
 * After a lost connection only the blocks in flight (at most 256 MiB) are sent again. */
int pellucid_stream_write(pellucid_stream *stream, const void *block, const uint64_t start[3], const uint64_t shape[3],
                          pellucid_error *error);
/* Finish, and wait until all blocks have arrived. The stream is freed, whatever is returned. */
int pellucid_stream_close(pellucid_stream *stream, pellucid_error *error);
/* Discard the stream, unfinished. */
void pellucid_stream_abandon(pellucid_stream *stream);

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

/* Listen at "host:port"; port 0 is any free port. Senders wait for pellucid_receive. */
typedef struct pellucid_listener pellucid_listener;
int pellucid_listen(const char *address, const char *token, const pellucid_options *options,
                    pellucid_listener **listener, pellucid_error *error);
/* "host:port", for senders. */
const char *pellucid_listener_address(const pellucid_listener *listener);
/* Receive the next array, whole or as a stream. After a lost connection it continues to wait, and keeps the received
 * pieces for a sender that tries again. timeout_s: how long to wait for a sender; negative: without limit.
 * One sender at a time: the next one waits for the next call. */
int pellucid_receive(pellucid_listener *listener, double timeout_s, pellucid_array *array, pellucid_report *report,
                     pellucid_error *error);
void pellucid_listener_close(pellucid_listener *listener);

/* ---- A viewer ---------------------------------------------------------------------------------------------------- */

/* The resources of a viewer, and where it runs; zero or NULL in any field is the default. */
typedef struct pellucid_viewer_options {
    const char *device;    /* "cpu", "cuda", "cuda:1"; default: the best available */
    int gpus;              /* -1: none; default: estimated from shape and type */
    uint64_t shape[3];     /* z, y, x of the volume that will be shown */
    pellucid_type type;    /* its type */
    uint64_t memory_bytes; /* default: estimated */
    int cores;
    const char *name;
    const char *source;          /* a file to show first */
    const char *const *roots;    /* folders whose files may be opened, besides the current one; NULL after the last */
    double idle_timeout_minutes; /* it ends after this time without use; default 60 */
    const char *scheduler;       /* "local" or "slurm"; default of this and the following: set by the site */
    const char *partition, *account, *constraint;
    int time_limit_minutes;
    const char *python; /* has Pellucid, to start an agent; default: that of the pellucid command, or python3 */
} pellucid_viewer_options;
typedef struct pellucid_viewer pellucid_viewer;

/* Start a viewer through the user's agent, as pellucid.start(gpus="auto") does: the agent at the Hub after
 * `pellucid login`, the one on this machine, or a new one. Returns when the viewer can be used, which may take long in
 * a queue: options->timeout_s (default 600) limits it, and progress may cancel it. The viewer outlives this program. */
int pellucid_viewer_start(const pellucid_viewer_options *viewer_options, const pellucid_options *options,
                          pellucid_viewer **viewer, pellucid_error *error);

/* A viewer that was requested, as Python's PendingViewer: it waits in a queue, or is starting. phase: "queued",
 * "starting", "running", "ending", "ended", "failed", "lost" or "unknown". place: in the queue, from 1. expected_start,
 * ends_at: seconds since 1970, as of time(). Zero or "" where the scheduler does not know. */
typedef struct pellucid_pending_viewer pellucid_pending_viewer;
typedef struct pellucid_job_state {
    char phase[16], reason[256], node[128];
    int place;
    double expected_start, ends_at;
} pellucid_job_state;
/* Like pellucid_viewer_start, but returns as soon as the viewer is requested, as pellucid.start(wait=False) does. */
int pellucid_viewer_start_pending(const pellucid_viewer_options *viewer_options, const pellucid_options *options,
                                  pellucid_pending_viewer **pending, pellucid_error *error);
int pellucid_pending_viewer_state(pellucid_pending_viewer *pending, pellucid_job_state *state, pellucid_error *error);
/* Wait until it can be used, and connect to it; after timeout_s (0: only look) PELLUCID_TIMEOUT, and it still starts. */
int pellucid_pending_viewer_wait(pellucid_pending_viewer *pending, double timeout_s, pellucid_viewer **viewer,
                                 pellucid_error *error);
/* The id that `pellucid list` shows, and the output of its job, which you free(). */
const char *pellucid_pending_viewer_id(const pellucid_pending_viewer *pending);
int pellucid_pending_viewer_log(pellucid_pending_viewer *pending, char **log, pellucid_error *error);
/* Stop it, in any state; it must still be closed. Closing alone lets it start. */
int pellucid_pending_viewer_shutdown(pellucid_pending_viewer *pending, pellucid_error *error);
void pellucid_pending_viewer_close(pellucid_pending_viewer *pending);

/* Connect to the viewer of a link: with #code=, which works once, or with #share=, as `pellucid view --network` prints
 * it for programs. pin= is the SHA-256 of the only certificate to accept at an https address; without it, the
 * certificates that the system trusts are accepted. Without TLS the viewer proves first that it issued the link.
 * options: lane, attempts, no_checksum and progress are for voxels, timeout_s for one response (default 600). */
int pellucid_viewer_connect(const char *url, const pellucid_options *options, pellucid_viewer **viewer,
                            pellucid_error *error);
/* Its address, without secrets. */
const char *pellucid_viewer_url(const pellucid_viewer *viewer);
/* A link for a browser, as the owner; it works once. Free it with free(). */
int pellucid_viewer_link(pellucid_viewer *viewer, char **link, pellucid_error *error);
/* Disconnect from the viewer, which continues to run. */
void pellucid_viewer_close(pellucid_viewer *viewer);

/* The scene as JSON (docs/reference/protocol.md: SceneSnapshot); free it with free(). */
int pellucid_viewer_query(pellucid_viewer *viewer, char **json, pellucid_error *error);

/* Show a volume of three axes. how: "replace" (or NULL), "add" or "labels". Its bytes go directly to the
 * viewer, through shared memory or TCP. If that is not possible, they go through the web server of the page:
 * report->lane is then "proxy", or "http" if the web server does not pass connections on. */
int pellucid_viewer_render_volume(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                                  pellucid_report *report, pellucid_error *error);
/* The viewer's own memory to write a volume to: see pellucid_allocate. */
int pellucid_viewer_allocate(pellucid_viewer *viewer, pellucid_array *volume, const char *how,
                             pellucid_allocation **allocation, pellucid_error *error);
/* Show a volume while it is being made: see pellucid_stream_open. The image follows the written blocks. */
int pellucid_viewer_stream(pellucid_viewer *viewer, const pellucid_array *volume, const char *how,
                           pellucid_stream **stream, pellucid_error *error);
/* Show spheres at positions (x, y, z) in world units; the radii depend on the values. */
int pellucid_viewer_render_points(pellucid_viewer *viewer, const float (*positions)[3], const float *values,
                                  size_t count, const char *how, pellucid_error *error);
/* Show a file on the viewer's machine. */
int pellucid_viewer_load(pellucid_viewer *viewer, const char *path, const char *how, pellucid_error *error);
/* The voxels from start up to stop (z, y, x) of a layer; with NULL, all of them. Free them with pellucid_free. */
int pellucid_viewer_retrieve_volume(pellucid_viewer *viewer, int layer, const uint64_t start[3], const uint64_t stop[3],
                                    pellucid_array *volume, pellucid_report *report, pellucid_error *error);

/* A network that is applied to a volume of a viewer, or was. layer: of its labels. */
typedef struct pellucid_network {
    char task[80];
    int layer;
} pellucid_network;

/* Send a network (an ONNX file, or a package of bioimage.io) to the viewer, which draws the labels that it gives to the
 * voxels of a layer as they are computed, what is seen first. request: what the file does not state, as a JSON object
 * such as {"threshold": 0.7, "postprocess": ["sigmoid"]} (docs/reference/protocol.md: NetworkRequest); may be NULL. */
int pellucid_viewer_apply_network(pellucid_viewer *viewer, int layer, const char *file, const char *request,
                                  pellucid_network *network, pellucid_error *error);
/* Wait for all labels; after timeout_s PELLUCID_TIMEOUT, and the network continues. share: done, 0 to 1; may be NULL. */
int pellucid_viewer_wait_for_network(pellucid_viewer *viewer, const pellucid_network *network, double timeout_s,
                                     double *share, pellucid_error *error);
/* Stop a network; labels that are there stay. */
int pellucid_viewer_stop_network(pellucid_viewer *viewer, const pellucid_network *network, pellucid_error *error);

/* The final image, as height x width x 4 bytes, RGBA. */
int pellucid_viewer_screenshot(pellucid_viewer *viewer, int width, int height, uint8_t *rgba, pellucid_error *error);
/* End the viewer, for all its users. It must still be closed. */
int pellucid_viewer_shutdown(pellucid_viewer *viewer, pellucid_error *error);

/* ---- What a viewer shows: the names are those of Python, so viewer.layers.hide is pellucid_viewer_layers_hide ----- */

/* Pages follow at once; every change but that of the camera can be undone. `layer` counts volumes from 0.
 * Positions (x, y, z) in world units. field_of_view_deg: vertical; 0: orthographic, `height` world units high. */
typedef struct pellucid_camera {
    double position[3], target[3], up[3];
    double field_of_view_deg, height;
} pellucid_camera;
int pellucid_viewer_camera(pellucid_viewer *viewer, pellucid_camera *camera, pellucid_error *error);
int pellucid_viewer_set_camera(pellucid_viewer *viewer, const pellucid_camera *camera, pellucid_error *error);
/* Look at all that is visible, from the side of the first image, or from where the camera is. aspect: width over height
 * of the image; 0: that of the page. */
int pellucid_viewer_fit_camera(pellucid_viewer *viewer, double aspect, int is_from_here, pellucid_error *error);
/* Colours, opacities, light, clipping and camera as they were at first. */
int pellucid_viewer_restore_first_view(pellucid_viewer *viewer, pellucid_error *error);

/* What is at a position. layer, label_layer: -1 if there is none. voxel: (z, y, x). */
typedef struct pellucid_hit {
    int layer, label_layer, has_value;
    double value;
    int64_t voxel[3], label;
} pellucid_hit;
int pellucid_viewer_probe(pellucid_viewer *viewer, const double position[3], pellucid_hit *hit, pellucid_error *error);
/* Control points: {position, red, green, blue} and {position, opacity}; positions run from 0 to 1 over value_range. */
typedef struct pellucid_transfer {
    const double (*colors)[4], (*opacities)[2];
    size_t color_count, opacity_count;
    double value_range[2], gamma;
    void *owned; /* used by the library; leave it NULL */
} pellucid_transfer;
/* Free it with pellucid_transfer_free. */
int pellucid_viewer_transfer(pellucid_viewer *viewer, int layer, pellucid_transfer *transfer, pellucid_error *error);
void pellucid_transfer_free(pellucid_transfer *transfer);
/* Fields that are zero or NULL stay as they are. */
int pellucid_viewer_set_transfer(pellucid_viewer *viewer, int layer, const pellucid_transfer *transfer,
                                 pellucid_error *error);
int pellucid_viewer_value_range(pellucid_viewer *viewer, int layer, double range[2], pellucid_error *error);
int pellucid_viewer_set_value_range(pellucid_viewer *viewer, int layer, const double range[2], pellucid_error *error);
/* soft, dense, skin, gold, glass, x-ray; or a colour map: viridis, bone, ... */
int pellucid_viewer_use_preset(pellucid_viewer *viewer, const char *name, int layer, pellucid_error *error);
/* none, gradient, shadow, occlusion, full, cinematic, or user (shade_with). */
int pellucid_viewer_shading(pellucid_viewer *viewer, int layer, char shading[16], pellucid_error *error);
int pellucid_viewer_set_shading(pellucid_viewer *viewer, int layer, const char *shading, pellucid_error *error);
/* Shade with your own code (docs/how-to/custom-shading.md) and its parameters. */
typedef struct pellucid_parameter {
    const char *name;
    double value;
} pellucid_parameter;
int pellucid_viewer_shade_with(pellucid_viewer *viewer, int layer, const char *source,
                               const pellucid_parameter *parameters, size_t count, pellucid_error *error);

/* Set any property of the scene: path ["volumes", 0, "mode"], value "max", both as JSON. */
int pellucid_viewer_change(pellucid_viewer *viewer, const char *path, const char *value, pellucid_error *error);
int pellucid_viewer_undo(pellucid_viewer *viewer, pellucid_error *error);
int pellucid_viewer_redo(pellucid_viewer *viewer, pellucid_error *error);
/* A layer. kind: "volumes", "points", "meshes" or "slices", and its index among them. opacity: of labels, a mesh or a
 * slice; -1 where the transfer function decides. shape, spacing, unit, type: of a volume, (z, y, x). */
typedef struct pellucid_layer {
    char kind[16];
    int index, is_visible, has_labels;
    double opacity;
    uint64_t shape[3];
    double spacing[3];
    char unit[32], type[16], name[512];
} pellucid_layer;
/* All layers, volumes first; free() them. The functions below count from 0 in this order. */
int pellucid_viewer_layers(pellucid_viewer *viewer, pellucid_layer **layers, size_t *count, pellucid_error *error);
int pellucid_viewer_layers_hide(pellucid_viewer *viewer, size_t number, pellucid_error *error);
int pellucid_viewer_layers_show(pellucid_viewer *viewer, size_t number, pellucid_error *error);
int pellucid_viewer_layers_remove(pellucid_viewer *viewer, size_t number, pellucid_error *error);
int pellucid_viewer_layers_set_opacity(pellucid_viewer *viewer, size_t number, double opacity, pellucid_error *error);

/* Labels; layer -1 is the first layer that has some. Fields that are NULL stay. color: red, green, blue, 0 to 1. */
typedef struct pellucid_label_color {
    const char *name;
    const double *color, *opacity;
} pellucid_label_color;
int pellucid_viewer_labels_set(pellucid_viewer *viewer, int layer, int64_t label, const pellucid_label_color *how,
                               pellucid_error *error);
int pellucid_viewer_labels_hide(pellucid_viewer *viewer, int layer, const int64_t *labels, size_t count,
                                pellucid_error *error);
int pellucid_viewer_labels_show(pellucid_viewer *viewer, int layer, const int64_t *labels, size_t count,
                                pellucid_error *error);
/* Draw only these; or values of volumes only where these are, and labels on slices alone; with none, all again. */
int pellucid_viewer_labels_isolate(pellucid_viewer *viewer, int layer, const int64_t *labels, size_t count,
                                   pellucid_error *error);
int pellucid_viewer_labels_mask_volume(pellucid_viewer *viewer, int layer, const int64_t *labels, size_t count,
                                       pellucid_error *error);
int pellucid_viewer_labels_show_all(pellucid_viewer *viewer, int layer, pellucid_error *error);
/* At full resolution. volume, center (x, y, z): in world units; start, stop: its box of voxels (z, y, x). free() all. */
typedef struct pellucid_label_row {
    int64_t label;
    uint64_t voxels, start[3], stop[3];
    double volume, center[3];
    char name[128];
} pellucid_label_row;
int pellucid_viewer_labels_table(pellucid_viewer *viewer, int layer, pellucid_label_row **rows, size_t *count,
                                 pellucid_error *error);
int pellucid_viewer_labels_to_csv(pellucid_viewer *viewer, int layer, char **csv, pellucid_error *error);
/* radius: in voxels (0: 4), along the axis with the finest spacing. axis: 'z', 'y' or 'x', a disc in the slice across it;
 * 0: a ball. only: change voxels of this label alone; NULL: of all. */
typedef struct pellucid_brush {
    double radius;
    char axis;
    const int64_t *only;
} pellucid_brush;
/* Paint along points (z, y, x), in voxels. The file of the labels stays as it is. brush may be NULL. */
int pellucid_viewer_labels_paint(pellucid_viewer *viewer, int layer, const double (*points)[3], size_t count,
                                 int64_t label, const pellucid_brush *brush, pellucid_error *error);
int pellucid_viewer_labels_erase(pellucid_viewer *viewer, int layer, const double (*points)[3], size_t count,
                                 const pellucid_brush *brush, pellucid_error *error);
/* Write them to a new Zarr or HDF5 file on the viewer's machine. */
int pellucid_viewer_labels_save(pellucid_viewer *viewer, int layer, const char *path, pellucid_error *error);

#ifdef __cplusplus
}
#endif

#endif
