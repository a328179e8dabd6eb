import { describe, expect, it } from "vitest";
import type { DenoisingRegion, DenoisingStatus, ScanDescription } from "../protocol";
import { errorText, firstDenoising, rectangleOf, regionOf, stageOf, withRegion } from "./draft";

const STATUS = {
  stage: "Reconstructing",
  step: 40,
  steps: 200,
  is_training: false,
  validations: [],
  status: { task: "a", state: "running", done: 0, total: null, url: "", what: "", remedy: "", note: "" },
} as unknown as DenoisingStatus;

describe("regions of a slice", () => {
  it("are some slices, in voxels, whatever way they were drawn", () => {
    const region = regionOf("air", { left: 0.5, top: 0.75, right: 0.25, bottom: 0.5 }, 100, 2, 60);
    expect(region).toEqual({ name: "air", start: [0, 50, 25], stop: [7, 75, 50] });
    expect(rectangleOf(region as DenoisingRegion, 100)).toEqual({ left: 0.25, top: 0.5, right: 0.5, bottom: 0.75 });
  });
  it("end with the volume", () => {
    expect(regionOf("air", { left: -1, top: 0, right: 0.5, bottom: 2 }, 100, 58, 60)).toEqual({ name: "air", start: [54, 0, 0], stop: [60, 100, 50] });
  });
  it("are not made by a click", () => {
    expect(regionOf("air", { left: 0.5, top: 0.5, right: 0.5, bottom: 0.5 }, 100, 2, 60)).toBeNull();
  });
  it("replace what was drawn before under the same name", () => {
    const [first, second] = [regionOf("air", { left: 0, top: 0, right: 1, bottom: 1 }, 10, 0, 1), regionOf("air", { left: 0, top: 0, right: 0.5, bottom: 1 }, 10, 0, 1)];
    expect(withRegion([first as DenoisingRegion], second as DenoisingRegion)).toEqual([second]);
  });
});

it("the output is beside that of the reconstruction", () => {
  expect(firstDenoising({ output: "/data/b.1/scan.zarr" } as ScanDescription).output).toBe("/data/b.1/scan-clean.zarr");
});

it("a run says what it does", () => {
  expect(stageOf(STATUS)).toBe("Reconstructing…");
  expect(stageOf({ ...STATUS, is_training: true })).toBe("Training: step 40 of 200");
  expect(stageOf({ ...STATUS, stage: "" })).toBe("Starting…");
  expect(stageOf({ ...STATUS, status: { ...STATUS.status, note: "Waiting in the queue" } })).toBe("Waiting in the queue");
  expect(errorText(STATUS)).toBe("");
  expect(errorText({ ...STATUS, validations: [{ step: 40, error: 0.5, error_before: 2 }] })).toMatch(/2 before, 0.5 after/);
});
