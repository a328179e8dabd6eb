import { expect, it } from "vitest";
import { panned, WHOLE, zoomedAt } from "./zoom";

const FRAME = { width: 200, height: 100 };

it("keeps what is under the pointer", () => {
  const zoom = zoomedAt(zoomedAt(WHOLE, 2, 50, 25, FRAME), 3, 120, 60, FRAME);
  const before = zoomedAt(WHOLE, 2, 50, 25, FRAME);
  expect((120 - zoom.x) / zoom.scale).toBeCloseTo((120 - before.x) / before.scale);
  expect((60 - zoom.y) / zoom.scale).toBeCloseTo((60 - before.y) / before.scale);
});

it("fills the frame wherever it is moved", () => {
  const zoom = panned(zoomedAt(WHOLE, 4, 0, 0, FRAME), -10_000, 10_000, FRAME);
  expect(zoom).toEqual({ scale: 4, x: -600, y: 0 });
});

it("is never smaller than the frame", () => {
  expect(zoomedAt(zoomedAt(WHOLE, 2, 200, 100, FRAME), 0.1, 0, 0, FRAME)).toEqual(WHOLE);
});
