import { expect, it } from "vitest";
import { letterOf } from "./directions";

const STANDING = { scale: [1, 1, 1], rotation_deg: [0, 0, 0], translation: [0, 0, 0] } as const;

it("names the sides of a patient, and the axes where there is none", () => {
  expect(letterOf([1, 0, 0], STANDING, "LPS")).toEqual({ ahead: "L", behind: "R" });
  expect(letterOf([0, 0, -4], STANDING, "RAS")).toEqual({ ahead: "I", behind: "S" });
  expect(letterOf([0, 1, 0], STANDING, "")).toEqual({ ahead: "y", behind: "" });
});

it("follows a volume that is mirrored or turned", () => {
  // LAS stands mirrored; RAS with this scale was reversed by a user, who says that its x runs to the left.
  expect(letterOf([1, 0, 0], { ...STANDING, scale: [-1, 1, 1] }, "LAS").ahead).toBe("R");
  expect(letterOf([1, 0, 0], { ...STANDING, scale: [-1, 1, 1] }, "RAS").ahead).toBe("R");
  expect(letterOf([0, 1, 0], { ...STANDING, rotation_deg: [0, 0, 90] }, "RAS").ahead).toBe("R");
});

it("has two letters for what runs aslant", () => expect(letterOf([1, 1, 0], STANDING, "RAS")).toEqual({ ahead: "RA", behind: "LP" }));
