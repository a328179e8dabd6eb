// Three numbers, axes (x, y, z). Here: arithmetic on them. Not here: cameras (camera.ts).

export type Vector = readonly [number, number, number];

export const add = (a: Vector, b: Vector): Vector => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const subtract = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a: Vector, factor: number): Vector => [a[0] * factor, a[1] * factor, a[2] * factor];
export const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const length = (a: Vector): number => Math.hypot(a[0], a[1], a[2]);
export const distance = (a: Vector, b: Vector): number => length(subtract(a, b));
export const unit = (a: Vector): Vector => scale(a, 1 / (length(a) || 1));

/** Around an axis of unit length, by an angle in radians. */
export function rotate(vector: Vector, axis: Vector, angle: number): Vector {
  const along = scale(axis, dot(axis, vector) * (1 - Math.cos(angle)));
  return add(add(scale(vector, Math.cos(angle)), scale(cross(axis, vector), Math.sin(angle))), along);
}

/** The same with one of its numbers replaced. */
export function withAxis(vector: Vector, axis: number, value: number): Vector {
  const [x, y, z] = vector;
  if (axis === 0) return [value, y, z];
  return axis === 1 ? [x, value, z] : [x, y, value];
}

export const clamp = (value: number, low: number, high: number): number => Math.max(low, Math.min(high, value));
