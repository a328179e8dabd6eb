import { beforeEach, expect, test, vi } from "vitest";
import type { AxisResult, PreviewRequest } from "../protocol";
import { RECIPE, DRAFT } from "../testing/scans";
import { PreviewStore } from "./previewStore";
import type { Preview } from "./previewQueue";

let requests: PreviewRequest[];
let axes: AxisResult[];
let store: PreviewStore;

beforeEach(() => {
  vi.useFakeTimers();
  requests = [];
  axes = [];
  const fetch = (request: PreviewRequest): Promise<Preview> => {
    requests.push(request);
    return Promise.resolve({ header: { center: 21.5, slope: 0, low: 0, high: 2 }, image: {}, isExact: true } as Preview);
  };
  store = new PreviewStore("/a.h5", { client: "me", edge: 512 }, (axis) => axes.push(axis), fetch);
});

const places = (): string[] => requests.map(({ place, is_moving }) => place + (is_moving ? "~" : ""));

test("moving the axis asks for the slice alone, and for what it is compared with", async () => {
  store.show(DRAFT, "me");
  await vi.advanceTimersByTimeAsync(300);
  requests = [];
  store.show({ ...DRAFT, recipe: { ...RECIPE, center: 23 } }, "me");
  await vi.advanceTimersByTimeAsync(300);
  expect(places()).toEqual(["slice~", "before~", "slice", "before"]);
  expect(requests.at(-1)).toMatchObject({ window: [0, 2], client: "me", recipe: { center: 23, rings: { method: "none" } } });
});

test("another row asks for everything but the projection", async () => {
  store.show({ ...DRAFT, compare: "nothing" }, "me");
  await vi.advanceTimersByTimeAsync(300);
  requests = [];
  store.show({ ...DRAFT, compare: "nothing", row: 4 }, "me");
  await vi.advanceTimersByTimeAsync(300);
  expect(places()).toEqual(["sinogram", "slice~", "slice"]);
});

test("an axis that was searched for is reported", async () => {
  store.show({ ...DRAFT, recipe: { ...RECIPE, center: "correlation" } }, "me");
  await vi.advanceTimersByTimeAsync(0);
  expect(axes).toEqual([{ center: 21.5, slope: 0 }]);
});

test("everything is requested again when the connection was lost", async () => {
  store.show({ ...DRAFT, compare: "nothing" }, "me");
  await vi.advanceTimersByTimeAsync(300);
  requests = [];
  store.show({ ...DRAFT, compare: "nothing" }, "me, anew");
  await vi.advanceTimersByTimeAsync(300);
  expect(places()).toEqual(["projection", "sinogram", "slice~", "slice"]);
  expect(requests.every(({ client }) => client === "me, anew")).toBe(true);
});
