import { describe, expect, it } from "vitest";
import type { CrossHair, ErrorMessage, FrameHeader, LayerList, Outgoing, Scene, SceneState, Transform, WorkerStatus } from "../protocol";
import { LAYER, SCENE, STATE, VOLUME } from "../testing/examples";
import { reduce } from "./reducer";
import { BEGINNING, type PageState, type Timing } from "./state";
import { titleOf } from "./title";

const MOVED: Transform = { ...VOLUME.transform, translation: [7, 7, 7] };
const hear = (state: PageState, ...messages: Outgoing[]): PageState => messages.reduce((now, message) => reduce(now, { type: "heard", message, atMs: 0 }), state);
const layers = (name: string, revision: number): LayerList => ({ layers: [{ ...LAYER, name }], points: [], meshes: [], revision, view: "main", type: "layers" });
const scene = (revision: number, shown: Scene = { ...SCENE, volumes: [{ ...VOLUME, transform: MOVED }] }): SceneState => ({ ...STATE, revision, scene: shown });
const paint = (state: PageState, revision: number): PageState =>
  reduce(state, { type: "shown", shown: { header: { revision } as FrameHeader, timing: {} as Timing, framesPerSecond: 1 } });
const nameIn = (state: PageState): string => titleOf(state).layers?.layers[0]?.name ?? "";

const FIRST = paint(hear(BEGINNING, STATE, layers("first", 4)), 4);
const OPENED = hear(FIRST, layers("second", 5), scene(5));
const STOPPED: WorkerStatus = { state: "stopped", what: "", remedy: "", type: "worker" };
const FAILED: ErrorMessage = { what: "", remedy: "", revision: 5, request: "", line: 0, type: "error" };
const CUT: CrossHair = { voxel: [1, 1, 1], layer: 0, by: "", type: "cross_hair" };

describe("the title", () => {
  it("changes with the image, and so does where the volume lies", () => {
    expect([nameIn(FIRST), nameIn(hear(FIRST, layers("second", 5)))]).toEqual(["first", "first"]);
    expect([nameIn(OPENED), titleOf(OPENED).transform]).toEqual(["first", VOLUME.transform]);
    expect(nameIn(paint(OPENED, 4))).toBe("first");
    const painted = paint(OPENED, 5);
    expect([nameIn(painted), titleOf(painted).transform, painted.pendingTitles]).toEqual(["second", MOVED, []]);
  });

  it("is that of each image when files follow faster than images", () => {
    const both = hear(OPENED, layers("third", 6), scene(6));
    expect([nameIn(both), nameIn(paint(both, 5)), nameIn(paint(both, 6))]).toEqual(["first", "second", "third"]);
    expect(titleOf(paint(both, 5)).transform).toEqual(MOVED);
  });

  it("does not wait longer for a stream that changes faster than it is drawn", () => {
    const filling = hear(OPENED, layers("second", 6), scene(6), layers("second", 7), scene(7));
    expect([nameIn(filling), nameIn(paint(filling, 5))]).toEqual(["first", "second"]);
  });

  it("takes new facts of the same file at once", () => {
    const known: LayerList = { ...layers("first", 4), layers: [{ ...LAYER, name: "first", unit: "mm" }] };
    expect(titleOf(hear(FIRST, known)).layers).toBe(known);
  });

  it.each<[string, PageState]>([
    ["an empty scene", hear(FIRST, { ...layers("", 5), layers: [] }, scene(5, { ...SCENE, volumes: [] }))],
    ["an error", hear(OPENED, FAILED)],
    ["a renderer that is given up", hear(OPENED, STOPPED)],
    ["slices that cover the scene", reduce(hear(OPENED, CUT), { type: "interface", change: { layout: "slices" } })],
    ["a slice that covers it already", hear(reduce(hear(FIRST, CUT), { type: "interface", change: { largeSlice: "z" } }), layers("second", 5))],
    ["a connection that is new", hear(FIRST, scene(9), layers("second", 9))],
    ["no image at all", hear(BEGINNING, STATE, layers("second", 5))],
  ])("does not wait where no image comes or is looked at: %s", (_, state) => {
    expect(titleOf(state).layers).toBe(state.layers);
  });
});
