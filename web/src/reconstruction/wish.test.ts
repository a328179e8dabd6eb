import { expect, test } from "vitest";
import { RECIPE, RINGS, WISH } from "../testing/scans";
import { before, centerRange, changed, parametersText, trialOf, withAxis, withParameters } from "./wish";

test("a slice is compared with itself, without one step", () => {
  expect(before(RECIPE, "rings")).toEqual({ ...RECIPE, rings: { ...RINGS, method: "none" } });
  expect(before(RECIPE, "phase")).toBeNull();
  expect(before(RECIPE, "nothing")).toBeNull();
  expect(before(RECIPE, "filter")?.filter).toBe("ramachandran");
});

test("a projection is of a view, the others of a row", () => {
  expect(trialOf("projection", "/a.h5", WISH)?.index).toBe(7);
  expect(trialOf("slice", "/a.h5", WISH)?.index).toBe(3);
  expect(trialOf("before", "/a.h5", { ...WISH, compare: "nothing" })).toBeNull();
});

test("parameters are read as they were written", () => {
  const other = { ...WISH, recipe: { ...RECIPE, center: "auto", filter: "hann" } };
  expect(withParameters(other, parametersText(WISH))?.recipe).toEqual(RECIPE);
  expect(withParameters(WISH, "no JSON")).toBeNull();
  expect(withParameters(WISH, "{}")).toBeNull();
});

test("the axis is moved around where it is, on the detector", () => {
  expect(centerRange(500, 1000)).toEqual([475, 525]);
  expect(centerRange(2, 48)).toEqual([0, 6]);
});

test("an axis that a person moves is theirs", () => {
  const guessed = withAxis(WISH, 21.456, "guessed");
  expect([guessed.recipe.center, guessed.axis]).toEqual([21.46, "guessed"]);
  expect(changed(guessed, { row: 5 }).axis).toBe("guessed");
  expect(changed(guessed, { recipe: { ...guessed.recipe, filter: "hann" } }).axis).toBe("guessed");
  expect(changed(guessed, { recipe: { ...guessed.recipe, center: 22 } }).axis).toBe("chosen");
  expect(changed(WISH, { axis: "guessed" }).axis).toBe("guessed");
});
