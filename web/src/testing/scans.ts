// A draft of a reconstruction, for tests.

import type { Recipe, ReconstructionDraft } from "../protocol";
import { NO_OPTIONS } from "../reconstruction/draft";

export const RINGS = { method: "vo-all", snr: 3, large_size: null, small_size: null, drop: 0.1, level: 4, sigma: 1, strength: 0.05 };

export const RECIPE: Recipe = {
  center: 22.5,
  tilt: 0,
  is_offset: false,
  roll_deg: 0,
  binning: 1,
  phase: null,
  zingers: 0,
  air: 0,
  rings: RINGS,
  method: "direct",
  filter: "chesler",
  padding: "auto",
  iterations: 0,
  is_nonnegative: false,
  is_circle: true,
};

export const DRAFT: ReconstructionDraft = { options: NO_OPTIONS, recipe: RECIPE, axis: "chosen", row: 3, view: 7, compare: "rings", output: "/a.zarr", is_replaced: false, is_watched: false, rows: null, crop: null };
