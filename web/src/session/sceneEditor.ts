// Changes of the scene, one message at a time. Further changes are merged and wait.

import type { Change, Patch, ErrorMessage } from "../protocol";
import type { Store } from "../state/store";

type Send = (message: Patch) => boolean;

export class SceneEditor {
  private request = "";
  private count = 0;
  private isMoving = false;
  private sentFor = -1;

  constructor(
    private readonly store: Store,
    private readonly send: Send,
  ) {}

  /** isMoving: more of the same will follow, because something is held. */
  change(changes: readonly Change[], isMoving: boolean): void {
    this.store.dispatch({ type: "queue", changes });
    this.isMoving = isMoving;
    this.flush();
  }

  /** The instance sent its state: if it is the reply to our change, the next one is sent. */
  answered(request: string): void {
    if (request === this.request) this.request = "";
    this.flush();
  }

  /** Whether this error is for our change, and not only because the scene changed meanwhile. */
  refused(refusal: ErrorMessage): boolean {
    if (refusal.request === "" || refusal.request !== this.request) return true;
    this.request = "";
    const isLate = refusal.revision !== this.sentFor;
    this.store.dispatch({ type: isLate ? "resend" : "forget-changes" });
    if (isLate) this.flush();
    return !isLate;
  }

  /** The connection was lost: changes in progress are sent again once the scene is known. */
  reset(): void {
    this.request = "";
    this.store.dispatch({ type: "resend" });
  }

  private flush(): void {
    const { queued, server, interface: page } = this.store.get();
    if (this.request !== "" || queued.length === 0 || server === null) return;
    const request = `patch-${++this.count}`;
    const { revision } = server;
    const message: Patch = { type: "patch", revision, changes: queued, view: page.editedView, is_moving: this.isMoving, request };
    if (!this.send(message)) return;
    this.request = request;
    this.sentFor = revision;
    this.store.dispatch({ type: "send", request });
  }
}
