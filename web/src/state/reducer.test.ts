import { describe, expect, it } from "vitest";
import type { CrossHair, FrameHeader, LayerList, Progress, Reconstructions, TaskStatus, Welcome } from "../protocol";
import { LAYER, SCENE, STATE, VOLUME } from "../testing/examples";
import { DRAFT } from "../testing/scans";
import { reduce } from "./reducer";
import { canControl, imageState, sceneOf } from "./selectors";
import { BEGINNING, type PageState, type Timing } from "./state";

const hear = (state: PageState, message: Parameters<typeof reduce>[1] & { type: "heard" }): PageState => reduce(state, message);
const OPEN = hear(BEGINNING, { type: "heard", message: STATE, atMs: 0 });
const AMBIENT = { path: ["light", "ambient"], value: 0.9 };
const RUNNING: Progress = { task: "7", name: "movie", done: 1, total: 4, unit: "frames", state: "running", seconds_left: null, url: "", note: "", type: "progress" };
const layers = (name: string, view: "main" | "other"): LayerList => ({ layers: [{ ...LAYER, name }], points: [], meshes: [], revision: 0, view, type: "layers" });
const nameIn = (state: PageState): string | undefined => state.layers?.layers[0]?.name;

describe("the state", () => {
  it("takes the first camera from the instance, and keeps its own afterwards", () => {
    expect(OPEN.camera).toEqual(SCENE.camera);
    const camera = { ...SCENE.camera, height: 9 };
    const turned = reduce(OPEN, { type: "set_camera", camera });
    expect(hear(turned, { type: "heard", message: { ...STATE, revision: 5 }, atMs: 0 }).camera).toBe(camera);
  });

  it("goes on with what was set up for a scan, on a page that was just opened", () => {
    const status: TaskStatus = { task: "7", state: "running", done: 1, total: 4, url: "", what: "", remedy: "", note: "", seconds: 0 };
    const run = { scan: "/a.h5", output: "/a.zarr", is_watched: true, status };
    const message: Reconstructions = { open: "/a.h5", drafts: [{ scan: "/a.h5", draft: DRAFT }], runs: [run], type: "reconstructions" };
    const first = hear(BEGINNING, { type: "heard", message, atMs: 0 });
    expect([first.interface.scan, first.drafts["/a.h5"], first.runs["/a.h5"]?.isOver]).toEqual(["/a.h5", DRAFT, false]);
    const ended: Reconstructions = { ...message, runs: [{ ...run, status: { ...status, state: "finished" } }] };
    const later = hear(OPEN, { type: "heard", message: ended, atMs: 0 });
    expect([later.interface.scan, later.drafts, later.runs["/a.h5"]?.status?.state]).toEqual(["", {}, "finished"]);
  });

  it("ignores a cross-hair that this page sent itself", () => {
    const known = { ...OPEN, welcome: { client: "me" } as Welcome };
    const mine: CrossHair = { voxel: [1, 2, 3], layer: 0, by: "me", type: "cross_hair" };
    const cut = reduce(known, { type: "cut", crossHair: { ...mine, voxel: [4, 5, 6] } });
    expect(hear(cut, { type: "heard", message: mine, atMs: 0 }).crossHair?.voxel).toEqual([4, 5, 6]);
    expect(hear(cut, { type: "heard", message: { ...mine, by: "you" }, atMs: 0 }).crossHair?.voxel).toEqual([1, 2, 3]);
    expect(hear(cut, { type: "heard", message: { ...mine, by: "" }, atMs: 0 }).crossHair?.voxel).toEqual([1, 2, 3]);
  });

  it("describes the scene that is edited, where two are side by side", () => {
    const both = [{ ...STATE, other: SCENE }, layers("now.npy", "main"), layers("before.npy", "other")].reduce<PageState>((state, message) => hear(state, { type: "heard", message, atMs: 0 }), OPEN);
    expect(nameIn(both)).toBe("now.npy");
    const edited = reduce(both, { type: "interface", change: { editedView: "other" } });
    expect(nameIn(edited)).toBe("before.npy");
    expect(nameIn(reduce(edited, { type: "interface", change: { editedView: "main" } }))).toBe("now.npy");
  });

  it("looks anew at another volume", () => {
    const scene = { ...SCENE, volumes: [{ ...VOLUME, source: "other.h5" }], camera: { ...SCENE.camera, height: 7 } };
    const next = hear(OPEN, { type: "heard", message: { ...STATE, scene }, atMs: 0 });
    expect(next.camera?.height).toBe(7);
  });

  it("shows changes before they are answered", () => {
    const queued = reduce(OPEN, { type: "queue", changes: [AMBIENT] });
    expect(sceneOf(queued)?.light.ambient).toBe(0.9);
    const sent = reduce(queued, { type: "send", request: "patch-1" });
    expect([sent.sent, sent.queued]).toEqual([[AMBIENT], []]);
    expect(sceneOf(sent)?.light.ambient).toBe(0.9);
    expect(sceneOf(hear(sent, { type: "heard", message: { ...STATE, request: "other" }, atMs: 0 }))?.light.ambient).toBe(0.9);
    expect(sceneOf(hear(sent, { type: "heard", message: { ...STATE, request: "patch-1" }, atMs: 0 }))?.light.ambient).toBe(0.25);
  });

  it("puts changes that were refused for their revision before newer ones", () => {
    const sent = reduce(reduce(OPEN, { type: "queue", changes: [AMBIENT] }), { type: "send", request: "patch-1" });
    const more = reduce(sent, { type: "queue", changes: [{ path: ["step"], value: 1 }] });
    expect(reduce(more, { type: "resend" }).queued.map((one) => one.path[0])).toEqual(["light", "step"]);
  });

  it("gives the same scene while nothing changes", () => expect(sceneOf(OPEN)).toBe(sceneOf({ ...OPEN })));

  it("chooses another layer when the chosen one is gone", () => {
    const chosen = reduce(OPEN, { type: "interface", change: { chosen: { kind: "volumes", index: 3 } } });
    expect(hear(chosen, { type: "heard", message: STATE, atMs: 0 }).interface.chosen).toEqual({ kind: "volumes", index: 0 });
  });

  it("forgets a task that ended without a result, and keeps one with a result", () => {
    const running = hear(OPEN, { type: "heard", message: RUNNING, atMs: 0 });
    expect(Object.keys(running.tasks)).toEqual(["7"]);
    expect(hear(running, { type: "heard", message: { ...RUNNING, state: "stopped" }, atMs: 0 }).tasks).toEqual({});
    const done = hear(running, { type: "heard", message: { ...RUNNING, state: "finished", url: "api/tasks/7/result" }, atMs: 0 });
    expect(done.tasks["7"]?.url).toBe("api/tasks/7/result");
  });

  it("says the same thing once", () => {
    const notice = { id: 1, tone: "error" as const, what: "No.", remedy: "", link: "", opens: "" };
    const twice = reduce(reduce(OPEN, { type: "notice", notice }), { type: "notice", notice: { ...notice, id: 2 } });
    expect(twice.notices.map((one) => one.id)).toEqual([2]);
  });

  it("keeps the points of a measure until another file is opened", () => {
    const begun = reduce(OPEN, { type: "measure-points", points: [[0, 0, 0]] });
    expect(hear(begun, { type: "heard", message: STATE, atMs: 0 }).measurePoints).toEqual([[0, 0, 0]]);
    const other = { ...STATE, scene: { ...STATE.scene, volumes: STATE.scene.volumes.map((one) => ({ ...one, source: "other.npy" })) } };
    expect(hear(begun, { type: "heard", message: other, atMs: 0 }).measurePoints).toEqual([]);
  });

  it("knows how the image stands to what is wanted", () => {
    const header = { revision: 4, camera: SCENE.camera, is_exact: true } as FrameHeader;
    const shown = reduce(OPEN, { type: "shown", shown: { header, timing: {} as Timing, framesPerSecond: 1 } });
    expect(imageState(OPEN)).toBe("");
    expect(imageState(shown)).toBe("exact");
    expect(imageState(reduce(shown, { type: "set_camera", camera: { ...SCENE.camera, height: 3 } }))).toBe("moving");
    expect(imageState(reduce(shown, { type: "queue", changes: [AMBIENT] }))).toBe("rendering…");
    expect(imageState(hear(shown, { type: "heard", message: { ...STATE, revision: 5 }, atMs: 0 }))).toBe("rendering…");
  });

  it("knows who may control the view", () => {
    const welcome = { client: "a", capability: "control" } as Welcome;
    const controls = { clients: [], holder: "b", asking: [], type: "controls" as const };
    expect(canControl({ ...OPEN, welcome })).toBe(true);
    expect(canControl({ ...OPEN, welcome, controls })).toBe(false);
    expect(canControl({ ...OPEN, welcome, controls: { ...controls, holder: "a" } })).toBe(true);
    expect(canControl({ ...OPEN, welcome: { ...welcome, capability: "view" } })).toBe(false);
  });

  it("knows that a reconstruction has ended, but not how", () => {
    const run = { task: "7", output: "/a.zarr", isWatched: true, isOver: false, status: null };
    const started = reduce(OPEN, { type: "run", scan: "/a.h5", run });
    const heard = hear(started, { type: "heard", message: RUNNING, atMs: 0 });
    expect(heard.runs["/a.h5"]).toEqual(run);
    expect(hear(heard, { type: "heard", message: { ...RUNNING, state: "stopped" }, atMs: 0 }).runs["/a.h5"]).toEqual({ ...run, isOver: true });
  });
});
