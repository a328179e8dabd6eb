import { expect, test } from "vitest";
import { fitted, inUnit, pixelsOf } from "./paper";

test("centimetres become pixels by the resolution", () => {
  expect(pixelsOf({ width: 8.5, height: 6, unit: "cm", dpi: 300 }, 8192)).toEqual({ width: 1004, height: 709 });
  expect(pixelsOf({ width: 800, height: 600, unit: "px", dpi: 300 }, 640)).toEqual({ width: 640, height: 600 });
});

test("a size keeps its pixels in the other unit", () => {
  const pixels = { width: 1004, height: 709, unit: "px" as const, dpi: 300 };
  const centimetres = inUnit(pixels, "cm");
  expect(centimetres).toMatchObject({ width: 8.5, height: 6, unit: "cm" });
  expect(pixelsOf(inUnit(centimetres, "px"), 8192)).toEqual({ width: 1004, height: 709 });
});

test("a preview has the shape of the image", () => {
  expect(fitted({ width: 4000, height: 1000 }, 400)).toEqual({ width: 400, height: 100 });
  expect(fitted({ width: 40, height: 10 }, 400)).toEqual({ width: 40, height: 10 });
});
