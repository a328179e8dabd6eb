// Grey windows: the values that are black and white. Here: changing one by dragging. Not here: where it is stored (the scene).

import type { LayerDescription, SliceOptions, VolumeLayer } from "../protocol";
import { clamp } from "./vector";

export type GreyWindow = readonly [number, number];

const WIDTH_PER_PIXEL = 0.006;
const LEVEL_PER_PIXEL = 0.004;
/** Of the range of values: the narrowest window. */
const NARROWEST = 1e-4;

/** The window that is shown: the chosen one, or the values that matter in the volume. */
export function windowOf(options: SliceOptions, layer: VolumeLayer, { histogram }: LayerDescription): GreyWindow {
  if (options.window) return options.window;
  return histogram && histogram.low < histogram.high ? [histogram.low, histogram.high] : layer.transfer.value_range;
}

/** To the right the window gets wider, upwards brighter. span: of all values. */
export function draggedWindow([low, high]: GreyWindow, right: number, down: number, span: number): GreyWindow {
  const width = clamp((high - low) * Math.exp(right * WIDTH_PER_PIXEL), span * NARROWEST, span * 10);
  const level = (low + high) / 2 + down * LEVEL_PER_PIXEL * width;
  return [level - width / 2, level + width / 2];
}

/** With one end moved; the other end stays, and black stays below white. */
export function withEnd([low, high]: GreyWindow, end: "low" | "high", value: number, span: number): GreyWindow {
  const narrowest = span * NARROWEST;
  return end === "low" ? [Math.min(value, high - narrowest), high] : [low, Math.max(value, low + narrowest)];
}

/** A window that can be shown: equal ends are moved apart. */
export const opened = (low: number, high: number): GreyWindow => (low < high ? [low, high] : [low, low + Math.max(Math.abs(low) * 1e-6, 1e-6)]);
