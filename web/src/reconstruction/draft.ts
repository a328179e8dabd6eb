// The draft of a reconstruction. Here: the draft as one value, and what follows from it. Not here: asking for it.

import type { AxisOrigin, ComparedStep, AxisResult, Recipe, ReconstructionRequest, ScanDescription, ScanOptions, PreviewPosition, PreviewRequest, ReconstructionDraft } from "../protocol";

export const NO_OPTIONS: ScanOptions = { projections: "", flats: "", darks: "", angles: "", pixel_size_um: null, is_repaired: true };

/** The method for the first axis: quick, and seldom far off. */
const QUICK = "correlation";

/** The first draft for a scan: its middle. */
export function firstDraft(scan: ScanDescription, options: ScanOptions): ReconstructionDraft {
  return { options, recipe: { ...scan.recipe, center: QUICK }, axis: "guessed", row: Math.floor(scan.rows / 2), view: 0, compare: "nothing", output: scan.output, is_replaced: false, is_watched: true, rows: null, crop: null };
}

/** A changed draft. An axis that the user moves is not searched for again. */
export function changed(draft: ReconstructionDraft, part: Partial<ReconstructionDraft>): ReconstructionDraft {
  const isMoved = part.recipe !== undefined && part.recipe.center !== draft.recipe.center;
  return { ...draft, axis: isMoved ? "chosen" : draft.axis, ...part };
}

/** How a tilted axis is corrected: followed from row to row, or by rotating the detector. */
export type Leaning = "tilt" | "roll_deg";

/** A tilt that is measured with the axis, and corrected if it is significant. */
export const WHEN_CLEAR = "when-clear";

/** A draft with an axis that was looked for, rounded as people would say it; with how it leans, where that was looked for too. The quick
    guess does not look for a tilt: the thorough search does. */
export function withAxis(draft: ReconstructionDraft, { center, slope }: AxisResult, axis: AxisOrigin): ReconstructionDraft {
  const { tilt, roll_deg } = draft.recipe;
  const found = { tilt: Number(slope.toFixed(5)), roll_deg: Number(((Math.atan(slope) * 180) / Math.PI).toFixed(3)) };
  const isTiltFound = typeof tilt === "string" && !(axis === "guessed" && tilt === WHEN_CLEAR);
  const lean = { tilt: isTiltFound ? found.tilt : tilt, roll_deg: typeof roll_deg === "string" ? found.roll_deg : roll_deg };
  return { ...draft, axis, recipe: { ...draft.recipe, ...lean, center: Number(center.toFixed(2)) } };
}

/** A draft whose axis is to be found together with its tilt. */
export const leaning = (draft: ReconstructionDraft, how: Leaning): ReconstructionDraft => ({ ...draft, recipe: { ...draft.recipe, center: "auto", tilt: 0, roll_deg: 0, [how]: "auto" } });

/** A setting that may also be searched for, as a number. */
export const numberOf = (value: number | string): number => (typeof value === "number" ? value : 0);

/** Columns that the axis moves by from one row of the detector to the next. */
export const slopeOf = ({ tilt, roll_deg }: Recipe): number => numberOf(tilt) + Math.tan((numberOf(roll_deg) * Math.PI) / 180);

/** Columns by which the axis of a sinogram is beside that of the middle row; one that was put upright is not. */
export const besideMiddle = ({ tilt }: Recipe, row: number, rows: number): number => numberOf(tilt) * (row - (rows - 1) / 2);

/** Where the axis is, once it is known. */
export const centerOf = (recipe: Recipe): number | null => (typeof recipe.center === "number" ? recipe.center : null);

/** The recipe without the step that is compared; null where that step is not taken. */
export function before(recipe: Recipe, compare: ComparedStep): Recipe | null {
  if (compare === "rings" && recipe.rings.method !== "none") return { ...recipe, rings: { ...recipe.rings, method: "none" } };
  if (compare === "phase" && recipe.phase) return { ...recipe, phase: null };
  const isFiltered = recipe.method === "direct" || recipe.method === "gridding";
  if (compare === "filter" && isFiltered && recipe.filter !== SHARPEST) return { ...recipe, filter: SHARPEST };
  return null;
}

/** The filter that smooths nothing. */
const SHARPEST = "ramachandran";

/** The request for an image of a draft; null if there is none. */
export function previewRequestOf(place: PreviewPosition, path: string, draft: ReconstructionDraft): PreviewRequest | null {
  const recipe = recipeFor(place, draft);
  if (!recipe) return null;
  return { path, place, recipe, options: draft.options, index: place === "projection" ? draft.view : draft.row };
}

/** Settings that an image does not depend on are constant, so that it is not requested again. */
function recipeFor(place: PreviewPosition, { recipe, compare }: ReconstructionDraft): Recipe | null {
  const isJoinedOrTurned = recipe.is_offset || typeof recipe.roll_deg === "string";
  const common = { ...recipe, center: isJoinedOrTurned ? recipe.center : 0, tilt: 0, filter: SHARPEST, padding: "auto", method: "direct", iterations: 1, is_nonnegative: false, is_circle: true };
  switch (place) {
    case "projection":
      return { ...common, phase: null, is_offset: false, center: 0, roll_deg: 0, binning: 1, zingers: 0, air: 0, rings: { ...recipe.rings, method: "none" } };
    case "sinogram":
      return common;
    case "slice":
      return typeof recipe.center === "string" && recipe.tilt === WHEN_CLEAR ? { ...recipe, tilt: 0 } : recipe;
    case "before":
      return before(recipe, compare);
  }
}

export const requestOf = (path: string, { options, recipe, output, is_replaced, is_watched, rows, crop }: ReconstructionDraft): ReconstructionRequest => ({ path, options, recipe, output, is_replaced, is_watched, rows, crop });

/** As `pellucid reconstruct --recipe FILE` reads them. */
export const parametersText = ({ options, recipe }: ReconstructionDraft): string => `${JSON.stringify({ scan: options, recipe }, null, 2)}\n`;

/** The draft with the content of such a file; null if the file is not one. */
export function withParameters(draft: ReconstructionDraft, text: string): ReconstructionDraft | null {
  try {
    const { scan, recipe } = JSON.parse(text) as Partial<{ scan: Partial<ScanOptions>; recipe: Partial<Recipe> }>;
    if (typeof recipe !== "object") return null;
    return { ...draft, options: { ...draft.options, ...scan }, recipe: { ...draft.recipe, ...recipe } };
  } catch {
    return null;
  }
}

/** Columns between which the axis is moved: some, around where it was found. */
export function centerRange(center: number, columns: number): [number, number] {
  const reach = Math.max(4, columns / 40);
  return [Math.max(0, center - reach), Math.min(columns - 1, center + reach)];
}
