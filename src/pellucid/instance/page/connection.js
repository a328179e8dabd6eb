// The line to the instance: opened, kept open, opened again when it breaks.
// Here: messages in and out, patches one at a time. Not here: what they mean for the page (viewer.js).

export const VERSION = 1;
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 5000;

export class Connection {
  /** on: {scene(answer), welcome, changed, refusal, frame(header, bytes), state(what, remedy, isError)} */
  constructor(on, size) {
    this.on = on;
    this.size = size;
    this.revision = 0;
    this.wait = FIRST_WAIT_MS;
    this.isPatching = false;
    this.patch = {};
    this.open();
  }

  async open() {
    let answer;
    try {
      answer = await fetch("api/scene");
    } catch {
      return this.again("reconnecting…", "The viewer does not answer. Is pellucid view still running?");
    }
    if (answer.status === 403) {
      const remedy = "Open the whole address that pellucid view printed; it changes every time the viewer is started.";
      return this.again("This page has no access to the viewer.", remedy, true);
    }
    if (!answer.ok) return this.again(`The viewer failed (${answer.status}).`, "Its terminal says why.", true);
    this.on.scene(await answer.json());
    this.listen();
  }

  listen() {
    const address = new URL("ws", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => this.send({ kind: "hello", version: VERSION, ...this.size() });
    this.socket.onmessage = (event) => this.receive(event.data);
    this.socket.onclose = () => this.again("reconnecting…", "");
  }

  again(what, remedy, isError = false) {
    this.on.state(what, remedy, isError);
    this.isPatching = false;
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 1.7, LONGEST_WAIT_MS);
  }

  receive(data) {
    if (data instanceof ArrayBuffer) {
      const length = new DataView(data).getUint32(0, true);
      const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
      return this.on.frame(header, new Uint8Array(data, 4 + length));
    }
    const message = JSON.parse(data);
    this.revision = message.revision;
    if (message.kind === "welcome") this.wait = FIRST_WAIT_MS;
    this.isPatching = false;
    this.on[message.kind]?.(message);
    this.sendPatch();
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** Changes wait here while one is under way, the newest of each kind: every patch is made for the present revision. */
  change(settings) {
    Object.assign(this.patch, settings);
    this.sendPatch();
  }

  sendPatch() {
    if (this.isPatching || !Object.keys(this.patch).length || this.socket?.readyState !== WebSocket.OPEN) return;
    this.isPatching = true;
    this.send({ kind: "patch", revision: this.revision, ...this.patch });
    this.patch = {};
  }
}
