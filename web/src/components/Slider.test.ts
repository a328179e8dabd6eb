import { describe, expect, it } from "vitest";
import { parse } from "./NumberField";
import { fromPlace, snapped, toPlace } from "./Slider";

describe("sliders", () => {
  it.each([false, true])("go there and back (logarithmic: %s)", (isLogarithmic) => {
    expect(fromPlace(toPlace(3, 0.1, 100, isLogarithmic), 0.1, 100, isLogarithmic)).toBeCloseTo(3, 9);
  });
  it("stay at their low end where there is no range", () => expect(toPlace(5, 5, 5, false)).toBe(0));
  it("snap to whole steps from the low end", () => expect([snapped(7.4, 1, 2), snapped(0.123456789, 0, undefined)]).toEqual([7, 0.123457]));
});

describe("typed numbers", () => {
  it.each([
    ["1,5", 1.5],
    [" 2e3 ", 2000],
    ["", Number.NaN],
    ["x", Number.NaN],
  ])("%s is %s", (text, value) => expect(parse(text)).toEqual(value));
});
