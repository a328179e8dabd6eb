// Zoom and pan of the slice. Here: what part of it is shown. Not here: pointers and keys (SliceView.tsx).

import { clamp } from "../geometry/vector";

/** scale: of the image, at least 1. x, y: where its corner lies, in shares of the frame; the image always covers the frame. */
export interface Zoom {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export const WHOLE: Zoom = { scale: 1, x: 0, y: 0 };
export const MAX_SCALE = 32;
/** Of a key or a button. */
export const ZOOM_STEP = 1.5;

const covering = ({ scale, x, y }: Zoom): Zoom => ({ scale, x: clamp(x, 1 - scale, 0), y: clamp(y, 1 - scale, 0) });

/** Larger by a factor; what is at a place of the frame stays there. */
export function zoomedAt(zoom: Zoom, factor: number, across: number, down: number): Zoom {
  const scale = clamp(zoom.scale * factor, 1, MAX_SCALE);
  const by = scale / zoom.scale;
  return covering({ scale, x: across - (across - zoom.x) * by, y: down - (down - zoom.y) * by });
}

/** Moved by shares of the frame. */
export const panned = (zoom: Zoom, across: number, down: number): Zoom => covering({ ...zoom, x: zoom.x + across, y: zoom.y + down });

/** The share of the image that is at a share of the frame, along one axis. */
export const inImage = ({ scale }: Zoom, corner: number, share: number): number => (share - corner) / scale;
