// Round numbers on an axis. Not here: where they are shown (components/Ticks.tsx).

/** Round numbers from low to high, with at most `most` steps between them: multiples of 1, 2 or 5 times a power of ten. */
export function ticks(low: number, high: number, most: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = power * ([1, 2, 5].find((factor) => (span / power) / factor <= most * (1 + 1e-9)) ?? 10);
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}
