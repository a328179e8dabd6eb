// Where light comes from, as two angles in degrees. A scene's direction points from the light into the scene.

import type { Vector } from "../geometry/vector";
import { unit } from "../geometry/vector";

export interface Angles {
  azimuth: number;
  elevation: number;
}

export const FIRST_ANGLES: Angles = { azimuth: 35, elevation: 45 };

export function directionOf({ azimuth, elevation }: Angles): Vector {
  const [around, above] = [(azimuth * Math.PI) / 180, (elevation * Math.PI) / 180];
  return [-Math.sin(around) * Math.cos(above), -Math.sin(above), -Math.cos(around) * Math.cos(above)];
}

export function anglesOf(direction: Vector): Angles {
  const [x, y, z] = unit(direction);
  return { azimuth: (Math.atan2(-x, -z) * 180) / Math.PI, elevation: (Math.asin(-y) * 180) / Math.PI };
}
