import { describe, expect, it } from "vitest";
import type { Camera } from "../protocol";
import { alongLine, axesOf, centred, lookingFromNext, moved, project, rayThrough, scaleAt, turned, visibleHeight, withPerspective, zoomed } from "./camera";
import { distance } from "./vector";

const AHEAD: Camera = { position: [0, 0, 4], target: [0, 0, 0], up: [0, 1, 0], field_of_view_deg: 30, height: 2 };
const PARALLEL: Camera = { ...AHEAD, field_of_view_deg: null };

describe("camera", () => {
  it("turns a quarter to the right", () => {
    const { position } = turned(AHEAD, Math.PI / 2, 0);
    expect(distance(position, [4, 0, 0])).toBeLessThan(1e-9);
  });

  it("stops short of the pole, and keeps its distance", () => {
    const camera = turned(AHEAD, 0, 3);
    expect(Math.asin(camera.position[1] / 4)).toBeCloseTo(1.55, 9);
    expect(distance(camera.position, camera.target)).toBeCloseTo(4, 9);
  });

  it("moves what is at the target with the pointer", () => {
    const camera = moved(AHEAD, 0.25, 0.1);
    const place = project(camera, [0, 0, 0], 1);
    expect(place.x).toBeCloseTo(0.75, 9);
    expect(place.y).toBeCloseTo(0.6, 9);
  });

  it("zooms about the place under the pointer", () => {
    const before = rayThrough(AHEAD, 0.8, 0.3, 2);
    const reach = 4 / -before.direction[2];
    const hit = before.direction.map((one, axis) => one * reach + (AHEAD.position[axis] ?? 0)) as [number, number, number];
    const camera = zoomed(AHEAD, 0.5, (0.8 - 0.5) * 2, 0.5 - 0.3);
    const place = project(camera, hit, 2);
    expect(place.x).toBeCloseTo(0.8, 9);
    expect(place.y).toBeCloseTo(0.3, 9);
    expect(visibleHeight(camera)).toBeCloseTo(visibleHeight(AHEAD) / 2, 9);
  });

  it.each([AHEAD, PARALLEL])("projects a point onto the ray that goes through it", (camera) => {
    const place = project(camera, [0.3, 0.2, 1], 1.5);
    const { origin, direction } = rayThrough(camera, place.x, place.y, 1.5);
    const reach = (1 - origin[2]) / direction[2];
    expect(origin[0] + direction[0] * reach).toBeCloseTo(0.3, 9);
    expect(origin[1] + direction[1] * reach).toBeCloseTo(0.2, 9);
  });

  it("centres on a point without turning", () => {
    const camera = centred(AHEAD, [1, 2, -3]);
    expect(camera.target).toEqual([1, 2, -3]);
    expect(camera.position).toEqual([1, 2, 1]);
  });

  it("looks from the ends of an axis in turn", () => {
    const right = lookingFromNext(AHEAD, 0);
    expect(distance(right.position, [4, 0, 0])).toBeLessThan(1e-9);
    expect(distance(lookingFromNext(right, 0).position, [-4, 0, 0])).toBeLessThan(1e-9);
    const above = lookingFromNext(AHEAD, 1);
    expect(above.position[1]).toBeCloseTo(4, 4);
    expect(axesOf(above).up[2]).toBeCloseTo(-1, 4);
    expect(axesOf(lookingFromNext({ ...AHEAD, position: [4, 0, 0], up: [0, 0, 1] }, 2)).up[1]).toBeCloseTo(1, 4);
  });

  it("shows the target at the same size in parallel and in perspective", () => {
    const parallel = withPerspective(AHEAD, null);
    expect(visibleHeight(parallel)).toBeCloseTo(visibleHeight(AHEAD), 9);
    expect(visibleHeight(withPerspective(parallel, 50))).toBeCloseTo(visibleHeight(AHEAD), 9);
  });

  it("finds the place on a line nearest to a ray", () => {
    const place = project(AHEAD, [0.6, 0, 0], 1);
    expect(alongLine(rayThrough(AHEAD, place.x, place.y, 1), [0, 0, 0], [1, 0, 0])).toBeCloseTo(0.6, 9);
    expect(alongLine(rayThrough(AHEAD, 0.5, 0.5, 1), [0, 0, 0], [0, 0, 1])).toBeNull();
  });

  it("knows how large an image height is where something stands", () => {
    expect(scaleAt(AHEAD, [0, 0, 0])).toBeCloseTo(visibleHeight(AHEAD), 9);
    expect(scaleAt(AHEAD, [0, 0, 2])).toBeCloseTo(visibleHeight(AHEAD) / 2, 9);
  });
});
