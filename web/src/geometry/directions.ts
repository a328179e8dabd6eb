// Where the axes of a volume run. Here: the letter of a direction of the world. Not here: reading it from files (the instance).

import type { Transform } from "../protocol";
import { directed } from "./transform";
import { cross, dot, unit, type Vector } from "./vector";

const OPPOSITE: Readonly<Record<string, string>> = { R: "L", L: "R", A: "P", P: "A", S: "I", I: "S", F: "B", B: "F", U: "D", D: "U" };
const AXES: readonly Vector[] = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];
/** Cosine: what runs more aslant has two letters. */
const STRAIGHT = 0.94;
const ASIDE = 0.34;

export interface Letters {
  /** Where the direction leads, and where it comes from. */
  ahead: string;
  behind: string;
}

const VECTORS: Readonly<Record<string, Vector>> = {
  R: [1, 0, 0], L: [-1, 0, 0], A: [0, 1, 0], P: [0, -1, 0], S: [0, 0, 1], I: [0, 0, -1], B: [0, 1, 0], F: [0, -1, 0], U: [0, 0, 1], D: [0, 0, -1],
};

/** Whether a file states left-handed axes: they stand mirrored along x (as the renderer places them). */
function isLeftHanded(code: string): boolean {
  const [x, y, z] = [...code].map((letter) => VECTORS[letter]);
  return x !== undefined && y !== undefined && z !== undefined && dot(cross(x, y), z) < 0;
}

/** The letters of a volume whose axes a user may have reversed. */
export function codeOf(transform: Transform, code: string): string {
  const standing = [isLeftHanded(code) ? -1 : 1, 1, 1];
  return [...code].map((letter, axis) => ((transform.scale[axis] ?? 1) * (standing[axis] ?? 1) < 0 ? (OPPOSITE[letter] ?? letter) : letter)).join("");
}

/** code: where the volume's x, y and z run, such as RAS; empty where the file does not know: then the axes are named. */
export function letterOf(direction: Vector, transform: Transform, code: string): Letters {
  const along = AXES.map((axis, index) => ({ index, share: dot(unit(direction), unit(directed(transform, axis))) })).toSorted((a, b) => Math.abs(b.share) - Math.abs(a.share));
  const [main] = along;
  if (!main) return { ahead: "", behind: "" };
  const parts = Math.abs(main.share) >= STRAIGHT ? [main] : along.filter(({ share }) => Math.abs(share) >= ASIDE);
  const letters = codeOf(transform, code);
  const name = (way: number): string => parts.map(({ index, share }) => nameOf(index, share * way, letters)).join("");
  return { ahead: name(1), behind: name(-1) };
}

function nameOf(index: number, share: number, code: string): string {
  const letter = code[index];
  if (letter) return share > 0 ? letter : (OPPOSITE[letter] ?? "");
  return share > 0 ? ("xyz"[index] ?? "") : "";
}
