// Sending the camera and the cross-hair to the instance: once per animation frame, the latest wins.

import type { Camera, SetCamera, Slices } from "../protocol";

interface Clock {
  frame: (act: () => void) => number;
  now: () => number;
}

const BROWSER: Clock = { frame: (act) => requestAnimationFrame(act), now: () => performance.now() };

/** Of several messages in one animation frame, only the last is sent. */
export class SliceSender {
  private next: Slices | null = null;

  constructor(
    private readonly send: (message: Slices) => boolean,
    private readonly clock: Clock = BROWSER,
  ) {}

  cut(message: Slices): void {
    if (this.next === null) this.clock.frame(() => this.flush());
    this.next = message;
  }

  private flush(): void {
    if (this.next) this.send(this.next);
    this.next = null;
  }
}

export class CameraSender {
  private next: { camera: Camera; isMoving: boolean; atMs: number } | null = null;

  constructor(
    private readonly send: (message: SetCamera) => boolean,
    private readonly clock: Clock = BROWSER,
  ) {}

  look(camera: Camera, isMoving: boolean): void {
    const isPlanned = this.next !== null;
    // The first of several inputs counts: from then on the user is waiting.
    this.next = { camera, isMoving, atMs: this.next?.atMs ?? this.clock.now() };
    if (!isPlanned) this.clock.frame(() => this.flush());
  }

  private flush(): void {
    const { next } = this;
    this.next = null;
    if (next) this.send({ type: "set_camera", camera: next.camera, is_moving: next.isMoving, sent_at_ms: next.atMs });
  }
}
