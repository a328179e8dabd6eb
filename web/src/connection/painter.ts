// Painting images on canvases. Here: decoding in order, painting the newest, the time of each stage.
// Not here: where the canvases are (view/), how they are shown (shell/Statistics).

import type { FrameHeader, SliceHeader, View } from "../protocol";
import type { Timing } from "../state/state";
import { decodeStill, VideoStream, type Decoded } from "./decoder";
import type { Packet } from "./packet";

export interface Painted {
  header: FrameHeader;
  timing: Timing;
}

interface PainterListener {
  onPainted: (painted: Painted) => void;
  onSlice: (header: SliceHeader, image: Packet["image"]) => void;
  onLost: () => void;
}

/** The difference between the instance's clock and ours, from the fastest message so far: no message arrives before it was sent. */
export class ClockOffset {
  private smallest = Number.POSITIVE_INFINITY;

  observe(theirsMs: number, oursMs: number): void {
    this.smallest = Math.min(this.smallest, oursMs - theirsMs);
  }

  wireMs(theirsMs: number, oursMs: number): number {
    this.observe(theirsMs, oursMs);
    return oursMs - theirsMs - this.smallest;
  }
}

/** The last image of a canvas. */
interface Kept {
  decoded: ImageBitmap;
  paint: (canvas: HTMLCanvasElement) => void;
}

export class Painter {
  private readonly canvases = new Map<View, HTMLCanvasElement>();
  private readonly lastNumber = new Map<View, number>();
  private readonly streams: Record<View, VideoStream>;
  private readonly kept = new Map<View, Kept>();
  readonly clock = new ClockOffset();

  constructor(private readonly listener: PainterListener) {
    this.streams = { main: new VideoStream(listener.onLost), other: new VideoStream(listener.onLost) };
  }

  /** A canvas was added; its last image is shown at once. */
  attach(name: View, canvas: HTMLCanvasElement): () => void {
    this.canvases.set(name, canvas);
    this.kept.get(name)?.paint(canvas);
    return () => {
      if (this.canvases.get(name) === canvas) this.canvases.delete(name);
    };
  }

  /** What a canvas shows, small: the address of a JPEG; empty where there is none. */
  thumbnail(name: View, size: { width: number; height: number }): string {
    const canvas = this.canvases.get(name);
    const small = Object.assign(document.createElement("canvas"), size);
    const pen = small.getContext("2d", { alpha: false });
    if (!canvas || canvas.width === 0 || !pen) return "";
    const scale = Math.max(size.width / canvas.width, size.height / canvas.height);
    const [width, height] = [canvas.width * scale, canvas.height * scale];
    pen.imageSmoothingQuality = "high";
    pen.drawImage(canvas, (size.width - width) / 2, (size.height - height) / 2, width, height);
    return small.toDataURL("image/jpeg", 0.8);
  }

  /** A new connection numbers its frames from the start. */
  reset(): void {
    this.lastNumber.clear();
    for (const stream of Object.values(this.streams)) stream.close();
  }

  async receive(packet: Packet, arrivedMs: number): Promise<void> {
    if (packet.header.type === "slice") return this.listener.onSlice(packet.header, packet.image);
    return this.paintFrame(packet.header, packet.image, arrivedMs);
  }

  private async paintFrame(header: FrameHeader, image: Packet["image"], arrivedMs: number): Promise<void> {
    const wire = this.clock.wireMs(header.sent_at_ms, arrivedMs);
    let decoded: Decoded;
    try {
      decoded = await (header.encoding === "h264" ? this.streams[header.view].decode(header, image) : decodeStill(image, header.encoding));
    } catch {
      // A frame that cannot be shown is acknowledged too; otherwise the instance would wait.
      return this.listener.onPainted({ header, timing: timing(header, wire, 0, 0, 0) });
    }
    const decodedMs = performance.now();
    if (header.number >= (this.lastNumber.get(header.view) ?? -1)) {
      this.lastNumber.set(header.view, header.number);
      this.paint(header.view, decoded, (canvas) => {
        draw(canvas, decoded, header.full_width, header.full_height);
        // For tests: which image this is.
        Object.assign(canvas.dataset, { number: header.number, revision: header.revision, isExact: header.is_exact });
      });
    } else decoded.close();
    const paintedMs = performance.now();
    const total = header.input_sent_at_ms > 0 ? paintedMs - header.input_sent_at_ms : 0;
    this.listener.onPainted({ header, timing: timing(header, wire, decodedMs - arrivedMs, paintedMs - decodedMs, total) });
  }

  /** Paint an image now, and again on a canvas that is added later. */
  private paint(name: View, decoded: Decoded, paint: Kept["paint"]): void {
    const canvas = this.canvases.get(name);
    if (canvas) paint(canvas);
    this.kept.get(name)?.decoded.close();
    // A video frame belongs to the decoder's small pool, and must be returned to it.
    if (decoded instanceof ImageBitmap) this.kept.set(name, { decoded, paint });
    else {
      decoded.close();
      this.kept.delete(name);
    }
  }
}

function timing(header: FrameHeader, wire: number, decode: number, paint: number, total: number): Timing {
  return { ...header.times_ms, wire, decode, paint, total };
}

function draw(canvas: HTMLCanvasElement, image: Decoded, width: number, height: number): void {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const pen = canvas.getContext("2d", { alpha: false, desynchronized: true });
  if (!pen) return;
  pen.imageSmoothingQuality = "medium";
  pen.drawImage(image, 0, 0, width, height);
}
