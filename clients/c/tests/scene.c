/* What a C program can do with what a viewer shows; prints "step: ok" or what went wrong, a line each, and what it read.
 *
 *     scene URL STEP               one of the steps below, of a viewer that runs
 *     scene pending PYTHON [HOW]   requests a viewer through the agent, and waits for it
 */
#define _GNU_SOURCE
#include "pellucid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pellucid_error error;

static int report_step(const char *step, int code) {
    printf("%s: %s\n", step, code == PELLUCID_OK ? "ok" : error.what);
    fflush(stdout);
    return code == PELLUCID_OK;
}

static void camera(pellucid_viewer *viewer) {
    pellucid_camera camera;
    report_step("camera", pellucid_viewer_camera(viewer, &camera, &error));
    printf("read: %.17g %.17g %.17g\n", camera.position[0], camera.target[1], camera.field_of_view_deg);
    camera.position[0] += 1.25;
    camera.field_of_view_deg = 0;
    camera.height = 12.5;
    report_step("set_camera", pellucid_viewer_set_camera(viewer, &camera, &error));
    memcpy(camera.position, camera.target, sizeof camera.position);
    report_step("impossible", pellucid_viewer_set_camera(viewer, &camera, &error));
}

static void views(pellucid_viewer *viewer) {
    report_step("fit_camera", pellucid_viewer_fit_camera(viewer, 1.5, 1, &error));
    report_step("restore_first_view", pellucid_viewer_restore_first_view(viewer, &error));
}

static void probe(pellucid_viewer *viewer) {
    const double inside[3] = {2.5, 1.5, 0.5}, outside[3] = {-50, 0, 0};
    pellucid_hit hit;
    report_step("probe", pellucid_viewer_probe(viewer, inside, &hit, &error));
    printf("inside: %d %g %" PRId64 " %" PRId64 " %" PRId64 " %d\n", hit.layer, hit.value, hit.voxel[0], hit.voxel[1],
           hit.voxel[2], hit.label_layer);
    report_step("probe", pellucid_viewer_probe(viewer, outside, &hit, &error));
    printf("outside: %d %d %d\n", hit.layer, hit.has_value, hit.label_layer);
}

static void transfer(pellucid_viewer *viewer) {
    static const double colors[][4] = {{0, 0, 0, 0.25}, {0.5, 1, 0.5, 0}, {1, 1, 1, 1}}, opacities[][2] = {{0, 0}, {1, 0.75}};
    pellucid_transfer shown, wanted = {.colors = colors, .color_count = 3, .opacities = opacities, .opacity_count = 2};
    const double range[2] = {0.125, 0.875}, reversed[2] = {2, 1};
    report_step("set_transfer", pellucid_viewer_set_transfer(viewer, 0, &wanted, &error));
    report_step("set_value_range", pellucid_viewer_set_value_range(viewer, 0, range, &error));
    report_step("reversed", pellucid_viewer_set_value_range(viewer, 0, reversed, &error));
    report_step("layer", pellucid_viewer_transfer(viewer, 7, &shown, &error));
    if (report_step("transfer", pellucid_viewer_transfer(viewer, 0, &shown, &error))) {
        printf("read: %zu %zu %g %g %g %g\n", shown.color_count, shown.opacity_count, shown.colors[1][1],
               shown.colors[0][3], shown.opacities[1][1], shown.value_range[1]);
        pellucid_transfer_free(&shown);
    }
}

static void shading(pellucid_viewer *viewer) {
    static const char source[] = "//@ gain = 1 in 0 .. 2\nreturn color * gain;\n";
    const pellucid_parameter gain = {"gain", 1.5};
    char name[16] = "";
    report_step("use_preset", pellucid_viewer_use_preset(viewer, "bone", 0, &error));
    report_step("set_shading", pellucid_viewer_set_shading(viewer, 0, "gradient", &error));
    report_step("unknown", pellucid_viewer_set_shading(viewer, 0, "dim", &error));
    report_step("shading", pellucid_viewer_shading(viewer, 0, name, &error));
    printf("read: %s\n", name);
    report_step("mistake", pellucid_viewer_shade_with(viewer, 0, "return oops;\n", NULL, 0, &error));
    report_step("shade_with", pellucid_viewer_shade_with(viewer, 0, source, &gain, 1, &error));
    report_step("change", pellucid_viewer_change(viewer, "[\"step\"]", "0.25", &error));
    report_step("undo", pellucid_viewer_undo(viewer, &error));
    report_step("redo", pellucid_viewer_redo(viewer, &error));
}

static void layers(pellucid_viewer *viewer) {
    pellucid_layer *listed;
    size_t count;
    if (report_step("layers", pellucid_viewer_layers(viewer, &listed, &count, &error)))
        for (size_t i = 0; i < count; i++)
            printf("layer %zu: %s %d %s %d %g %s %" PRIu64 "\n", i, listed[i].kind, listed[i].index, listed[i].name,
                   listed[i].has_labels, listed[i].opacity, listed[i].type, listed[i].shape[2]);
    free(listed);
    report_step("hide", pellucid_viewer_layers_hide(viewer, 0, &error));
    report_step("set_opacity", pellucid_viewer_layers_set_opacity(viewer, 1, 0.375, &error));
    report_step("without opacity", pellucid_viewer_layers_set_opacity(viewer, 0, 0.5, &error));
    report_step("beyond", pellucid_viewer_layers_show(viewer, 9, &error));
    report_step("remove", pellucid_viewer_layers_remove(viewer, 2, &error));
}

static void shown(pellucid_viewer *viewer) { report_step("show", pellucid_viewer_layers_show(viewer, 0, &error)); }

static void labels(pellucid_viewer *viewer) {
    static const double red[3] = {1, 0, 0.25}, opacity = 0.5;
    const pellucid_label_color nucleus = {.name = "a \"nucleus\"", .color = red}, faint = {.opacity = &opacity};
    const int64_t hidden[] = {2, 5}, again[] = {5};
    report_step("set", pellucid_viewer_labels_set(viewer, -1, 7, &nucleus, &error));
    report_step("set", pellucid_viewer_labels_set(viewer, 1, 7, &faint, &error));
    report_step("set", pellucid_viewer_labels_set(viewer, 0, 7, &faint, &error));
    report_step("hide", pellucid_viewer_labels_hide(viewer, -1, hidden, 2, &error));
    report_step("show", pellucid_viewer_labels_show(viewer, -1, again, 1, &error));
    report_step("isolate", pellucid_viewer_labels_isolate(viewer, -1, again, 1, &error));
}

static void mask(pellucid_viewer *viewer) {
    const int64_t drawn[] = {0, 5};
    report_step("mask_volume", pellucid_viewer_labels_mask_volume(viewer, -1, drawn, 2, &error));
}

static void whole(pellucid_viewer *viewer) {
    report_step("mask_volume", pellucid_viewer_labels_mask_volume(viewer, -1, NULL, 0, &error));
}

static void all_labels(pellucid_viewer *viewer) {
    report_step("show_all", pellucid_viewer_labels_show_all(viewer, -1, &error));
}

static void paint(pellucid_viewer *viewer) {
    const double path[][3] = {{1, 1, 1}, {1, 1, 3}};
    const int64_t only = 9;
    const pellucid_brush brush = {.radius = 0.5, .axis = 'z'}, eraser = {.radius = 0.5, .only = &only};
    pellucid_label_row *rows;
    size_t count;
    char *csv;
    report_step("paint", pellucid_viewer_labels_paint(viewer, -1, path, 2, 9, &brush, &error));
    report_step("erase", pellucid_viewer_labels_erase(viewer, -1, path, 1, &eraser, &error));
    if (report_step("table", pellucid_viewer_labels_table(viewer, -1, &rows, &count, &error)))
        for (size_t i = 0; i < count; i++)
            printf("label %" PRId64 ": %s %" PRIu64 " %g %g %" PRIu64 "\n", rows[i].label, rows[i].name, rows[i].voxels,
                   rows[i].volume, rows[i].center[0], rows[i].stop[2]);
    free(rows);
    if (report_step("to_csv", pellucid_viewer_labels_to_csv(viewer, -1, &csv, &error)))
        printf("csv: %.*s\n", (int)strcspn(csv, "\r\n"), csv);
    free(csv);
    report_step("save", pellucid_viewer_labels_save(viewer, -1, "corrected.zarr", &error));
}

static const struct {
    const char *name;
    void (*run)(pellucid_viewer *viewer);
} STEPS[] = {{"camera", camera},   {"views", views},   {"probe", probe},   {"transfer", transfer},     {"shading", shading},
             {"layers", layers},   {"shown", shown},   {"labels", labels}, {"all labels", all_labels}, {"paint", paint},
             {"mask", mask},       {"whole", whole}};

/* Wait as a program with other work to do: look at it now and then, until the scheduler knows when it starts. */
static void poll_until_expected(pellucid_pending_viewer *request) {
    pellucid_job_state state = {.phase = ""};
    for (int i = 0; i < 600 && state.expected_start == 0; i++) {
        struct timespec pause = {0, 100000000};
        if (pellucid_pending_viewer_state(request, &state, &error) != PELLUCID_OK)
            return;
        nanosleep(&pause, NULL);
    }
    time_t start = (time_t)state.expected_start;
    char date[32] = "";
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", localtime(&start));
    printf("queued: %s %d %s\nexpected start: %.0f %s\n", state.phase, state.place, state.reason,
           state.expected_start, date);
    fflush(stdout);
}

/* Request a viewer and wait for it. how: "wait", "poll" (in a queue), "stop" (before it starts). */
static int pending(const char *python, const char *how) {
    const pellucid_viewer_options wanted = {.device = "cpu", .name = "later", .python = python, .time_limit_minutes = 5,
                                            .gpus = strcmp(how, "poll") == 0 ? 1 : -1, .memory_bytes = 1 << 29};
    pellucid_pending_viewer *request;
    pellucid_viewer *viewer;
    char *log;
    if (!report_step("start_pending", pellucid_viewer_start_pending(&wanted, NULL, &request, &error)))
        return 1;
    printf("id: %s\n", pellucid_pending_viewer_id(request));
    report_step("look", pellucid_pending_viewer_wait(request, 0, &viewer, &error));
    printf("code: %s\n", pellucid_code_name(error.code));
    if (strcmp(how, "poll") == 0)
        poll_until_expected(request);
    if (strcmp(how, "stop") == 0)
        report_step("shutdown", pellucid_pending_viewer_shutdown(request, &error));
    if (report_step("wait", pellucid_pending_viewer_wait(request, 60, &viewer, &error))) {
        report_step("undo", pellucid_viewer_undo(viewer, &error));
        report_step("end", pellucid_viewer_shutdown(viewer, &error));
        pellucid_viewer_close(viewer);
    }
    if (report_step("log", pellucid_pending_viewer_log(request, &log, &error)))
        free(log);
    pellucid_pending_viewer_close(request);
    return 0;
}

int main(int count, char **arguments) {
    pellucid_viewer *viewer;
    if (count > 2 && strcmp(arguments[1], "pending") == 0)
        return pending(arguments[2], count > 3 ? arguments[3] : "wait");
    if (count != 3 || !report_step("connect", pellucid_viewer_connect(arguments[1], NULL, &viewer, &error)))
        return 1;
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++)
        if (strcmp(STEPS[i].name, arguments[2]) == 0)
            STEPS[i].run(viewer);
    pellucid_viewer_close(viewer);
    return 0;
}
