// Lengths and numbers as text.
// Here: round lengths for a scale bar, numbers, byte counts. Not here: where they are shown.

const PREFIXES = ["", "k", "M", "G", "T"];

/** The largest of 1, 2, 5 times a power of ten that is not above the limit. */
export function roundLength(limit: number): number {
  if (!(limit > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(limit) + 1e-12);
  const factor = [5, 2, 1].find((one) => one * power <= limit * (1 + 1e-12)) ?? 1;
  return factor * power;
}

/** A number with four digits; very large and very small ones as powers of ten. */
export function short(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(size >= 1e4 ? Math.max(digits, 6) : digits)));
}

/** A value with as many digits as its range needs. */
export function within(value: number, range: readonly [number, number]): string {
  const spread = Math.abs(range[1] - range[0]);
  if (!(spread > 0)) return short(value);
  const smallest = 10 ** Math.floor(Math.log10(spread / 1000));
  return short(Math.round(value / smallest) * smallest, 6);
}

export function bytes(count: number): string {
  let size = count;
  let step = 0;
  while (size >= 1000 && step < PREFIXES.length - 1) {
    size /= 1000;
    step += 1;
  }
  return `${step === 0 ? size : size.toPrecision(3)} ${PREFIXES[step] ?? ""}B`;
}

/** In powers of 1024, as memory is counted. */
export function binaryBytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = Math.min(Math.floor(Math.log2(Math.max(count, 1)) / 10), units.length - 1);
  const size = count / 1024 ** step;
  return `${step > 0 && size < 100 ? size.toFixed(1) : Math.round(size)} ${units[step] ?? ""}`;
}

/** The unit as it is written. */
export const unitText = (unit: string): string => unit.replace(/^um$/, "µm");

export const withUnit = (value: number, unit: string): string => `${short(value)} ${unitText(unit)}`.trim();

export function milliseconds(seconds: number): string {
  const value = seconds * 1000;
  return value >= 100 ? `${Math.round(value)} ms` : `${value.toFixed(1)} ms`;
}

/** "1 flat", "10 flats". */
export const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;
