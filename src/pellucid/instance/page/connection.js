// The line to the instance: opened, kept open, opened again when it breaks.
// Here: messages in and out. Not here: what they mean for the page (viewer.js).

export const VERSION = 2;
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 5000;

export class Connection {
  /** on: {text(message), frame(header, bytes), state(what, remedy, isError)} */
  constructor(on, size) {
    this.on = on;
    this.size = size;
    this.wait = FIRST_WAIT_MS;
    this.open();
  }

  open() {
    const address = new URL("ws", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => this.send({ type: "hello", version: VERSION, ...this.size() });
    this.socket.onmessage = (event) => this.receive(event.data);
    this.socket.onclose = () => this.again();
  }

  again() {
    this.on.state("reconnecting…", "If this lasts: is pellucid view still running? Its address changes with every start.", false);
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 1.7, LONGEST_WAIT_MS);
  }

  receive(data) {
    if (!(data instanceof ArrayBuffer)) {
      this.wait = FIRST_WAIT_MS;
      return this.on.text(JSON.parse(data));
    }
    const length = new DataView(data).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
    if (header.type === "frame") this.on.frame(header, new Uint8Array(data, 4 + length));
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}
