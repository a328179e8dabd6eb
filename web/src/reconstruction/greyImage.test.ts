import { describe, expect, it } from "vitest";
import type { PreviewHeader } from "../protocol";
import { greyImageOf, percentileWindow, valueAt } from "./greyImage";

const HEADER: PreviewHeader = {
  place: "slice",
  index: 0,
  encoding: "grey16",
  width: 3,
  height: 2,
  low: 0,
  high: 1,
  unit: "1/cm",
  center: null,
  slope: null,
  radius_px: null,
  edge: 3,
  voxels: 1,
  views: 1,
  iterations: 0,
  code_low: -1,
  code_high: 1,
};
/** Behind a byte of a header. */
const packet = new Uint8Array(1 + 12);
new Uint8Array(new Uint16Array([0, 16384, 32768, 49151, 65535, 65535]).buffer).forEach((byte, index) => (packet[index + 1] = byte));
const image = greyImageOf(HEADER, packet.subarray(1));

describe("an image with 16 bits", () => {
  it("has the value of every pixel", () => {
    expect(valueAt(image, 0, 0)).toBe(-1);
    expect(valueAt(image, 0, 1)).toBeCloseTo(0.5, 4);
    expect(valueAt(image, 2, 1)).toBe(1);
    expect(valueAt(image, 3, 0)).toBeNull();
  });

  it("has windows from its percentiles, without what is exactly 0", () => {
    expect(percentileWindow(image, 0)).toEqual([-1, 1]);
    const [low, high] = percentileWindow(image, 25);
    expect(low).toBeCloseTo(-0.5, 4);
    expect(high).toBe(1);
  });
});
