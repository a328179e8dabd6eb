// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import type { Line } from "../state/state";
import { Socket, type World } from "./socket";

class FakeSocket extends EventTarget {
  binaryType = "";
  readyState: number = WebSocket.OPEN;
  sent: string[] = [];
  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {
    this.readyState = WebSocket.CLOSED;
  }
  fail(code: number): void {
    this.dispatchEvent(Object.assign(new Event("close"), { code }));
  }
  say(data: unknown): void {
    this.dispatchEvent(Object.assign(new Event("message"), { data }));
  }
}

function setUp(status = 0) {
  const sockets: FakeSocket[] = [];
  const timers: { act: () => void; ms: number }[] = [];
  const lines: Line[] = [];
  const addresses: string[] = [];
  const world: World = {
    connect: (address) => {
      addresses.push(String(address));
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    fetch: () => (status ? Promise.resolve(new Response('{"version": 99}', { status })) : Promise.reject(new Error("gone"))),
    later: (act, ms) => timers.push({ act, ms }),
    never: () => undefined,
    now: () => 1000,
    address: "http://localhost:8000/hub/?token=secret",
  };
  const texts: unknown[] = [];
  const onOpen = vi.fn();
  const socket = new Socket({ onLine: (line) => lines.push(line), onOpen, onText: (text) => texts.push(text), onBytes: () => undefined }, world);
  socket.open();
  return { socket, sockets, timers, lines, addresses, texts, onOpen };
}

describe("the line", () => {
  it("is a WebSocket beside the page, without the token", () => {
    expect(setUp().addresses).toEqual(["ws://localhost:8000/hub/ws"]);
  });

  it("is open once the instance has welcomed us", () => {
    const { sockets, lines, onOpen, texts } = setUp();
    sockets[0]?.dispatchEvent(new Event("open"));
    expect(onOpen).toHaveBeenCalledOnce();
    sockets[0]?.say('{"type": "welcome"}');
    expect([lines, texts]).toEqual([[{ phase: "open" }], [{ type: "welcome" }]]);
  });

  it("is tried again, later each time", async () => {
    const { sockets, timers, lines } = setUp();
    for (let attempt = 0; attempt < 9; attempt++) {
      sockets.at(-1)?.fail(1006);
      await vi.waitFor(() => expect(timers).toHaveLength(attempt + 1));
      timers.at(-1)?.act();
    }
    expect(timers[0]?.ms).toBe(300);
    expect(timers.at(-1)?.ms).toBe(5000);
    expect(lines.at(-1)).toMatchObject({ phase: "waiting", what: "The viewer does not answer" });
  });

  it("says that the address is not complete", async () => {
    const { sockets, lines } = setUp(403);
    sockets[0]?.fail(1006);
    await vi.waitFor(() => expect(lines[0]).toMatchObject({ phase: "waiting", what: "This page may not talk to the viewer." }));
  });

  it("asks for a reload when versions differ", async () => {
    const { sockets, lines, timers } = setUp();
    sockets[0]?.fail(4000);
    await vi.waitFor(() => expect(lines[0]).toMatchObject({ phase: "closed", remedy: "Reload the page." }));
    expect(timers).toEqual([]);
  });

  it("keeps what an instance said when it ended, and looks for the next one", async () => {
    const { sockets, lines, timers } = setUp();
    sockets[0]?.say('{"type": "ended", "what": "Nobody was there.", "do": ""}');
    sockets[0]?.fail(4001);
    await vi.waitFor(() => expect(timers).toHaveLength(1));
    expect(lines).toEqual([]);
  });

  it("sends nothing while it is down", () => {
    const { socket, sockets } = setUp();
    if (sockets[0]) sockets[0].readyState = WebSocket.CONNECTING;
    expect(socket.send({ type: "prolong" })).toBe(false);
    if (sockets[0]) sockets[0].readyState = WebSocket.OPEN;
    expect(socket.send({ type: "prolong" })).toBe(true);
    expect(sockets[0]?.sent).toEqual(['{"type":"prolong"}']);
  });
});
