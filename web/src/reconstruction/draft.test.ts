import { expect, test } from "vitest";
import { RECIPE, RINGS, DRAFT } from "../testing/scans";
import { before, besideMiddle, centerRange, changed, leaning, parametersText, slopeOf, previewRequestOf, WHEN_CLEAR, withAxis, withParameters } from "./draft";

test("a slice is compared with itself, without one step", () => {
  expect(before(RECIPE, "rings")).toEqual({ ...RECIPE, rings: { ...RINGS, method: "none" } });
  expect(before(RECIPE, "phase")).toBeNull();
  expect(before(RECIPE, "nothing")).toBeNull();
  expect(before(RECIPE, "filter")?.filter).toBe("ramachandran");
});

test("a projection is of a view, the others of a row", () => {
  expect(previewRequestOf("projection", "/a.h5", DRAFT)?.index).toBe(7);
  expect(previewRequestOf("slice", "/a.h5", DRAFT)?.index).toBe(3);
  expect(previewRequestOf("before", "/a.h5", { ...DRAFT, compare: "nothing" })).toBeNull();
});

test("parameters are read as they were written", () => {
  const other = { ...DRAFT, recipe: { ...RECIPE, center: "auto", filter: "hann" } };
  expect(withParameters(other, parametersText(DRAFT))?.recipe).toEqual(RECIPE);
  expect(withParameters(DRAFT, "no JSON")).toBeNull();
  expect(withParameters(DRAFT, "{}")).toBeNull();
});

test("the axis is moved around where it is, on the detector", () => {
  expect(centerRange(500, 1000)).toEqual([475, 525]);
  expect(centerRange(2, 48)).toEqual([0, 6]);
});

test("an axis that a person moves is theirs", () => {
  const guessed = withAxis(DRAFT, { center: 21.456, slope: 0.01 }, "guessed");
  expect([guessed.recipe.center, guessed.axis]).toEqual([21.46, "guessed"]);
  expect(changed(guessed, { row: 5 }).axis).toBe("guessed");
  expect(changed(guessed, { recipe: { ...guessed.recipe, filter: "hann" } }).axis).toBe("guessed");
  expect(changed(guessed, { recipe: { ...guessed.recipe, center: 22 } }).axis).toBe("chosen");
  expect(changed(DRAFT, { axis: "guessed" }).axis).toBe("guessed");
});

test("an axis that leans is followed, or put upright", () => {
  const found = { center: 21.456, slope: 0.0200001 };
  const tilted = withAxis(leaning(DRAFT, "tilt"), found, "found").recipe;
  expect([tilted.center, tilted.tilt, tilted.roll_deg]).toEqual([21.46, 0.02, 0]);
  const rolled = withAxis(leaning(DRAFT, "roll_deg"), found, "found").recipe;
  expect([rolled.tilt, rolled.roll_deg]).toEqual([0, 1.146]);
  expect(withAxis({ ...DRAFT, recipe: rolled }, { center: 20, slope: 0.5 }, "found").recipe.roll_deg).toBe(1.146);
  expect(slopeOf(tilted)).toBe(0.02);
  expect(slopeOf(rolled)).toBeCloseTo(0.02, 4);
  expect(besideMiddle({ ...RECIPE, tilt: 0.5 }, 0, 11)).toBe(-2.5);
  expect(besideMiddle(rolled, 0, 11)).toBeCloseTo(0); // It is upright by then.
});

test("a tilt is found by the thorough search, not by the quick guess", () => {
  const first = { ...DRAFT, recipe: { ...RECIPE, center: "correlation", tilt: WHEN_CLEAR } };
  expect(previewRequestOf("slice", "/a.h5", first)?.recipe.tilt).toBe(0);
  const guessed = withAxis(first, { center: 21, slope: 0 }, "guessed");
  expect([guessed.recipe.center, guessed.recipe.tilt]).toEqual([21, WHEN_CLEAR]);
  expect(withAxis(guessed, { center: 21.5, slope: 0.02 }, "found").recipe.tilt).toBe(0.02);
});

test("an image is asked for again only where it would be another", () => {
  const other = { ...DRAFT, recipe: { ...RECIPE, tilt: 0.1, method: "sirt", iterations: 7, is_circle: false } };
  for (const place of ["projection", "sinogram"] as const) expect(previewRequestOf(place, "/a.h5", other)).toEqual(previewRequestOf(place, "/a.h5", DRAFT));
  const binned = { ...DRAFT, recipe: { ...RECIPE, binning: 2 } };
  expect(previewRequestOf("sinogram", "/a.h5", binned)).not.toEqual(previewRequestOf("sinogram", "/a.h5", DRAFT));
  expect(previewRequestOf("projection", "/a.h5", binned)).toEqual(previewRequestOf("projection", "/a.h5", DRAFT));
});
