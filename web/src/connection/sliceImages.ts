// The latest image of every slice. Here: decoding in order, the newest wins; painting the part that is in sight.
// Not here: which parts are in sight (geometry/sliceView.ts), who asks for them (session/sliceViewSender.ts).

import type { Region } from "../geometry/sliceView";
import { inPanel } from "../geometry/sliceView";
import type { SliceAxis, SliceHeader } from "../protocol";
import { decodeStill } from "./decoder";

interface Shown {
  header: SliceHeader;
  bitmap: ImageBitmap;
}

type Listener = () => void;

export class SliceImages {
  private readonly shown = new Map<SliceAxis, Shown>();
  private readonly latest = new Map<SliceAxis, number>();
  private readonly listeners = new Map<SliceAxis, Set<Listener>>();

  /** onShown: an image is there, or could not be decoded. */
  constructor(private readonly onShown: (header: SliceHeader, isDecoded: boolean) => void) {}

  async receive(header: SliceHeader, image: Uint8Array<ArrayBuffer>): Promise<void> {
    this.latest.set(header.axis, header.number);
    let bitmap: ImageBitmap;
    try {
      bitmap = await decodeStill(image, header.encoding);
    } catch {
      return this.onShown(header, false);
    }
    if ((this.latest.get(header.axis) ?? 0) > header.number && this.shown.has(header.axis)) bitmap.close();
    else this.put({ header, bitmap });
    this.onShown(header, true);
  }

  headerOf(axis: SliceAxis): SliceHeader | null {
    return this.shown.get(axis)?.header ?? null;
  }

  /** Slices are not shown any more, or those of another viewer will be. */
  clear(): void {
    for (const { bitmap } of this.shown.values()) bitmap.close();
    this.shown.clear();
    this.latest.clear();
  }

  listen(axis: SliceAxis, listener: Listener): () => void {
    const all = this.listeners.get(axis) ?? new Set<Listener>();
    this.listeners.set(axis, all.add(listener));
    return () => all.delete(listener);
  }

  /** Paint a part of a slice over all of a canvas. */
  paint(axis: SliceAxis, canvas: HTMLCanvasElement, region: Region): void {
    const pen = canvas.getContext("2d", { alpha: false });
    if (!pen) return;
    pen.fillStyle = "#000";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    const shown = this.shown.get(axis);
    if (!shown) return;
    const [left, top] = inPanel(region, shown.header.region[0], shown.header.region[1]);
    const [right, bottom] = inPanel(region, shown.header.region[2], shown.header.region[3]);
    const [x, y, width, height] = [left * canvas.width, top * canvas.height, (right - left) * canvas.width, (bottom - top) * canvas.height];
    const isPixelForPixel = Math.abs(width - shown.bitmap.width) < 0.5 && Math.abs(height - shown.bitmap.height) < 0.5;
    pen.imageSmoothingEnabled = !isPixelForPixel;
    if (isPixelForPixel) pen.drawImage(shown.bitmap, Math.round(x), Math.round(y));
    else pen.drawImage(shown.bitmap, x, y, width, height);
    // For tests: which image this is.
    const { index, revision, is_exact: isExact, number } = shown.header;
    Object.assign(canvas.dataset, { index, revision, isExact: isExact && isPixelForPixel, number });
  }

  private put(next: Shown): void {
    this.shown.get(next.header.axis)?.bitmap.close();
    this.shown.set(next.header.axis, next);
    for (const listener of this.listeners.get(next.header.axis) ?? []) listener();
  }
}
