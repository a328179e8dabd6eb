// Opacity presets, and the user's own transfer functions stored in the browser.
// Not here: colour maps, which the instance provides.

import type { TransferFunction } from "../protocol";
import type { OpacityPoint } from "./points";

export interface Shape {
  name: string;
  opacities: OpacityPoint[];
}

export const SHAPES: readonly Shape[] = [
  { name: "Ramp", opacities: [[0, 0], [1, 1]] },
  { name: "Haze", opacities: [[0, 0], [0.15, 0], [1, 0.12]] },
  { name: "Solid", opacities: [[0, 0], [0.3, 0], [0.34, 0.9], [1, 1]] },
  { name: "Skin", opacities: [[0, 0], [0.22, 0], [0.28, 0.35], [0.34, 0], [0.62, 0], [0.75, 0.9], [1, 1]] },
  { name: "Band", opacities: [[0, 0], [0.4, 0], [0.5, 0.8], [0.6, 0], [1, 0]] },
  { name: "Shells", opacities: [[0, 0], [0.2, 0], [0.24, 0.3], [0.28, 0], [0.45, 0], [0.49, 0.5], [0.53, 0], [0.74, 0], [0.78, 0.9], [1, 0.9]] },
];

const KEY = "pellucid-transfer-functions";

export interface Kept {
  name: string;
  transfer: TransferFunction;
}

/** The transfer functions stored in this browser; none if it stores nothing. */
export function keptTransfers(storage: Pick<Storage, "getItem">): Kept[] {
  try {
    const list: unknown = JSON.parse(storage.getItem(KEY) ?? "[]");
    return Array.isArray(list) ? list.filter(isKept) : [];
  } catch {
    return [];
  }
}

/** Store a transfer function under a name; one of the same name is replaced. */
export function keepTransfer(storage: Pick<Storage, "getItem" | "setItem">, kept: Kept): Kept[] {
  const list = [...keptTransfers(storage).filter((one) => one.name !== kept.name), kept];
  storage.setItem(KEY, JSON.stringify(list));
  return list;
}

export function forgetTransfer(storage: Pick<Storage, "getItem" | "setItem">, name: string): Kept[] {
  const list = keptTransfers(storage).filter((one) => one.name !== name);
  storage.setItem(KEY, JSON.stringify(list));
  return list;
}

function isKept(one: unknown): one is Kept {
  if (typeof one !== "object" || one === null || !("name" in one) || !("transfer" in one)) return false;
  const { transfer } = one;
  return typeof transfer === "object" && transfer !== null && "colors" in transfer && "opacities" in transfer;
}
