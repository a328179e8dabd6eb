import { expect, test } from "vitest";
import { guessedLayout, neededBytes, rawLocation } from "./raw";

test("the name says shape, type and byte order", () => {
  expect(guessedLayout("foot_512x256x100_int16_be.raw", 512 * 256 * 100 * 2)).toEqual({ shape: [100, 256, 512], dtype: "int16", order: "be", offset: 0 });
});

test("a shape in the name and the size give the type; what is left over is a header", () => {
  expect(guessedLayout("engine_8x4x2.raw", 8 * 4 * 2 * 2)).toMatchObject({ shape: [2, 4, 8], dtype: "uint16", offset: 0 });
  expect(guessedLayout("engine_8x4x2_uint8.raw", 64 + 100)).toMatchObject({ dtype: "uint8", offset: 100 });
});

test("a size alone is a cube, or slices of a usual width", () => {
  expect(guessedLayout("ball.raw", 32 ** 3)).toMatchObject({ shape: [32, 32, 32], dtype: "uint8" });
  expect(guessedLayout("ball.raw", 50 ** 3 * 2)).toMatchObject({ shape: [50, 50, 50], dtype: "uint16" });
  expect(guessedLayout("slices.raw", 70 * 512 * 512)).toMatchObject({ shape: [70, 512, 512], dtype: "uint8", offset: 0 });
});

test.each([1, 7, 999, 123_457, 1_000_003])("a guess of any size (%i bytes) fits", (bytes) => {
  const guess = guessedLayout("x.bin", bytes);
  expect(neededBytes(guess) + guess.offset).toBe(bytes);
});

test("a layout is part of the location", () => {
  expect(rawLocation("/a/b.raw", { shape: [4, 5, 6], dtype: "uint16", order: "be", offset: 12 })).toBe("/a/b.raw:shape=4,5,6,dtype=uint16,order=be,offset=12");
});
