import { describe, expect, it } from "vitest";
import { cropFrom, range, withRange } from "./region";

describe("the region of a volume", () => {
  it("is a range of rows, or all of them", () => {
    expect(range(3, 9, 12)).toEqual([3, 9]);
    expect(range(9, 3, 12)).toEqual([2, 3]);
    expect(range(-4, 40, 12)).toBeNull();
    expect(range(5, 5, 12, 2)).toEqual([3, 5]);
  });

  it("is a crop of slices, drawn or typed", () => {
    expect(cropFrom(100, 1, 0.8, 0.25, 0.4, 0.5)).toEqual([[25, 50], [40, 80]]);
    expect(cropFrom(100, 1, -1, -1, 2, 2)).toBeNull();
    expect(withRange([[25, 50], [0, 100]], 1, 10, 20, 100)).toEqual([[25, 50], [10, 20]]);
    expect(withRange([[25, 50], [0, 100]], 0, 0, 100, 100)).toBeNull();
  });
});
