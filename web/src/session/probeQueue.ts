// Probing a position of the image. Only the latest request counts; earlier ones resolve to null.

import type { Hit, Probe, ProbeResult, ProbeSlice } from "../protocol";

type Resolve = (hit: Hit | null) => void;
type Question = Omit<Probe, "request"> | Omit<ProbeSlice, "request">;

export class ProbeQueue {
  private count = 0;
  private readonly waiting = new Map<string, Resolve>();

  constructor(private readonly send: (message: Probe | ProbeSlice) => boolean) {}

  /** Whether a request is in progress: while the mouse moves, one at a time is enough. */
  get isBusy(): boolean {
    return this.waiting.size > 0;
  }

  ask(question: Question): Promise<Hit | null> {
    this.forget();
    const request = `probe-${++this.count}`;
    return new Promise((resolve) => {
      this.waiting.set(request, resolve);
      if (!this.send({ ...question, request })) this.forget();
    });
  }

  answered(message: ProbeResult): void {
    this.waiting.get(message.request)?.(message.hit);
    this.waiting.delete(message.request);
  }

  forget(): void {
    for (const resolve of this.waiting.values()) resolve(null);
    this.waiting.clear();
  }
}
