// Pointers become movements of the camera. Here: which movement, from one pointer, two, or the wheel.
// Not here: events and elements (ViewCanvas.tsx).

import { moved, rolled, turned, zoomed } from "../geometry/camera";
import { clamp } from "../geometry/vector";
import type { Camera } from "../protocol";

export interface Point {
  x: number;
  y: number;
}

/** The image in the page, in CSS pixels. */
export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Held {
  buttons: number;
  isShift: boolean;
  isControl: boolean;
  isAlt: boolean;
}

const TURN_PER_HEIGHT = Math.PI;
const ZOOM_PER_HEIGHT = 3;
const ZOOM_PER_PIXEL = 0.0012;
const MAX_WHEEL = 300;
const LINE_PIXELS = 33;

/** One pointer was dragged. Shift or other buttons pan, control zooms, alt rolls. */
export function dragged(camera: Camera, from: Point, to: Point, frame: Frame, held: Held): Camera {
  const across = (to.x - from.x) / frame.height;
  const down = (to.y - from.y) / frame.height;
  if (held.isShift || held.buttons & 6) return moved(camera, across, down);
  if (held.isControl) return zoomed(camera, Math.exp(down * ZOOM_PER_HEIGHT));
  if (held.isAlt) return rolled(camera, angleOf(centreOf(frame), to) - angleOf(centreOf(frame), from));
  return turned(camera, -across * TURN_PER_HEIGHT, down * TURN_PER_HEIGHT);
}

/** Two fingers: what is between them stays between them. */
export function pinched(camera: Camera, from: readonly [Point, Point], to: readonly [Point, Point], frame: Frame): Camera {
  const before = between(from);
  const after = between(to);
  const factor = clamp(distance(from) / Math.max(distance(to), 1), 0.2, 5);
  const shifted = moved(camera, (after.x - before.x) / frame.height, (after.y - before.y) / frame.height);
  const at = fromCentre(after, frame);
  return zoomed(shifted, factor, at.across, at.up);
}

/** The wheel turned over a place of the image: that place stays where it is. */
export function wheeled(camera: Camera, at: Point, delta: number, isLines: boolean, frame: Frame): Camera {
  const pixels = clamp(isLines ? delta * LINE_PIXELS : delta, -MAX_WHEEL, MAX_WHEEL);
  const place = fromCentre(at, frame);
  return zoomed(camera, Math.exp(pixels * ZOOM_PER_PIXEL), place.across, place.up);
}

/** Fractions of the image, from the top left. */
export function fraction(at: Point, frame: Frame): Point {
  return { x: (at.x - frame.left) / frame.width, y: (at.y - frame.top) / frame.height };
}

function fromCentre(at: Point, frame: Frame): { across: number; up: number } {
  const centre = centreOf(frame);
  return { across: (at.x - centre.x) / frame.height, up: (centre.y - at.y) / frame.height };
}

const centreOf = (frame: Frame): Point => ({ x: frame.left + frame.width / 2, y: frame.top + frame.height / 2 });
const angleOf = (centre: Point, at: Point): number => Math.atan2(at.y - centre.y, at.x - centre.x);
const between = ([a, b]: readonly [Point, Point]): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
const distance = ([a, b]: readonly [Point, Point]): number => Math.hypot(a.x - b.x, a.y - b.y);
