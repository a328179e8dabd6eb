import { describe, expect, it } from "vitest";
import { inImage, panned, WHOLE, zoomedAt } from "./sliceZoom";

describe("zoom of the slice", () => {
  it("keeps what is under the cursor", () => {
    const zoom = zoomedAt(zoomedAt(WHOLE, 2, 0.3, 0.8), 1.5, 0.3, 0.8);
    expect(zoom.scale).toBe(3);
    expect(inImage(zoom, zoom.x, 0.3)).toBeCloseTo(0.3);
    expect(inImage(zoom, zoom.y, 0.8)).toBeCloseTo(0.8);
  });

  it("never shows anything beside the image", () => {
    const zoom = zoomedAt(WHOLE, 2, 0.5, 0.5);
    expect(panned(zoom, 9, -9)).toEqual({ scale: 2, x: 0, y: -1 });
    expect(zoomedAt(zoom, 0.1, 0, 0)).toEqual({ scale: 1, x: 0, y: 0 });
  });
});
