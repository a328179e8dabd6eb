// What measures measure, and the lines that show them. Here: lengths, angles, areas; edges of boxes and spheres.
// Not here: values of voxels (the instance), text (geometry/measures.ts).

import type { Measure, MeasureKind, Transform } from "../protocol";
import { directed } from "./transform";
import { add, cross, distance, dot, length, scale, subtract, unit, type Vector } from "./vector";

/** The points that each kind needs, and how users call it. isOpen: any number from there on. */
export const KINDS: Record<MeasureKind, { name: string; points: number; isOpen: boolean; hints: readonly string[] }> = {
  distance: { name: "Distance", points: 2, isOpen: false, hints: ["Click the first point.", "Click the second point."] },
  angle: { name: "Angle", points: 3, isOpen: false, hints: ["Click a point on the first arm.", "Click the corner.", "Click a point on the second arm."] },
  polyline: { name: "Path", points: 2, isOpen: true, hints: ["Click the first point.", "Click the next point.", "Click the next point, or press Enter to finish."] },
  area: { name: "Area", points: 3, isOpen: true, hints: ["Click the first corner.", "Click the next corner.", "Click the next corner.", "Click the next corner, or press Enter to finish."] },
  box: { name: "Box", points: 2, isOpen: false, hints: ["Click a corner of the box.", "Click the opposite corner."] },
  sphere: { name: "Sphere", points: 2, isOpen: false, hints: ["Click the centre of the sphere.", "Click a point on the sphere."] },
  note: { name: "Note", points: 1, isOpen: false, hints: ["Click the point that the note is about."] },
};

export const isMeasureKind = (tool: string): tool is MeasureKind => tool in KINDS;

export const hintFor = (kind: MeasureKind, count: number): string => KINDS[kind].hints[Math.min(count, KINDS[kind].hints.length - 1)] ?? "";

export interface Size {
  length: number | null;
  angleDeg: number | null;
  area: number | null;
}

const pairs = (points: readonly Vector[]): [Vector, Vector][] => points.slice(1).map((point, index) => [points[index] ?? point, point]);
const pathLength = (points: readonly Vector[]): number => pairs(points).reduce((sum, [a, b]) => sum + distance(a, b), 0);

export function sizeOf({ kind, points }: Pick<Measure, "kind" | "points">): Size {
  const nothing: Size = { length: null, angleDeg: null, area: null };
  const [a, b, c] = points;
  if (!a || !b) return nothing;
  if (kind === "distance" || kind === "polyline" || kind === "sphere") return { ...nothing, length: pathLength(points) };
  if (kind === "angle" && c) return { ...nothing, angleDeg: angleDeg(a, b, c) };
  if (kind === "area") return { ...nothing, length: pathLength([...points, a]), area: areaOf(points) };
  return nothing;
}

function angleDeg(a: Vector, corner: Vector, c: Vector): number {
  const [first, second] = [subtract(a, corner), subtract(c, corner)];
  return (Math.atan2(length(cross(first, second)), dot(first, second)) * 180) / Math.PI;
}

function areaOf(points: readonly Vector[]): number {
  const [origin = [0, 0, 0] as Vector] = points;
  const sum = pairs(points).reduce<Vector>((total, [a, b]) => add(total, cross(subtract(a, origin), subtract(b, origin))), [0, 0, 0]);
  return length(sum) / 2;
}

const AXES: readonly Vector[] = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];
const CIRCLE = 32;

/** The lines that show a measure, each from one point to another. transform: of the layer whose axes a box follows. */
export function linesOf({ kind, points }: Pick<Measure, "kind" | "points">, transform: Transform | null): [Vector, Vector][] {
  const [a, b] = points;
  if (!a || !b) return [];
  if (kind === "area") return pairs([...points, a]);
  if (kind === "box") return boxEdges(a, b, transform);
  if (kind === "sphere") return sphereCircles(a, distance(a, b));
  return pairs(points);
}

function boxEdges(from: Vector, to: Vector, transform: Transform | null): [Vector, Vector][] {
  const turned = AXES.map((axis) => (transform ? unit(directed({ ...transform, scale: [1, 1, 1] }, axis)) : axis));
  const sides = turned.map((axis) => scale(axis, dot(subtract(to, from), axis)));
  const corner = (bits: number): Vector => sides.reduce<Vector>((at, side, index) => (bits & (1 << index) ? add(at, side) : at), from);
  return [0, 1, 2].flatMap((axis) => [0, 1, 2, 3, 4, 5, 6, 7].filter((bits) => !(bits & (1 << axis))).map((bits): [Vector, Vector] => [corner(bits), corner(bits | (1 << axis))]));
}

function sphereCircles(centre: Vector, radius: number): [Vector, Vector][] {
  return AXES.flatMap((_, index) => {
    const [u, v] = [AXES[(index + 1) % 3] ?? [1, 0, 0], AXES[(index + 2) % 3] ?? [0, 1, 0]] as [Vector, Vector];
    const at = (step: number): Vector => {
      const angle = (2 * Math.PI * step) / CIRCLE;
      return add(centre, add(scale(u, radius * Math.cos(angle)), scale(v, radius * Math.sin(angle))));
    };
    return Array.from({ length: CIRCLE }, (__, step): [Vector, Vector] => [at(step), at(step + 1)]);
  });
}
