// The key frames of a movie. Here: the list and its changes, what a key frame changes in a scene. Not here: what is between them (the instance).

import { wholeOf } from "../geometry/extent";
import type { Change, KeyFrame, LayerDescription, MoviePath, Scene } from "../protocol";
import { json, type Path } from "../state/scene";

/** thumbnail: an address of its image; empty while there is none. */
export interface MovieKey {
  id: number;
  key: KeyFrame;
  thumbnail: string;
}

const FILE_VERSION = 1;
const STEP_S = 2;
const LEAST_S = 0.1;

const inOrder = (keys: readonly MovieKey[]): readonly MovieKey[] => keys.toSorted((one, other) => one.key.at_s - other.key.at_s);
const newId = (keys: readonly MovieKey[]): number => 1 + Math.max(0, ...keys.map(({ id }) => id));

/** The scene as it is now, two seconds after the last key frame. */
export function keyNow(scene: Scene, camera: KeyFrame["camera"], first: LayerDescription | undefined, keys: readonly MovieKey[]): KeyFrame {
  const last = keys.at(-1);
  const [volume] = scene.volumes;
  return {
    at_s: last ? round(last.key.at_s + STEP_S) : 0,
    camera,
    time: scene.time,
    transfer: volume && !volume.labels ? volume.transfer : null,
    clip: volume ? (volume.clip ?? (first ? wholeOf(first) : null)) : null,
    planes: scene.planes,
  };
}

export const added = (keys: readonly MovieKey[], key: KeyFrame, thumbnail: string): readonly MovieKey[] => inOrder([...keys, { id: newId(keys), key, thumbnail }]);

export const removed = (keys: readonly MovieKey[], id: number): readonly MovieKey[] => keys.filter((one) => one.id !== id);

/** Another view at the same second. */
export const replaced = (keys: readonly MovieKey[], id: number, key: KeyFrame, thumbnail: string): readonly MovieKey[] =>
  keys.map((one) => (one.id === id ? { ...one, key: { ...key, at_s: one.key.at_s }, thumbnail } : one));

/** At another second, and a little later where that one is taken. */
export function retimed(keys: readonly MovieKey[], id: number, seconds: number): readonly MovieKey[] {
  const others = keys.filter((one) => one.id !== id).map((one) => one.key.at_s);
  let at = round(seconds);
  while (others.some((other) => Math.abs(other - at) < LEAST_S / 2)) at = round(at + LEAST_S);
  return inOrder(keys.map((one) => (one.id === id ? { ...one, key: { ...one.key, at_s: at } } : one)));
}

/** It changes places with the one before (-1) or after it (1); the seconds stay. */
export function swapped(keys: readonly MovieKey[], id: number, way: -1 | 1): readonly MovieKey[] {
  const from = keys.findIndex((one) => one.id === id);
  const [one, other] = [keys[from], keys[from + way]];
  if (!one || !other) return keys;
  const at = (place: MovieKey, seconds: number): MovieKey => ({ ...place, key: { ...place.key, at_s: seconds } });
  return inOrder(keys.map((each) => (each === one ? at(one, other.key.at_s) : each === other ? at(other, one.key.at_s) : each)));
}

export const fromPath = ({ keys }: MoviePath): readonly MovieKey[] => keys.map((key, index) => ({ id: index + 1, key, thumbnail: "" }));

export const fileText = (keys: readonly MovieKey[]): string => JSON.stringify({ version: FILE_VERSION, keys: keys.map(({ key }) => key) }, null, 1);

export const durationOf = (keys: readonly MovieKey[]): number => (keys.at(-1)?.key.at_s ?? 0) - (keys[0]?.key.at_s ?? 0);

/** What a key frame says of a scene, part by part; null where it says nothing. */
export function partsOf(key: KeyFrame, first: LayerDescription | undefined): readonly (readonly [path: Path, value: unknown])[] {
  const isWhole = key.clip !== null && first !== undefined && JSON.stringify(key.clip) === JSON.stringify(wholeOf(first));
  const parts: [Path, unknown][] = [];
  if (key.time !== null) parts.push([["time"], key.time]);
  if (key.transfer !== null) parts.push([["volumes", 0, "transfer"], key.transfer]);
  if (key.clip !== null) parts.push([["volumes", 0, "clip"], isWhole ? null : key.clip]);
  if (key.planes !== null) parts.push([["planes"], key.planes]);
  return parts;
}

export function valueAt(scene: Scene, path: Path): unknown {
  let place: unknown = scene;
  for (const step of path) place = (place as Record<string | number, unknown> | null | undefined)?.[step];
  return place ?? null;
}

/** What has to change for a scene to be as a key frame says. */
export const changesFor = (scene: Scene, key: KeyFrame, first: LayerDescription | undefined): readonly Change[] =>
  partsOf(key, first)
    .filter(([path, value]) => (path[0] !== "volumes" || scene.volumes.length > 0) && JSON.stringify(valueAt(scene, path)) !== JSON.stringify(value))
    .map(([path, value]) => ({ path, value: json(value) }));

const round = (seconds: number): number => Math.round(seconds * 1000) / 1000;
