// Numbers of a model that is evaluated. Not here: showing them (ModelSection.tsx).

const MIN_POWER = 10;
const MAX_POWER = 21;
const STEPS = { low: 0.01, high: 100 };

/** Powers of two to choose from, and the number that is used now. */
export function batches(present: number): number[] {
  const powers = Array.from({ length: MAX_POWER - MIN_POWER + 1 }, (_, index) => 2 ** (MIN_POWER + index));
  return [...new Set([...powers, present])].toSorted((one, other) => one - other);
}

/** Along the longest edge of a volume. step: between two samples, in voxels. */
export const samplesPerRay = (shape: readonly number[], step: number): number => Math.max(...shape) / step;

export const stepFor = (shape: readonly number[], samples: number): number =>
  Math.min(STEPS.high, Math.max(STEPS.low, Number((Math.max(...shape) / Math.max(samples, 1)).toPrecision(4))));
