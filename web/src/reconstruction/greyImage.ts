// A grey image with 16 bits for each pixel. Here: its values, percentiles, drawing it in a grey window. Not here: asking for it (previewQueue.ts).

import type { PreviewHeader } from "../protocol";
import { opened, type GreyWindow } from "../geometry/greyWindow";

const CODES = 65536;

export interface GreyImage {
  readonly width: number;
  readonly height: number;
  readonly codes: Uint16Array;
  /** The values of the codes 0 and 65535. */
  readonly low: number;
  readonly high: number;
  /** How many pixels have each code, apart from those that are exactly 0: they are outside the circle of a slice. */
  readonly counts: Uint32Array;
}

export function greyImageOf({ width, height, code_low: low, code_high: high }: PreviewHeader, bytes: Uint8Array): GreyImage {
  // A copy: the bytes may begin anywhere in a packet.
  const codes = new Uint16Array(bytes.slice().buffer, 0, width * height);
  const counts = new Uint32Array(CODES);
  for (const code of codes) counts[code] = (counts[code] ?? 0) + 1;
  const nothing = codeOf(0, low, high);
  if (nothing >= 0 && nothing < CODES) counts[nothing] = 0;
  return { width, height, codes, low, high, counts };
}

const codeOf = (value: number, low: number, high: number): number => (high > low ? Math.round(((value - low) / (high - low)) * (CODES - 1)) : 0);
const valueOf = (code: number, { low, high }: GreyImage): number => low + ((high - low) * code) / (CODES - 1);

/** The value of a pixel; null outside the image. */
export function valueAt(image: GreyImage, column: number, row: number): number | null {
  if (column < 0 || row < 0 || column >= image.width || row >= image.height) return null;
  return valueOf(image.codes[row * image.width + column] ?? 0, image);
}

/** The window that leaves out so many percent of the pixels at either end. */
export function percentileWindow(image: GreyImage, percent: number): GreyWindow {
  const total = image.counts.reduce((sum, count) => sum + count, 0);
  const find = (codes: Iterable<number>): number => {
    let left = (total * percent) / 100;
    for (const code of codes) {
      const count = image.counts[code] ?? 0;
      if (count > 0 && left < count) return code;
      left -= count;
    }
    return 0;
  };
  return opened(valueOf(find(upwards()), image), valueOf(find(downwards()), image));
}

function* upwards(): Iterable<number> {
  for (let code = 0; code < CODES; code++) yield code;
}

function* downwards(): Iterable<number> {
  for (let code = CODES - 1; code >= 0; code--) yield code;
}

/** The pixels in a grey window, as they are painted. */
export function painted(image: GreyImage, [low, high]: GreyWindow): ImageData {
  const greys = new Uint8ClampedArray(CODES);
  for (let code = 0; code < CODES; code++) greys[code] = Math.floor((255 * (valueOf(code, image) - low)) / (high - low || 1) + 0.5);
  const data = new ImageData(image.width, image.height);
  const pixels = new Uint32Array(data.data.buffer);
  image.codes.forEach((code, index) => {
    pixels[index] = 0xff000000 | ((greys[code] ?? 0) * 0x010101);
  });
  return data;
}
