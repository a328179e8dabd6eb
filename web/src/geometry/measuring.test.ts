import { expect, it } from "vitest";
import type { Measure } from "../protocol";
import { hintFor, linesOf, sizeOf } from "./measuring";

const measure = (kind: Measure["kind"], points: Measure["points"]): Pick<Measure, "kind" | "points"> => ({ kind, points });

it("measures lengths, angles and areas as the instance does", () => {
  expect(sizeOf(measure("distance", [[0, 0, 0], [0, 3, 4]])).length).toBe(5);
  expect(sizeOf(measure("polyline", [[0, 0, 0], [1, 0, 0], [1, 2, 0]])).length).toBe(3);
  expect(sizeOf(measure("angle", [[1, 0, 0], [0, 0, 0], [0, 0, 5]])).angleDeg).toBe(90);
  expect(sizeOf(measure("area", [[0, 0, 0], [2, 0, 0], [2, 0, 3], [0, 0, 3]])).area).toBe(6);
  expect(sizeOf(measure("note", [[0, 0, 0]]))).toEqual({ length: null, angleDeg: null, area: null });
});

it("draws a box by its twelve edges, along the axes of its layer", () => {
  const edges = linesOf(measure("box", [[0, 0, 0], [1, 2, 3]]), null);
  expect(edges.length).toBe(12);
  const total = edges.reduce((sum, [a, b]) => sum + Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), 0);
  expect(total).toBeCloseTo(4 * (1 + 2 + 3));
  const turned = linesOf(measure("box", [[0, 0, 0], [1, 2, 0]]), { scale: [1, 1, 1], rotation_deg: [0, 0, 45], translation: [0, 0, 0] });
  const ends = turned.flat().map((point) => point.map((one) => Math.round(one * 1e6) / 1e6).join());
  expect(ends).toContain("1,2,0");
  expect(ends).toContain("1.5,1.5,0");
});

it("closes an area, and says what to click", () => {
  expect(linesOf(measure("area", [[0, 0, 0], [1, 0, 0], [1, 1, 0]]), null).length).toBe(3);
  expect(hintFor("angle", 1)).toBe("Click the corner.");
  expect(hintFor("polyline", 9)).toBe("Click the next point, or press Enter to finish.");
});
