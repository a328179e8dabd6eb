// Telling the instance which slices this page shows, and which part of them: once per animation frame, the latest wins.

import type { ShowSlices, SliceAxis, SliceView, View } from "../protocol";

interface Clock {
  frame: (act: () => void) => number;
}

const BROWSER: Clock = { frame: (act) => requestAnimationFrame(act) };
const MAX_EDGE = 4096;

export class SliceViewSender {
  private readonly views = new Map<string, SliceView>();
  private isPlanned = false;

  constructor(
    private readonly send: (message: ShowSlices) => boolean,
    private readonly clock: Clock = BROWSER,
  ) {}

  show(view: SliceView): void {
    const shrunk = Math.min(1, MAX_EDGE / Math.max(view.width, view.height));
    const size = { width: Math.max(1, Math.round(view.width * shrunk)), height: Math.max(1, Math.round(view.height * shrunk)) };
    this.views.set(`${view.view} ${view.axis}`, { ...view, ...size });
    this.plan();
  }

  hide(view: View, axis: SliceAxis): void {
    if (this.views.delete(`${view} ${axis}`)) this.plan();
  }

  /** A new connection knows nothing yet. */
  resend(): void {
    if (this.views.size > 0) this.plan();
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.clock.frame(() => {
      this.isPlanned = false;
      this.send({ type: "show_slices", views: [...this.views.values()] });
    });
  }
}
