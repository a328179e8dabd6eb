// Decoding images. Here: JPEG and PNG by the browser, H.264 by WebCodecs. Not here: painting (painter.ts).
//
// H.264 frames depend on earlier ones: all are decoded in order. A still image may overtake them.

import type { Encoding, FrameHeader } from "../protocol";

export type Decoded = ImageBitmap | VideoFrame;

/** Whether this browser decodes H.264 here; WebCodecs exists only in a secure context. */
export async function supportedEncodings(): Promise<Encoding[]> {
  const still: Encoding[] = ["jpeg", "png"];
  if (!("VideoDecoder" in globalThis)) return still;
  try {
    const answer = await VideoDecoder.isConfigSupported({ codec: "avc1.42E034", optimizeForLatency: true });
    return answer.supported ? [...still, "h264"] : still;
  } catch {
    return still;
  }
}

export function decodeStill(image: Uint8Array<ArrayBuffer>, encoding: Encoding): Promise<ImageBitmap> {
  return createImageBitmap(new Blob([image], { type: `image/${encoding}` }));
}

const TIMEOUT_MS = 1500;

interface Waiting {
  resolve: (frame: VideoFrame) => void;
  reject: (reason: Error) => void;
}

/** One stream of H.264. onLost: the stream cannot be followed; ask for a key frame. */
export class VideoStream {
  private decoder: VideoDecoder | null = null;
  private configured = "";
  private readonly waiting = new Map<number, Waiting>();

  constructor(private readonly onLost: () => void) {}

  decode(header: FrameHeader, image: Uint8Array<ArrayBuffer>): Promise<VideoFrame> {
    const wanted = `${header.codec} ${header.width}x${header.height}`;
    if (header.is_key && (this.configured !== wanted || this.decoder?.state !== "configured")) this.configure(header.codec, wanted);
    const { decoder } = this;
    if (decoder?.state !== "configured") {
      this.onLost();
      return Promise.reject(new Error("no key frame yet"));
    }
    return new Promise((resolve, reject) => {
      this.waiting.set(header.number, { resolve, reject });
      setTimeout(() => this.lose(header.number), TIMEOUT_MS);
      decoder.decode(new EncodedVideoChunk({ type: header.is_key ? "key" : "delta", timestamp: header.number, data: image }));
    });
  }

  close(): void {
    if (this.decoder && this.decoder.state !== "closed") this.decoder.close();
    this.decoder = null;
    this.configured = "";
    for (const { reject } of this.waiting.values()) reject(new Error("closed"));
    this.waiting.clear();
  }

  private configure(codec: string, wanted: string): void {
    this.close();
    this.decoder = new VideoDecoder({
      output: (frame) => this.finished(frame),
      error: () => {
        this.close();
        this.onLost();
      },
    });
    // Without this the decoder delays one frame.
    this.decoder.configure({ codec, optimizeForLatency: true });
    this.configured = wanted;
  }

  /** If a frame is never decoded, the instance would wait for its acknowledgement. */
  private lose(number: number): void {
    if (!this.waiting.has(number)) return;
    this.close();
    this.onLost();
  }

  private finished(frame: VideoFrame): void {
    const number = frame.timestamp;
    const waiting = this.waiting.get(number);
    this.waiting.delete(number);
    if (waiting) waiting.resolve(frame);
    else frame.close();
  }
}
