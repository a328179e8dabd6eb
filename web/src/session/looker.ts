// The camera on its way to the instance: once per animation frame, the latest wins.

import type { Camera, Look } from "../protocol";

interface Clock {
  frame: (act: () => void) => number;
  now: () => number;
}

const BROWSER: Clock = { frame: (act) => requestAnimationFrame(act), now: () => performance.now() };

export class Looker {
  private next: { camera: Camera; isMoving: boolean; atMs: number } | null = null;

  constructor(
    private readonly send: (message: Look) => boolean,
    private readonly clock: Clock = BROWSER,
  ) {}

  look(camera: Camera, isMoving: boolean): void {
    const isPlanned = this.next !== null;
    // The first of several inputs counts: from it on, somebody is waiting.
    this.next = { camera, isMoving, atMs: this.next?.atMs ?? this.clock.now() };
    if (!isPlanned) this.clock.frame(() => this.flush());
  }

  private flush(): void {
    const { next } = this;
    this.next = null;
    if (next) this.send({ type: "look", camera: next.camera, is_moving: next.isMoving, sent_at_ms: next.atMs });
  }
}
