// GPUs, memory, partition and time of a job. Here: from typed text to a request. Not here: their fields (ResourceFields.tsx).

import { RequestError } from "../connection/requestError";
import type { ViewerRequest } from "./protocol";

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

export function parseBytes(text: string): number {
  const [, number, unit] = /^([\d.]+)\s*([kmgt]?)i?b?$/i.exec(text.trim()) ?? [];
  const bytes = Number(number) * (UNITS[unit?.toLowerCase() ?? ""] ?? 1);
  if (!Number.isFinite(bytes)) throw new RequestError(`Invalid memory size "${text}".`, "Use a size such as 64 GiB.");
  return Math.round(bytes);
}

/** What is empty is left to the estimate and to the site. */
export function parseResources(values: Readonly<Record<string, string>>): Pick<ViewerRequest, "gpus" | "memory_bytes" | "overrides"> {
  const { gpus, memory, partition, time } = values;
  const overrides = { ...(partition ? { partition } : {}), ...(time ? { time_limit_minutes: Number(time) } : {}) };
  return { ...(gpus ? { gpus: Number(gpus) } : {}), ...(memory ? { memory_bytes: parseBytes(memory) } : {}), overrides };
}

export const parseShape = (text: string): number[] => text.split(/[ ,x×]+/).filter(Boolean).map(Number);
