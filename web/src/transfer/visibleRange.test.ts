import { describe, expect, it } from "vitest";
import { TRANSFER } from "../testing/examples";
import { visibleOpacities, visibleRange } from "./visibleRange";

const POINTS = { ...TRANSFER, opacities: [[0, 1]] as [number, number][], value_range: [10, 20] as [number, number] };

describe("the values that are shown", () => {
  it("are all at first", () => expect(visibleRange(POINTS)).toEqual([10, 20]));

  it.each([
    [12, 18],
    [10, 15],
    [15, 20],
    [10, 20],
  ])("are those from %s to %s when that is chosen, also where the way to the colours is bent", (from, to) => {
    for (const gamma of [1, 2.2]) {
      const bent = { ...POINTS, gamma };
      const [low, high] = visibleRange({ ...bent, opacities: visibleOpacities(bent, from, to) });
      expect([low, high].map((one) => Number(one.toFixed(9)))).toEqual([from, to]);
    }
  });

  it("have steps at their ends", () => expect(visibleOpacities(POINTS, 12, 18)).toEqual([[0, 0], [0.2, 0], [0.2, 1], [0.8, 1], [0.8, 0], [1, 0]]));
  it("are none where nothing is opaque", () => expect(visibleRange({ ...POINTS, opacities: [[0, 0]] })).toEqual([10, 10]));
});
