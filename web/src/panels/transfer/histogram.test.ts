import { describe, expect, it } from "vitest";
import { countAt, nearDomain, outline, wholeDomain } from "./histogram";

const HISTOGRAM = { low: 0, high: 4, counts: [100, 8, 4, 0] };

describe("the histogram", () => {
  it("is a closed shape of steps", () => {
    const path = outline(HISTOGRAM, [0, 4], true);
    expect(path.startsWith("M0.00000 1L0.00000 0.0400L0.25000 0.0400")).toBe(true);
    expect(path.endsWith("L1.00000 1Z")).toBe(true);
  });

  it("does not let one bin flatten the others", () => {
    expect(outline(HISTOGRAM, [0, 4], false)).toContain(`L0.25000 ${(1 - 0.8 * 0.96).toFixed(4)}`);
  });

  it("shows only what is in sight, as large as it can", () => {
    expect(outline(HISTOGRAM, [1, 3], true)).toContain("L0.00000 0.0400L0.50000 0.0400");
  });

  it("is nothing where nothing was counted", () => expect(outline({ ...HISTOGRAM, counts: [0, 0] }, [0, 4], true)).toBe(""));
  it("says how many voxels have about a value", () => {
    expect([0, 0.99, 1, 2.5, 4].map((value) => countAt(HISTOGRAM, value))).toEqual([100, 100, 8, 4, 0]);
    expect([-0.1, 4.1].map((value) => countAt(HISTOGRAM, value))).toEqual([null, null]);
  });
  it("reaches as far as the window", () => expect(wholeDomain(HISTOGRAM, [-1, 2])).toEqual([-1, 4]));
  it("leaves a margin around the window", () => expect(nearDomain([0, 100])).toEqual([-8, 108]));
});
