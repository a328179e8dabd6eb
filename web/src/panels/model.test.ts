import { expect, test } from "vitest";
import { batches, samplesPerRay, stepFor } from "./model";

test("the batch in use is among those to choose from", () => {
  expect(batches(4096)).toEqual([1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152]);
  expect(batches(1500).slice(0, 3)).toEqual([1024, 1500, 2048]);
});

test("samples per ray and the step say the same", () => {
  expect(samplesPerRay([10, 200, 50], 0.5)).toBe(400);
  expect(stepFor([10, 200, 50], 400)).toBe(0.5);
  expect(stepFor([10, 200, 50], 1e9)).toBe(0.01);
});
