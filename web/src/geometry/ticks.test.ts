import { describe, expect, it } from "vitest";
import { ticks } from "./ticks";

describe("ticks", () => {
  it("are round numbers inside the range", () => {
    expect(ticks(0, 83.47, 5)).toEqual([0, 20, 40, 60, 80]);
    expect(ticks(-1024, 3071, 5)).toEqual([-1000, 0, 1000, 2000, 3000]);
    expect(ticks(0.1, 0.3, 4)).toEqual([0.1, 0.15, 0.2, 0.25, 0.3]);
  });

  it("are at least two and never more steps than asked for, over ranges of all sizes", () => {
    for (let power = -6; power < 7; power += 1) {
      for (const span of [1, 1.7, 3.3, 4.9, 7.7]) {
        const found = ticks(10 ** power, (1 + span) * 10 ** power, 5);
        expect(found.length).toBeGreaterThanOrEqual(2);
        expect(found.length).toBeLessThanOrEqual(6);
      }
    }
  });

  it("of a range that is none are none", () => {
    expect(ticks(3, 3, 5)).toEqual([]);
    expect(ticks(0, Infinity, 5)).toEqual([]);
  });
});
