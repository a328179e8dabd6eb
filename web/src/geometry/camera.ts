// Moving a camera, and where things are in its image. Each movement gives a new camera.
// Here: turn, move, zoom, frame; projection to the image and rays through it. Not here: the mouse (view/).

import type { Camera } from "../protocol";
import { add, clamp, cross, dot, length, rotate, scale, subtract, unit, withAxis, type Vector } from "./vector";

/** Radians; a little short of straight up, where left and right would swap. */
const POLE = 1.55;
const NEAREST = 1e-9;
const TILT = 1e-3;

interface Axes {
  right: Vector;
  up: Vector;
  forward: Vector;
}

/** A position in the image: fractions of its width and height, from the top left; depth along the view in world units. */
export interface Place {
  x: number;
  y: number;
  depth: number;
}

export interface Ray {
  origin: Vector;
  direction: Vector;
}

export function axesOf(camera: Camera): Axes {
  const forward = unit(subtract(camera.target, camera.position));
  let across = cross(forward, camera.up);
  // Looking along "up": any other direction will do.
  if (length(across) < NEAREST) across = cross(forward, Math.abs(forward[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0]);
  const right = unit(across);
  return { right, up: cross(right, forward), forward };
}

/** World units from the bottom to the top of the image, at the target. */
export function visibleHeight(camera: Camera): number {
  if (camera.field_of_view_deg === null) return camera.height;
  const arm = length(subtract(camera.position, camera.target));
  return 2 * arm * Math.tan((camera.field_of_view_deg * Math.PI) / 360);
}

/** Around the target: the horizon stays level. Angles in radians, to the right and upwards. */
export function turned(camera: Camera, azimuth: number, elevation: number): Camera {
  const up = unit(camera.up);
  const arm = rotate(subtract(camera.position, camera.target), up, azimuth);
  const height = Math.asin(clamp(dot(unit(arm), up), -1, 1));
  const wanted = clamp(height + elevation, -POLE, POLE);
  const right = unit(cross(up, arm));
  return { ...camera, position: add(camera.target, rotate(arm, right, height - wanted)) };
}

/** Around the line of sight: the horizon tilts. */
export function rolled(camera: Camera, angle: number): Camera {
  const { forward, up } = axesOf(camera);
  return { ...camera, up: rotate(up, forward, angle) };
}

/** Pan, so that the target follows the pointer. In fractions of the image height. */
export function moved(camera: Camera, across: number, down: number): Camera {
  const { right, up } = axesOf(camera);
  const size = visibleHeight(camera);
  const shift = add(scale(right, -across * size), scale(up, down * size));
  return shifted(camera, shift);
}

/** Nearer (factor below 1) or farther; what is at (across, up) from the centre, in image heights, stays there. */
export function zoomed(camera: Camera, factor: number, across = 0, up = 0): Camera {
  const arm = scale(subtract(camera.position, camera.target), factor);
  const nearer = { ...camera, position: add(camera.target, arm), height: camera.height * factor };
  const axes = axesOf(camera);
  const shrunk = visibleHeight(camera) * (1 - factor);
  return shifted(nearer, add(scale(axes.right, across * shrunk), scale(axes.up, up * shrunk)));
}

/** The same view, turning around another point: the target moves to the point's depth, and then onto it. */
export function centred(camera: Camera, centre: Vector): Camera {
  return shifted(camera, subtract(centre, camera.target));
}

/** From the end of an axis (0, 1, 2 for x, y, z), at the same distance; what is up stays up.
 *
 * Seen from above or below, "up" is along the line of sight: a thousandth of tilt says which side is the front. */
export function lookingFrom(camera: Camera, axis: number, isPositive: boolean): Camera {
  const upright = mainAxis(camera.up);
  const sign = Math.sign(camera.up[upright] ?? 1);
  const up = withAxis([0, 0, 0], upright, sign);
  const straight = withAxis([0, 0, 0], axis, isPositive ? 1 : -1);
  const front: Vector = upright === 2 ? [0, -sign, 0] : [0, 0, sign];
  const direction = axis === upright ? add(straight, scale(front, TILT)) : straight;
  const arm = scale(unit(direction), length(subtract(camera.position, camera.target)));
  return { ...camera, position: add(camera.target, arm), up };
}

/** From the end of an axis, or from the other end where it looks from there already. */
export function lookingFromNext(camera: Camera, axis: number): Camera {
  const seen = unit(subtract(camera.position, camera.target))[axis] ?? 0;
  return lookingFrom(camera, axis, seen < 0.999);
}

/** Perspective and parallel show the target at the same size. */
export function withPerspective(camera: Camera, fieldOfViewDeg: number | null): Camera {
  const height = visibleHeight(camera);
  if (fieldOfViewDeg === null) return { ...camera, field_of_view_deg: null, height };
  const arm = unit(subtract(camera.position, camera.target));
  const away = height / (2 * Math.tan((fieldOfViewDeg * Math.PI) / 360));
  return {
    ...camera,
    field_of_view_deg: fieldOfViewDeg,
    height,
    position: add(camera.target, scale(arm, away)),
  };
}

/** Where a point of the world is in the image; depth is negative behind the eye. */
export function project(camera: Camera, point: Vector, aspect: number): Place {
  const { right, up, forward } = axesOf(camera);
  const seen = subtract(point, camera.position);
  const depth = dot(seen, forward);
  const arm = length(subtract(camera.target, camera.position));
  const size = camera.field_of_view_deg === null ? camera.height : (visibleHeight(camera) * depth) / arm;
  return { x: 0.5 + dot(seen, right) / (size * aspect), y: 0.5 - dot(seen, up) / size, depth };
}

/** The ray through a place in the image. */
export function rayThrough(camera: Camera, x: number, y: number, aspect: number): Ray {
  const { right, up, forward } = axesOf(camera);
  const size = visibleHeight(camera);
  const offset = add(scale(right, (x - 0.5) * size * aspect), scale(up, (0.5 - y) * size));
  if (camera.field_of_view_deg === null) return { origin: add(camera.position, offset), direction: forward };
  const arm = length(subtract(camera.target, camera.position));
  return { origin: camera.position, direction: unit(add(offset, scale(forward, arm))) };
}

/** How far along a line (through anchor, along a unit axis) the point nearest to a ray is. */
export function alongLine(ray: Ray, anchor: Vector, axis: Vector): number | null {
  const between = subtract(anchor, ray.origin);
  const cosine = dot(axis, ray.direction);
  const across = 1 - cosine * cosine;
  if (across < 1e-6) return null;
  return (cosine * dot(ray.direction, between) - dot(axis, between)) / across;
}

/** World units that one image height covers at a point. */
export function scaleAt(camera: Camera, point: Vector): number {
  if (camera.field_of_view_deg === null) return camera.height;
  const { forward } = axesOf(camera);
  const depth = dot(subtract(point, camera.position), forward);
  return 2 * Math.max(depth, 0) * Math.tan((camera.field_of_view_deg * Math.PI) / 360);
}

const mainAxis = (vector: Vector): 0 | 1 | 2 => {
  const [x, y, z] = [Math.abs(vector[0]), Math.abs(vector[1]), Math.abs(vector[2])];
  if (z >= x && z >= y) return 2;
  return y >= x ? 1 : 0;
};

function shifted(camera: Camera, shift: Vector): Camera {
  return {
    ...camera,
    position: add(camera.position, shift),
    target: add(camera.target, shift),
  };
}

