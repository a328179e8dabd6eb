// What is in sight of a slice: the part that a panel shows, zoomed and panned. Here: pure functions of it.
// Not here: where slices lie in the world (slicePlace.ts), which keys zoom (slices/).

import type { SliceView } from "../protocol";
import { clamp } from "./vector";

/** x, y: the place of the slice in the middle of the panel, as fractions; scale: 1 shows all of it. */
export interface SliceZoom {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Left, top, right and bottom, as fractions of the slice. */
export type Region = SliceView["region"];

export const FITTED: SliceZoom = { x: 0.5, y: 0.5, scale: 1 };
const MAX_SCALE = 64;
const MIN_SCALE = 0.5;
/** Of the panel, which the whole slice fills. */
const FILLED = 0.94;

/** Pixels of the panel for a unit of the world. extent: of the slice in the world. */
export function pixelsPerUnit(zoom: SliceZoom, panel: Size, extent: Size): number {
  return Math.min(panel.width / extent.width, panel.height / extent.height) * FILLED * zoom.scale;
}

export function regionOf(zoom: SliceZoom, panel: Size, extent: Size): Region {
  const scale = pixelsPerUnit(zoom, panel, extent);
  const [across, along] = [panel.width / scale / extent.width / 2, panel.height / scale / extent.height / 2];
  return [zoom.x - across, zoom.y - along, zoom.x + across, zoom.y + along];
}

/** The place of the slice under a place of the panel, both as fractions. */
export const inSlice = ([left, top, right, bottom]: Region, x: number, y: number): readonly [number, number] => [left + x * (right - left), top + y * (bottom - top)];

/** The place of the panel over a place of the slice. */
export const inPanel = ([left, top, right, bottom]: Region, u: number, v: number): readonly [number, number] => [(u - left) / (right - left), (v - top) / (bottom - top)];

/** Larger by a factor; what is under a place (fractions) of the panel stays there. */
export function zoomedAt(zoom: SliceZoom, factor: number, x: number, y: number, panel: Size, extent: Size): SliceZoom {
  const scale = clamp(zoom.scale * factor, MIN_SCALE, MAX_SCALE);
  const [u, v] = inSlice(regionOf(zoom, panel, extent), x, y);
  const next = { ...zoom, scale };
  const [a, b] = inSlice(regionOf(next, panel, extent), x, y);
  return inSight({ ...next, x: zoom.x + u - a, y: zoom.y + v - b });
}

/** Moved by pixels of the panel. */
export function panned(zoom: SliceZoom, right: number, down: number, panel: Size, extent: Size): SliceZoom {
  const scale = pixelsPerUnit(zoom, panel, extent);
  return inSight({ ...zoom, x: zoom.x - right / scale / extent.width, y: zoom.y - down / scale / extent.height });
}

/** Some of the slice always stays in the middle of the panel. */
const inSight = (zoom: SliceZoom): SliceZoom => ({ ...zoom, x: clamp(zoom.x, 0, 1), y: clamp(zoom.y, 0, 1) });
