import { expect, it } from "vitest";
import { shifted } from "./ColorBar";

it("moves one end of the window, or all of it", () => {
  expect(shifted([10, 20], "low", 3, 100)).toEqual([13, 20]);
  expect(shifted([10, 20], "high", 3, 100)).toEqual([10, 23]);
  expect(shifted([10, 20], "middle", 3, 100)).toEqual([13, 23]);
});

it("never closes the window", () => {
  expect(shifted([10, 20], "low", 50, 100)).toEqual([19.8, 20]);
  expect(shifted([10, 20], "high", -50, 100)).toEqual([10, 10.2]);
});
