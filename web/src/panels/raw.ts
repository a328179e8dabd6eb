// Files without a header. Here: what shape and type one may have, by its name and size. Not here: the form (RawForm).

export interface RawLayout {
  /** Voxels along z, y, x. */
  shape: readonly [number, number, number];
  dtype: string;
  order: "le" | "be";
  /** Bytes before the first voxel. */
  offset: number;
}

const BYTES: Readonly<Record<string, number>> = { uint8: 1, int8: 1, uint16: 2, int16: 2, uint32: 4, int32: 4, uint64: 8, int64: 8, float16: 2, float32: 4, float64: 8 };
export const TYPES = Object.keys(BYTES);
const USUAL = ["uint8", "uint16", "float32"];
const EDGES = [2048, 1024, 512, 256, 128, 64];

export function neededBytes({ shape: [z, y, x], dtype }: Pick<RawLayout, "shape" | "dtype">): number {
  return z * y * x * (BYTES[dtype] ?? 1);
}

/** As the instance names it. */
export function rawLocation(path: string, { shape, dtype, order, offset }: RawLayout): string {
  return `${path}:shape=${shape.join(",")},dtype=${dtype},order=${order},offset=${offset}`;
}

/** From the name, and otherwise from the size of the file; the remaining bytes would be a header. */
export function guessedLayout(name: string, bytes: number): RawLayout {
  const lower = name.toLowerCase();
  const named = shapeIn(lower);
  const type = TYPES.find((one) => new RegExp(`(?<![a-z])${one}(?![0-9])`).test(lower));
  const types = type ? [type] : named ? TYPES : USUAL;
  const layouts = types.flatMap((dtype) => (named ? [{ shape: named, dtype }] : shapesOf(bytes, dtype).map((shape) => ({ shape, dtype }))));
  const found = layouts.find((one) => neededBytes(one) === bytes) ?? layouts.findLast((one) => neededBytes(one) <= bytes) ?? layouts[0] ?? cube(bytes, types[0] ?? "uint8");
  return { ...found, order: /[_.-](be|big)(?![a-z])/.test(lower) ? "be" : "le", offset: Math.max(0, bytes - neededBytes(found)) };
}

/** 512x256x100 has x first. */
function shapeIn(name: string): RawLayout["shape"] | null {
  const found = /(?<![0-9a-z])(\d+)x(\d+)x(\d+)(?![0-9x])/.exec(name);
  return found ? [Number(found[3]), Number(found[2]), Number(found[1])] : null;
}

/** Shapes of exactly this size: a cube, or square slices of a common width. */
function shapesOf(bytes: number, dtype: string): RawLayout["shape"][] {
  const count = bytes / (BYTES[dtype] ?? 1);
  const edge = Math.round(Math.cbrt(count));
  const slices = EDGES.filter((one) => count % (one * one) === 0).map((one): RawLayout["shape"] => [count / (one * one), one, one]);
  return edge ** 3 === count ? [[edge, edge, edge], ...slices] : slices;
}

function cube(bytes: number, dtype: string): Pick<RawLayout, "shape" | "dtype"> {
  const edge = Math.max(1, Math.floor(Math.cbrt(bytes / (BYTES[dtype] ?? 1)) + 1e-9));
  return { shape: [edge, edge, edge], dtype };
}
