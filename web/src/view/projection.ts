// Projecting world positions to the image that is shown now, with the camera of the last frame.
// The camera of the frame, not the newest: overlays have to move with the image.

import { project, type Place } from "../geometry/camera";
import type { Vector } from "../geometry/vector";
import type { Camera } from "../protocol";
import { useSelect } from "../state/store";

export interface Projection {
  camera: Camera;
  aspect: number;
  place: (point: Vector) => Place;
}

export function useProjection(): Projection | null {
  const header = useSelect((state) => state.shown?.header ?? null);
  if (!header) return null;
  const { camera } = header;
  const aspect = header.full_width / Math.max(header.full_height, 1);
  return { camera, aspect, place: (point) => project(camera, point, aspect) };
}

/** Whether a place is in the image. */
export const isInside = ({ x, y, depth }: Place): boolean => depth > 0 && x > 0 && x < 1 && y > 0 && y < 1;

export const percent = (share: number): string => `${(share * 100).toFixed(3)}%`;
