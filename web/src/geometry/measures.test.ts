import { describe, expect, it } from "vitest";
import { binaryBytes, bytes, counted, milliseconds, roundLength, short, unitText, within } from "./measures";

describe("measures", () => {
  it.each([
    [9.99, 5],
    [10, 10],
    [0.0234, 0.02],
    [4999, 2000],
    [0.3, 0.2],
  ])("the scale bar for at most %s is %s long", (limit, expected) => expect(roundLength(limit)).toBeCloseTo(expected, 12));

  it.each([
    [0, "0"],
    [0.1 + 0.2, "0.3"],
    [12345.678, "12345.7"],
    [1234567, "1.23e6"],
    [-0.000012, "-1.20e-5"],
    [Number.NaN, "–"],
  ])("%s is written %s", (value, text) => expect(short(value)).toBe(text));

  it("writes a value in the digits that matter in its range", () => {
    expect(within(127.49999, [0, 255])).toBe("127.5");
    expect(within(0.123456, [0, 0.5])).toBe("0.1235");
  });

  it.each([
    [12, "12 B"],
    [1500, "1.50 kB"],
    [16_777_216, "16.8 MB"],
  ])("%s bytes are %s", (count, text) => expect(bytes(count)).toBe(text));

  it.each([
    [0, "0 B"],
    [27_776, "27.1 KiB"],
    [4 * 2 ** 30, "4.0 GiB"],
    [300 * 2 ** 30, "300 GiB"],
  ])("%s bytes of memory are %s", (count, text) => expect(binaryBytes(count)).toBe(text));

  it("writes micrometres properly", () => expect(unitText("um")).toBe("µm"));
  it("writes short times with a digit", () => expect([milliseconds(0.0123), milliseconds(0.2)]).toEqual(["12.3 ms", "200 ms"]));
});

it("one is singular", () => expect([counted(0, "flat"), counted(1, "flat"), counted(2, "flat")]).toEqual(["0 flats", "1 flat", "2 flats"]));
