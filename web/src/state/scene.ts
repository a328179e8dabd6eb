// Places of the scene and what is put there. Here: applying changes, reading volumes' places in the world.
// Not here: sending them (line/patcher.ts).

import { add, type Vector } from "../geometry/vector";
import type { Box, Change, Json, LayerDescription, Scene } from "../protocol";

export type Path = readonly (string | number)[];

/** The scene with one place changed; the rest is shared with the old one. */
export function changed(scene: Scene, change: Change): Scene {
  return put(scene as unknown as Json, change.path, change.value) as unknown as Scene;
}

export const changedBy = (scene: Scene, changes: readonly Change[]): Scene => changes.reduce(changed, scene);

const isList = (change: Change): boolean => change.value === null || typeof change.path.at(-1) === "number";

/** Later changes of the same place, or of a place around it, make earlier ones pointless. */
export function merged(changes: readonly Change[], next: readonly Change[]): Change[] {
  const isCovered = (old: Change): boolean => next.some(({ path }) => path.every((step, depth) => old.path[depth] === step));
  // Adding to and taking from lists moves what comes after: those keep their order and are never dropped.
  return [...changes.filter((old) => isList(old) || !isCovered(old)), ...next];
}

function put(node: Json, path: Path, value: Json): Json {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(node) && typeof step === "number") {
    if (rest.length === 0 && value === null) return node.toSpliced(step, 1);
    return step === node.length ? [...node, value] : node.with(step, put(node[step] ?? null, rest, value));
  }
  if (typeof node === "object" && node !== null && !Array.isArray(node) && typeof step === "string") {
    return { ...node, [step]: put(node[step] ?? null, rest, value) };
  }
  throw new Error(`The scene has no place ${path.join(".")}.`);
}

/** A value of the scene as it travels. */
export const json = (value: unknown): Json => value as Json;

export interface Extent {
  low: Vector;
  high: Vector;
}

/** World corners of a region of voxels of an unmoved layer; a voxel fills half a spacing to each side of its centre. */
export function extentOf(layer: LayerDescription, box: Box | null): Extent {
  const start = box?.start ?? [0, 0, 0];
  const stop = box?.stop ?? layer.shape;
  const [dz, dy, dx] = layer.spacing;
  return {
    low: [(start[2] - 0.5) * dx, (start[1] - 0.5) * dy, (start[0] - 0.5) * dz],
    high: [(stop[2] - 0.5) * dx, (stop[1] - 0.5) * dy, (stop[0] - 0.5) * dz],
  };
}

/** The middle of a voxel (z, y, x) in the world. */
export function worldOf(layer: LayerDescription, voxel: readonly [number, number, number]): Vector {
  const [dz, dy, dx] = layer.spacing;
  return [voxel[2] * dx, voxel[1] * dy, voxel[0] * dz];
}

export const centreOf = ({ low, high }: Extent): Vector => {
  const [x, y, z] = add(low, high);
  return [x / 2, y / 2, z / 2];
};

/** A clip as large as the volume is none. */
export function boxOrNone(layer: LayerDescription, box: Box): Box | null {
  const isWhole = box.start.every((one) => one === 0) && box.stop.every((one, axis) => one === layer.shape[axis]);
  return isWhole ? null : box;
}

export const wholeOf = (layer: LayerDescription): Box => ({ start: [0, 0, 0], stop: [...layer.shape] });
