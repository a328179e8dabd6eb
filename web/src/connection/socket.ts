// The connection to the instance: opened, kept open, and reopened after an interruption.
// Here: the WebSocket, the proof that it leads to the viewer before anything else is sent, waiting longer each time, why it failed. Not here: what messages mean (session/).

import type { Incoming, Outgoing } from "../protocol";
import { type Access, FRESH_LINK } from "./access";
import type { ConnectionState } from "../state/state";

export interface Listener {
  onConnection: (connection: ConnectionState) => void;
  /** The viewer has proved itself: say hello, with this page's own proof. */
  onOpen: (proof: string) => void;
  onText: (message: Outgoing) => void;
  onBytes: (message: ArrayBuffer) => void;
}

/** Provided by the browser, or by tests. */
export interface World {
  connect: (address: URL) => WebSocket;
  fetch: (address: string) => Promise<Response>;
  later: (act: () => void, ms: number) => number;
  never: (timer: number) => void;
  now: () => number;
  /** Show another address in the place of this page. */
  go: (address: string) => void;
  address: string;
}

const FIRST_WAIT_MS = 300;
const MAX_WAIT_MS = 5000;
const GROWTH = 1.6;
const OTHER_VERSION = 4000;
const ENDED = 4001;
const WITHDRAWN = 4003;
const UNKNOWN = 4004;
const BUSY = 1013;

export class Socket {
  private socket: WebSocket | null = null;
  private waitMs = FIRST_WAIT_MS;
  private timer = 0;
  private hasEnded = false;
  private isProven = false;

  constructor(
    private readonly listener: Listener,
    private readonly world: World,
    private readonly access: Pick<Access, "challenge" | "answer" | "welcomed" | "lost" | "gone">,
  ) {}

  /** Try now, without waiting. */
  open(): void {
    this.world.never(this.timer);
    const address = new URL("ws", this.world.address);
    address.search = "";
    address.protocol = address.protocol.replace("http", "ws");
    const socket = this.world.connect(address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.isProven = false;
    let wasOpen = false;
    socket.addEventListener("open", () => {
      wasOpen = true;
      socket.send(JSON.stringify(this.access.challenge()));
    });
    socket.addEventListener("message", (event: MessageEvent<unknown>) => this.receive(event.data, socket));
    socket.addEventListener("close", (event) => {
      if (this.socket === socket) void this.closed(event.code, wasOpen);
    });
  }

  send(message: Incoming): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  close(): void {
    this.world.never(this.timer);
    const { socket } = this;
    this.socket = null;
    socket?.close();
  }

  private receive(message: unknown, socket: WebSocket): void {
    if (socket !== this.socket) return;
    if (!this.isProven) return this.check(message, socket);
    if (message instanceof ArrayBuffer) return this.listener.onBytes(message);
    if (typeof message !== "string") return;
    const heard = JSON.parse(message) as Outgoing;
    if (heard.type === "moved") {
      // The viewer was restarted. Until then another user may have served something at this page's address, which the browser keeps.
      this.close();
      return this.world.go(heard.url);
    }
    if (heard.type === "welcome") {
      this.access.welcomed(heard.token);
      this.waitMs = FIRST_WAIT_MS;
      this.hasEnded = false;
      this.listener.onConnection({ phase: "open" });
    }
    if (heard.type === "shutting_down") this.hasEnded = true;
    this.listener.onText(heard);
  }

  /** No message counts before the proof. */
  private check(message: unknown, socket: WebSocket): void {
    const heard = typeof message === "string" ? (JSON.parse(message) as Outgoing) : null;
    if (heard?.type === "error") return; // Another version: the close code reports it.
    const proof = heard?.type === "proof" ? this.access.answer(heard) : null;
    if (proof === null) {
      socket.close();
      return this.doubt();
    }
    this.isProven = true;
    return this.listener.onOpen(proof);
  }

  /** The server cannot prove that it is the viewer: nothing is sent to it, and the viewer may return later. */
  private doubt(): void {
    this.socket = null;
    this.access.lost();
    this.access.gone();
    this.wait("The server at this address is not the viewer that opened this page.", `No data was sent to it. If the viewer was restarted, open a new link. ${FRESH_LINK}`);
  }

  private async closed(code: number, wasOpen: boolean): Promise<void> {
    this.socket = null;
    this.access.lost();
    if (!wasOpen) this.access.gone();
    if (code === OTHER_VERSION) {
      return this.give("This page and the viewer have different versions.", "Reload the page.");
    }
    if (code === WITHDRAWN) return this.give("Your access was revoked.", "Ask the owner for a new link.");
    if (code === UNKNOWN) return this.give("The viewer no longer recognises this page.", FRESH_LINK);
    if (code === BUSY) return this.wait("Too many pages are connected to this viewer.", "Close one of them. This page then reconnects by itself.");
    // The viewer has sent its reason for stopping, which stays on the screen; a new one at this address is found.
    if (code === ENDED || this.hasEnded) return this.retry();
    if (wasOpen) return this.wait("Reconnecting", "The connection to the viewer was lost.");
    return this.wait(...(await this.reason()));
  }

  /** A WebSocket does not report why it failed, but HTTP does. */
  private async reason(): Promise<[string, string]> {
    try {
      const answer = await this.world.fetch("icon.svg");
      if (!answer.ok) return ["This page has no access to the viewer.", "Reload the page and log in if asked."];
      return ["Connecting", "The viewer does not accept connections yet."];
    } catch {
      return ["The viewer does not respond", "Check that it is running. This page then reconnects by itself."];
    }
  }

  private wait(what: string, remedy: string): void {
    this.listener.onConnection({ phase: "waiting", what, remedy, retryAtMs: this.world.now() + this.waitMs });
    this.retry();
  }

  private retry(): void {
    this.timer = this.world.later(() => this.open(), this.waitMs);
    this.waitMs = Math.min(this.waitMs * GROWTH, MAX_WAIT_MS);
  }

  private give(what: string, remedy: string): void {
    this.listener.onConnection({ phase: "closed", what, remedy });
  }
}
