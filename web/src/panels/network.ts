// What a user states of a network, as a request. Not here: asking for it (NetworkSection.tsx).

import type { NetworkRequest } from "../protocol";

export interface NetworkForm {
  axes: "" | "bcyx" | "byxc" | "bczyx" | "bzyxc";
  before: "" | "zero_mean_unit_variance" | "scale_range";
  after: "" | "sigmoid" | "softmax";
  /** null: 0.5 for probabilities, 0 for logits. */
  threshold: number | null;
}

export const FORM: NetworkForm = { axes: "", before: "", after: "", threshold: null };

export const requestOf = (path: string, layer: number, form: NetworkForm): NetworkRequest => ({
  path,
  layer,
  threshold: form.threshold,
  axes: form.axes || null,
  halo: null,
  preprocess: form.before ? [form.before] : [],
  postprocess: form.after ? [form.after] : [],
});
