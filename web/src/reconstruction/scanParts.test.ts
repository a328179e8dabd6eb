import { describe, expect, it } from "vitest";
import { angleRange, angleText, beforeAndAfter, joined, labelOf, numbered, numberedText } from "./scanParts";

describe("what a scan does not state", () => {
  it("has angles as a range", () => {
    expect(angleRange("0:180")).toEqual({ first: 0, last: 180, isInclusive: false });
    expect(angleRange("-90:90.5:inclusive")).toEqual({ first: -90, last: 90.5, isInclusive: true });
    expect(["", "angles.txt", "/entry/theta", "0:", "1:2:3"].map(angleRange)).toEqual([null, null, null, null, null]);
    expect(["0:180", "-90:90.5:inclusive"].map((text) => angleText(angleRange(text) ?? { first: 0, last: 0, isInclusive: false }))).toEqual(["0:180", "-90:90.5:inclusive"]);
  });

  it("has frames by their number", () => {
    expect(numbered("frames:0:10")).toEqual([0, 9]);
    expect(numbered("/entry/flats")).toBeNull();
    expect(numberedText(9, 0)).toBe("frames:0:10");
  });

  it("has flats before and after", () => {
    expect(beforeAndAfter("a;b")).toEqual(["a", "b"]);
    expect(joined("a", "")).toBe("a");
    expect(joined(...beforeAndAfter("a;b"))).toBe("a;b");
  });

  it("names files without patterns and folders", () => {
    expect(labelOf({ name: "raw_[0-9]*.tif", shape: [91, 135, 160] }, false)).toBe("raw_*.tif  (91 × 135 × 160)");
    expect(labelOf({ name: "/a/b/stage.log", shape: [3] }, true)).toBe("stage.log  (3)");
  });
});
