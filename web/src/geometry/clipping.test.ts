import { describe, expect, it } from "vitest";
import { SCENE, LAYER, VOLUME } from "../testing/examples";
import { wholeOf } from "./extent";
import { project, rayThrough } from "./camera";
import { corners, dragged, faces, withFace } from "./clipping";
import { add, scale } from "./vector";

const CAMERA = { ...SCENE.camera, position: [60, 80, 120] as const, target: [15, 20, 15] as const };

describe("the clipping box", () => {
  it("has eight corners and six faces", () => {
    const found = corners(LAYER, VOLUME.transform, null);
    expect([found[0], found[7]]).toEqual([[-0.5, -1, -1.5], [29.5, 39, 28.5]]);
    const [low, high] = faces(LAYER, VOLUME.transform, null);
    expect([low?.centre, high?.centre]).toEqual([[-0.5, 19, 13.5], [29.5, 19, 13.5]]);
  });

  it("follows the pointer by whole voxels", () => {
    const box = wholeOf(LAYER);
    const face = faces(LAYER, VOLUME.transform, box)[1];
    if (!face) throw new Error("a box has faces");
    const place = project(CAMERA, add(face.centre, scale(face.direction, -4.2)), 1);
    expect(dragged(LAYER, VOLUME.transform, box, face, rayThrough(CAMERA, place.x, place.y, 1)).stop).toEqual([10, 20, 26]);
  });

  it("keeps at least one voxel, and stays inside", () => {
    const box = { start: [4, 0, 0] as const, stop: [8, 20, 30] as const };
    expect(withFace(LAYER, box, 0, true, 2).stop[0]).toBe(5);
    expect(withFace(LAYER, box, 0, false, 99).start[0]).toBe(7);
    expect(withFace(LAYER, box, 0, true, 99).stop[0]).toBe(10);
  });
});
