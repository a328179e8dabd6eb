// Properties of the scene. Here: applying and merging changes.
// Not here: sending them (session/sceneEditor.ts).

import type { Change, Json, Scene } from "../protocol";

export type Path = readonly (string | number)[];

/** The scene with one property changed; the rest is shared with the old one. */
export function changed(scene: Scene, change: Change): Scene {
  return put(scene as unknown as Json, change.path, change.value) as unknown as Scene;
}

export const changedBy = (scene: Scene, changes: readonly Change[]): Scene => changes.reduce(changed, scene);

const isList = (change: Change): boolean => change.value === null || typeof change.path.at(-1) === "number";

/** A later change of the same property, or of one that contains it, replaces earlier ones. */
export function merged(changes: readonly Change[], next: readonly Change[]): Change[] {
  const isCovered = (old: Change): boolean => next.some(({ path }) => path.every((step, depth) => old.path[depth] === step));
  // Adding to and removing from lists shifts later items: these changes keep their order and are never dropped.
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
