// Moving the camera smoothly to another position. User input stops it.

import { add, dot, scale, subtract, unit, type Vector } from "../geometry/vector";
import type { Camera } from "../protocol";
import type { Session } from "./session";

const DURATION_MS = 320;
let underWay = 0;

export function animateCamera(session: Session, to: Camera): void {
  const from = session.store.get().camera;
  const flight = ++underWay;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (!from || isStill || isOpposite(from, to)) return session.look(to, false);
  const began = performance.now();
  let last = from;
  const step = (): void => {
    const now = session.store.get().camera;
    if (flight !== underWay || now !== last) return;
    const share = Math.min((performance.now() - began) / DURATION_MS, 1);
    last = share < 1 ? between(from, to, eased(share)) : to;
    session.look(last, share < 1);
    if (share < 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

/** Part of the way: the target goes straight, the eye around it. */
export function between(from: Camera, to: Camera, share: number): Camera {
  const target = mix(from.target, to.target, share);
  const near = subtract(from.position, from.target);
  const far = subtract(to.position, to.target);
  const arm = scale(unit(mix(unit(near), unit(far), share)), Math.hypot(...near) * (1 - share) + Math.hypot(...far) * share);
  return {
    ...to,
    target,
    position: add(target, arm),
    up: unit(mix(from.up, to.up, share)),
    height: from.height + (to.height - from.height) * share,
  };
}

/** Half-way to the opposite side, the camera would pass through the target. */
export const isOpposite = (from: Camera, to: Camera): boolean =>
  dot(unit(subtract(from.position, from.target)), unit(subtract(to.position, to.target))) < -0.9;

const mix = (a: Vector, b: Vector, share: number): Vector => add(scale(a, 1 - share), scale(b, share));
const eased = (share: number): number => 1 - (1 - share) ** 3;
