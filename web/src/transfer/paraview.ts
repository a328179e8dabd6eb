// ParaView's JSON of colour maps: a list with one object, RGBPoints (value, r, g, b) and Points (value, opacity, 0.5, 0).
// Here: to and from a TransferFunction. Not here: files (panels/transfer).

import type { TransferFunction } from "../protocol";
import type { ColorPoint, OpacityPoint } from "./points";

export class NoColorMap extends Error {}

export function toParaView(transfer: TransferFunction, name: string): string {
  const value = (position: number): number => valueAt(transfer.value_range, position);
  const map = {
    Name: name,
    ColorSpace: "RGB",
    Creator: "Pellucid",
    NanColor: [0, 0, 0],
    RGBPoints: transfer.colors.flatMap(([at, color]) => [value(at), ...color]),
    Points: transfer.opacities.flatMap(([at, opacity]) => [value(at), opacity, 0.5, 0]),
  };
  return JSON.stringify([map], null, 2);
}

/** A map's values are kept where it has opacities of its own; a plain map of colours is spread over the present range. */
export function fromParaView(text: string, present: TransferFunction): TransferFunction {
  const map = firstMap(text);
  const rgb = numbers(map["RGBPoints"]);
  const opacity = numbers(map["Points"]);
  if (rgb.length < 8 || rgb.length % 4 !== 0 || opacity.length % 4 !== 0) {
    throw new NoColorMap("This file has no valid RGBPoints. Export a colour map from ParaView as JSON.");
  }
  const values = [...every(rgb, 0), ...every(opacity, 0)];
  const range: [number, number] = [Math.min(...values), Math.max(...values)];
  const at = (value: number): number => (value - range[0]) / (range[1] - range[0] || 1);
  const colors = ascending(every(rgb, 0).map((value, i): ColorPoint => [at(value), [rgb[i * 4 + 1] ?? 0, rgb[i * 4 + 2] ?? 0, rgb[i * 4 + 3] ?? 0]]));
  if (opacity.length === 0) return { ...present, colors };
  const opacities = ascending(every(opacity, 0).map((value, i): OpacityPoint => [at(value), opacity[i * 4 + 1] ?? 0]));
  return { ...present, colors, opacities, value_range: range };
}

export const valueAt = (range: readonly [number, number], position: number): number => range[0] + (range[1] - range[0]) * position;
export const positionOf = (range: readonly [number, number], value: number): number => (value - range[0]) / (range[1] - range[0] || 1);

function firstMap(text: string): Record<string, unknown> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new NoColorMap("This file is not JSON. Export a colour map from ParaView as JSON.");
  }
  const map: unknown = Array.isArray(document) ? document[0] : document;
  if (typeof map !== "object" || map === null) throw new NoColorMap("This JSON file contains no colour map. Export one from ParaView as JSON.");
  return { ...map };
}

function numbers(list: unknown): number[] {
  return Array.isArray(list) ? list.filter((one): one is number => typeof one === "number" && Number.isFinite(one)) : [];
}

const every = (list: readonly number[], first: number): number[] => list.filter((_, index) => index % 4 === first);

function ascending<Level>(points: [number, Level][]): [number, Level][] {
  return points.toSorted((a, b) => a[0] - b[0]);
}
