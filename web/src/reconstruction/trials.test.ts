import { beforeEach, expect, test, vi } from "vitest";
import type { FoundAxis, TrialRequest } from "../protocol";
import { RECIPE, WISH } from "../testing/scans";
import { TrialStore } from "./trials";
import type { Trial } from "./trier";

let asked: TrialRequest[];
let axes: FoundAxis[];
let store: TrialStore;

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  axes = [];
  const fetch = (request: TrialRequest): Promise<Trial> => {
    asked.push(request);
    return Promise.resolve({ header: { center: 21.5, slope: 0, low: 0, high: 2 }, picture: {}, isExact: true } as Trial);
  };
  store = new TrialStore("/a.h5", { client: "me", edge: 512 }, (axis) => axes.push(axis), fetch);
});

const places = (): string[] => asked.map(({ place, is_moving }) => place + (is_moving ? "~" : ""));

test("moving the axis asks for the slice alone, and for what it is compared with", async () => {
  store.show(WISH, "me");
  await vi.advanceTimersByTimeAsync(300);
  asked = [];
  store.show({ ...WISH, recipe: { ...RECIPE, center: 23 } }, "me");
  await vi.advanceTimersByTimeAsync(300);
  expect(places()).toEqual(["slice~", "before~", "slice", "before"]);
  expect(asked.at(-1)).toMatchObject({ window: [0, 2], client: "me", recipe: { center: 23, rings: { method: "none" } } });
});

test("another row asks for everything but the projection", async () => {
  store.show({ ...WISH, compare: "nothing" }, "me");
  await vi.advanceTimersByTimeAsync(300);
  asked = [];
  store.show({ ...WISH, compare: "nothing", row: 4 }, "me");
  await vi.advanceTimersByTimeAsync(300);
  expect(places()).toEqual(["sinogram", "slice~", "slice"]);
});

test("an axis that was looked for is told", async () => {
  store.show({ ...WISH, recipe: { ...RECIPE, center: "correlation" } }, "me");
  await vi.advanceTimersByTimeAsync(0);
  expect(axes).toEqual([{ center: 21.5, slope: 0 }]);
});

test("everything is asked for again when the line was lost", async () => {
  store.show({ ...WISH, compare: "nothing" }, "me");
  await vi.advanceTimersByTimeAsync(300);
  asked = [];
  store.show({ ...WISH, compare: "nothing" }, "me, anew");
  await vi.advanceTimersByTimeAsync(300);
  expect(places()).toEqual(["projection", "sinogram", "slice~", "slice"]);
  expect(asked.every(({ client }) => client === "me, anew")).toBe(true);
});
