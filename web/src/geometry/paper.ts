// Sizes on paper. Not here: drawing at them (the instance does).

type LengthUnit = "px" | "cm";

export interface PaperSize {
  width: number;
  height: number;
  unit: LengthUnit;
  dpi: number;
}

const CM_PER_INCH = 2.54;

/** Whole pixels across and down, no more than most. */
export function pixelsOf({ width, height, unit, dpi }: PaperSize, most: number): { width: number; height: number } {
  const factor = unit === "cm" ? dpi / CM_PER_INCH : 1;
  const whole = (length: number): number => Math.min(most, Math.max(1, Math.round(length * factor)));
  return { width: whole(width), height: whole(height) };
}

/** The same size in another unit, to a tenth of a millimetre. */
export function inUnit(size: PaperSize, unit: LengthUnit): PaperSize {
  if (unit === size.unit) return size;
  const factor = unit === "cm" ? CM_PER_INCH / size.dpi : size.dpi / CM_PER_INCH;
  const round = (length: number): number => (unit === "cm" ? Math.round(length * factor * 100) / 100 : Math.round(length * factor));
  return { ...size, unit, width: round(size.width), height: round(size.height) };
}

/** As large as fits into a square. */
export function fitted(size: { width: number; height: number }, edge: number): { width: number; height: number } {
  const scale = Math.min(1, edge / Math.max(size.width, size.height));
  return { width: Math.max(1, Math.round(size.width * scale)), height: Math.max(1, Math.round(size.height * scale)) };
}
