// Where light comes from: a kind, and two angles in degrees. A scene's directions point from the light into the scene.

import type { Vector } from "../geometry/vector";
import { unit } from "../geometry/vector";
import type { Change, Light } from "../protocol";

export interface Angles {
  azimuth: number;
  elevation: number;
}

export type LightKind = "camera" | "headlight" | "fixed";

const FIRST_ANGLES: Angles = { azimuth: 35, elevation: 45 };
const FROM_ABOVE_LEFT: Vector = [0.5, -0.65, -1];
const FROM_THE_EYE: Vector = [0, 0, -1];

export function kindOf(light: Pick<Light, "direction" | "camera_direction">): LightKind {
  if (light.direction) return "fixed";
  const [right, up] = light.camera_direction;
  return right === 0 && up === 0 ? "headlight" : "camera";
}

/** What changes in a scene when another kind of light is chosen. */
export function changesTo(kind: LightKind): Change[] {
  if (kind === "fixed") return [{ path: ["light", "direction"], value: [...directionOf(FIRST_ANGLES)] }];
  return [
    { path: ["light", "direction"], value: null },
    { path: ["light", "camera_direction"], value: [...(kind === "camera" ? FROM_ABOVE_LEFT : FROM_THE_EYE)] },
  ];
}

export function directionOf({ azimuth, elevation }: Angles): Vector {
  const [around, above] = [(azimuth * Math.PI) / 180, (elevation * Math.PI) / 180];
  return [-Math.sin(around) * Math.cos(above), -Math.sin(above), -Math.cos(around) * Math.cos(above)];
}

export function anglesOf(direction: Vector): Angles {
  const [x, y, z] = unit(direction);
  return { azimuth: (Math.atan2(-x, -z) * 180) / Math.PI, elevation: (Math.asin(-y) * 180) / Math.PI };
}
