// Moving a camera: {position, target, up, field_of_view_deg, height}, world units, axes (x, y, z).
// Here: turn, move, zoom; each gives a new camera. Not here: the mouse (viewer.js).

const add = (a, b) => a.map((value, i) => value + b[i]);
const subtract = (a, b) => a.map((value, i) => value - b[i]);
const scale = (a, factor) => a.map((value) => value * factor);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const length = (a) => Math.hypot(...a);
const unit = (a) => scale(a, 1 / (length(a) || 1));
const POLE = 1.55; // radians; a little short of straight up, where left and right would swap

function rotate(vector, axis, angle) {
  const along = scale(axis, dot(axis, vector) * (1 - Math.cos(angle)));
  return add(add(scale(vector, Math.cos(angle)), scale(cross(axis, vector), Math.sin(angle))), along);
}

function visibleHeight(camera) {
  if (camera.field_of_view_deg === null) return camera.height;
  const arm = length(subtract(camera.position, camera.target));
  return 2 * arm * Math.tan((camera.field_of_view_deg * Math.PI) / 360);
}

/** Around the target: the horizon stays level. Angles in radians, to the right and upwards. */
export function turned(camera, azimuth, elevation) {
  const up = unit(camera.up);
  const arm = rotate(subtract(camera.position, camera.target), up, azimuth);
  const height = Math.asin(Math.max(-1, Math.min(1, dot(unit(arm), up))));
  const wanted = Math.max(-POLE, Math.min(POLE, height + elevation));
  const right = unit(cross(up, arm));
  return { ...camera, position: add(camera.target, rotate(arm, right, height - wanted)) };
}

/** Sideways, so that what is at the target follows the pointer. Fractions of the picture's height. */
export function moved(camera, across, down) {
  const forward = unit(subtract(camera.target, camera.position));
  const right = unit(cross(forward, camera.up));
  const size = visibleHeight(camera);
  const shift = add(scale(right, -across * size), scale(cross(right, forward), down * size));
  return { ...camera, position: add(camera.position, shift), target: add(camera.target, shift) };
}

/** Nearer (factor below 1) or farther. */
export function zoomed(camera, factor) {
  const arm = scale(subtract(camera.position, camera.target), factor);
  return { ...camera, position: add(camera.target, arm), height: camera.height * factor };
}
