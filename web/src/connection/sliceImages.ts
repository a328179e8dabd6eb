// The latest image of every slice. Here: decoding in order, the newest wins; painting the part that is in sight.
// Not here: which parts are in sight (geometry/sliceView.ts), who asks for them (session/sliceViewSender.ts).

import type { Region } from "../geometry/sliceView";
import { inPanel } from "../geometry/sliceView";
import type { SliceAxis, SliceHeader, View } from "../protocol";
import { decodeStill } from "./decoder";

interface Shown {
  header: SliceHeader;
  bitmap: ImageBitmap;
}

type Listener = () => void;

/** Of which scene, where two are compared, and across which axis. */
type Key = `${View} ${SliceAxis}`;
const keyOf = (view: View, axis: SliceAxis): Key => `${view} ${axis}`;

export class SliceImages {
  private readonly shown = new Map<Key, Shown>();
  private readonly latest = new Map<Key, number>();
  private readonly listeners = new Map<Key, Set<Listener>>();

  /** onShown: an image is there, or could not be decoded. */
  constructor(private readonly onShown: (header: SliceHeader, isDecoded: boolean) => void) {}

  async receive(header: SliceHeader, image: Uint8Array<ArrayBuffer>): Promise<void> {
    const key = keyOf(header.view, header.axis);
    this.latest.set(key, header.number);
    let bitmap: ImageBitmap;
    try {
      bitmap = await decodeStill(image, header.encoding);
    } catch {
      return this.onShown(header, false);
    }
    if ((this.latest.get(key) ?? 0) > header.number && this.shown.has(key)) bitmap.close();
    else this.put(key, { header, bitmap });
    this.onShown(header, true);
  }

  /** Of the scene's own slice: that of the compared scene is shown at the same place. */
  headerOf(axis: SliceAxis): SliceHeader | null {
    return this.shown.get(keyOf("main", axis))?.header ?? null;
  }

  /** Slices are not shown any more, or those of another viewer will be. */
  clear(): void {
    for (const { bitmap } of this.shown.values()) bitmap.close();
    this.shown.clear();
    this.latest.clear();
  }

  /** The scenes that are compared are not any more. */
  forgetCompared(): void {
    for (const [key, { bitmap, header }] of this.shown) {
      if (header.view === "main") continue;
      bitmap.close();
      this.shown.delete(key);
    }
  }

  listen(view: View, axis: SliceAxis, listener: Listener): () => void {
    const key = keyOf(view, axis);
    const all = this.listeners.get(key) ?? new Set<Listener>();
    this.listeners.set(key, all.add(listener));
    return () => all.delete(listener);
  }

  /** Paint a part of a slice over all of a canvas. */
  paint(view: View, axis: SliceAxis, canvas: HTMLCanvasElement, region: Region): void {
    const pen = canvas.getContext("2d", { alpha: false });
    if (!pen) return;
    pen.fillStyle = "#000";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    const shown = this.shown.get(keyOf(view, axis));
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

  private put(key: Key, next: Shown): void {
    this.shown.get(key)?.bitmap.close();
    this.shown.set(key, next);
    for (const listener of this.listeners.get(key) ?? []) listener();
  }
}
