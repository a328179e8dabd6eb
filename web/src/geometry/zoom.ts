// An image that is larger than its frame. Here: where it stands after zooming and panning. Not here: which keys do it.

import { clamp } from "./vector";

/** scale: at least 1. x, y: where the image's top left corner is, in pixels from the frame's. */
export interface Zoom {
  scale: number;
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
}

export const WHOLE: Zoom = { scale: 1, x: 0, y: 0 };
const LARGEST = 32;

/** Larger by a factor; what is at (x, y) of the frame stays there. */
export function zoomedAt(zoom: Zoom, factor: number, x: number, y: number, frame: Size): Zoom {
  const scale = clamp(zoom.scale * factor, 1, LARGEST);
  const growth = scale / zoom.scale;
  return inFrame({ scale, x: x - (x - zoom.x) * growth, y: y - (y - zoom.y) * growth }, frame);
}

export const panned = (zoom: Zoom, right: number, down: number, frame: Size): Zoom => inFrame({ ...zoom, x: zoom.x + right, y: zoom.y + down }, frame);

/** The image always fills its frame. */
function inFrame({ scale, x, y }: Zoom, { width, height }: Size): Zoom {
  return { scale, x: clamp(x, width * (1 - scale), 0), y: clamp(y, height * (1 - scale), 0) };
}
