// Painting labels on slices: brush and eraser. Here: a path of the brush becomes requests, one at a time.
// Not here: which voxels it touches (the instance), pointers (slicePointers.ts), its settings (panels/labels/BrushSection).

import { paintLabels } from "../connection/requests";
import { fromWorld } from "../geometry/slicePlace";
import type { Vector } from "../geometry/vector";
import type { LayerDescription, PaintRequest, SliceAxis, VolumeLayer } from "../protocol";
import type { Session } from "../session/session";
import { sceneOf } from "../state/selectors";
import type { PageState } from "../state/state";

/** Points of one request: the instance takes no more. */
const MAX_POINTS = 200;
let gestures = 0;

interface PaintedLayer {
  index: number;
  layer: VolumeLayer;
  description: LayerDescription;
}

let last: PaintedLayer | null = null;

/** The labels that are painted: those chosen in the panel, otherwise the first ones. */
export function paintedLayer(state: PageState): PaintedLayer | null {
  const scene = sceneOf(state);
  const { chosen } = state.interface;
  const isLabels = (index: number): boolean => Boolean(scene?.volumes[index]?.labels);
  const index = chosen.kind === "volumes" && isLabels(chosen.index) ? chosen.index : (scene?.volumes.findIndex((_, number) => isLabels(number)) ?? -1);
  const [layer, description] = [scene?.volumes[index], state.layers?.layers[index]];
  if (!layer || !description) return null;
  if (last && last.index === index && last.layer === layer && last.description === description) return last;
  last = { index, layer, description };
  return last;
}

/** World units from the middle of the brush to its edge. */
export function brushRadius({ layer, description }: PaintedLayer, radius: number): number {
  const sizes = description.spacing.map((step, axis) => step * Math.abs(layer.transform.scale[2 - axis] ?? 1));
  return radius * Math.min(...sizes);
}

/** Places (z, y, x) in voxels of the labels. */
const inVoxels = ({ layer, description }: PaintedLayer, position: Vector): [number, number, number] => {
  const [x, y, z] = fromWorld(layer.transform, position);
  const [dz, dy, dx] = description.spacing;
  return [z / dz, y / dy, x / dx];
};

/** One stroke, from pressing the pointer until it is released: one step of undo. */
export class BrushGesture {
  private readonly gesture = `stroke-${Date.now().toString(36)}-${++gestures}`;
  private points: Vector[] = [];
  private from: Vector | null = null;
  private isBusy = false;
  private isOver = false;

  constructor(
    private readonly session: Session,
    private readonly painted: PaintedLayer,
    /** A disc in the slice across it; null: a ball. */
    private readonly axis: SliceAxis | null,
  ) {}

  /** Through a world position. */
  through(position: Vector): void {
    this.points.push(position);
    void this.flush();
  }

  end(): void {
    this.isOver = true;
    void this.flush();
  }

  private async flush(): Promise<void> {
    if (this.isBusy || (this.points.length === 0 && !this.isOver)) return;
    const path = [...(this.from ? [this.from] : []), ...this.points.splice(0, MAX_POINTS)];
    if (path.length === 0) return;
    this.from = path.at(-1) ?? null;
    const isLast = this.isOver && this.points.length === 0;
    this.isBusy = true;
    const answer = await this.session.attempt(paintLabels(this.request(path, !isLast)));
    this.isBusy = false;
    // Where one was refused, the next would be too.
    if (answer && !isLast) await this.flush();
  }

  private request(path: readonly Vector[], isMoving: boolean): PaintRequest {
    const { tool, brush } = this.session.store.get().interface;
    const axis = this.axis === "oblique" || brush.isBall ? null : this.axis;
    return {
      layer: this.painted.index,
      label: tool === "erase" ? 0 : brush.label,
      points: path.map((point) => inVoxels(this.painted, point)),
      radius: brush.radius,
      axis,
      only: tool === "erase" ? (brush.isOnlyLabel ? brush.label : null) : brush.isOnlyEmpty ? 0 : null,
      gesture: this.gesture,
      is_moving: isMoving,
    };
  }
}

/** A radius that is a little larger (1) or smaller (−1). */
export const nextRadius = (radius: number, way: number): number => Math.max(0.5, Math.min(128, way > 0 ? Math.max(radius + 0.5, radius * 1.2) : Math.min(radius - 0.5, radius / 1.2)));
