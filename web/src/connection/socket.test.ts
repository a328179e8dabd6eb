// @vitest-environment happy-dom
import { describe, expect, it, vi } from "vitest";
import type { ConnectionState } from "../state/state";
import { Access } from "./access";
import { sign } from "./pageSession";
import { Socket, type World } from "./socket";

const ADDRESS = "http://127.0.0.1:8000/hub/";
const KEY = "the key";

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
  const states: ConnectionState[] = [];
  const addresses: string[] = [];
  const moves: string[] = [];
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
    go: (address) => moves.push(address),
    address: ADDRESS,
  };
  const access = new Access({
    address: ADDRESS,
    fragment: "#code=once",
    storage: null,
    isIntercepted: () => false,
    fetch: (_, { body }) => {
      const { nonce = "" } = JSON.parse(body as string) as { nonce?: string };
      return Promise.resolve(Response.json({ proof: sign("once", "program", nonce), session: "session", key: KEY, token: "first", capability: "own", state: "" }));
    },
  });
  const texts: unknown[] = [];
  const onOpen = vi.fn();
  const socket = new Socket({ onConnection: (state) => states.push(state), onOpen, onText: (text) => texts.push(text), onBytes: () => undefined }, world, access);
  socket.open();
  return { socket, sockets, timers, states, addresses, moves, texts, onOpen, access };
}

/** The same, with the proof behind it. */
async function proven() {
  const all = setUp();
  await all.access.open();
  const socket = all.sockets[0];
  socket?.dispatchEvent(new Event("open"));
  const { nonce } = JSON.parse(socket?.sent.pop() ?? "") as { nonce: string };
  socket?.say(JSON.stringify({ type: "proof", nonce: "theirs", proof: sign(KEY, "server", nonce, "theirs", ADDRESS) }));
  return all;
}

describe("the connection", () => {
  it("believes nothing that comes before the proof", async () => {
    const { sockets, texts, access } = setUp();
    const welcomed = vi.spyOn(access, "welcomed");
    await access.open();
    sockets[0]?.dispatchEvent(new Event("open"));
    sockets[0]?.say('{"type": "welcome", "token": "forged"}');
    expect([welcomed.mock.calls, texts, sockets[0]?.readyState]).toEqual([[], [], WebSocket.CLOSED]);
  });

  it("is a WebSocket beside the page, without anything secret", () => {
    expect(setUp().addresses).toEqual(["ws://127.0.0.1:8000/hub/ws"]);
  });

  it("is open once the instance has proved itself and welcomed us", async () => {
    const { sockets, states, onOpen, texts, access } = setUp();
    await access.open();
    sockets[0]?.dispatchEvent(new Event("open"));
    const { nonce, session } = JSON.parse(sockets[0]?.sent[0] ?? "") as { nonce: string; session: string };
    expect([session, onOpen.mock.calls]).toEqual(["session", []]);
    sockets[0]?.say(JSON.stringify({ type: "proof", nonce: "theirs", proof: sign(KEY, "server", nonce, "theirs", ADDRESS) }));
    expect(onOpen).toHaveBeenCalledExactlyOnceWith(sign(KEY, "page", nonce, "theirs", ADDRESS));
    const welcome = { type: "welcome", token: "second" };
    sockets[0]?.say(JSON.stringify(welcome));
    expect([states, texts]).toEqual([[{ phase: "open" }], [welcome]]);
    await expect(access.ready()).resolves.toBe("second");
  });

  it("goes on at another address after a restart, and sends nothing from this one", async () => {
    const { sockets, moves, timers, texts, access } = await proven();
    sockets[0]?.say('{"type": "moved", "url": "http://new.localhost:8000/hub/#code=fresh"}');
    sockets[0]?.fail(4005);
    expect([moves, timers, texts]).toEqual([["http://new.localhost:8000/hub/#code=fresh"], [], []]);
    vi.useFakeTimers();
    const ready = access.ready();
    await vi.runAllTimersAsync();
    await expect(ready).resolves.toBeNull();
    vi.useRealTimers();
  });

  it.each([
    ["another key", "another", ADDRESS],
    ["another address", KEY, "http://127.0.0.1:9000/"],
  ])("tells nothing to what proves itself with %s", async (_, key, address) => {
    vi.useFakeTimers();
    const { sockets, states, onOpen, timers, access } = setUp();
    await access.open();
    sockets[0]?.dispatchEvent(new Event("open"));
    const { nonce } = JSON.parse(sockets[0]?.sent[0] ?? "") as { nonce: string };
    sockets[0]?.say(JSON.stringify({ type: "proof", nonce: "theirs", proof: sign(key, "server", nonce, "theirs", address) }));
    expect([onOpen.mock.calls, sockets[0]?.sent.length, timers.length]).toEqual([[], 1, 1]);
    expect(sockets[0]?.readyState).toBe(WebSocket.CLOSED);
    expect(states[0]).toMatchObject({ phase: "waiting", what: "The server at this address is not the viewer that opened this page." });
    const request = access.ready();
    await vi.runAllTimersAsync();
    await expect(request).resolves.toBeNull();
    vi.useRealTimers();
  });

  it("sends no request after it broke, until there is another proof", async () => {
    vi.useFakeTimers();
    const { sockets, access } = setUp();
    await access.open();
    access.welcomed("second");
    await expect(access.ready()).resolves.toBe("second");
    sockets[0]?.fail(1006);
    const request = access.ready();
    await vi.runAllTimersAsync();
    await expect(request).resolves.toBeNull();
    vi.useRealTimers();
  });

  it("is tried again, later each time", async () => {
    const { sockets, timers, states } = setUp();
    for (let attempt = 0; attempt < 9; attempt++) {
      sockets.at(-1)?.fail(1006);
      await vi.waitFor(() => expect(timers).toHaveLength(attempt + 1));
      timers.at(-1)?.act();
    }
    expect(timers[0]?.ms).toBe(300);
    expect(timers.at(-1)?.ms).toBe(5000);
    expect(states.at(-1)).toMatchObject({ phase: "waiting", what: "The viewer does not respond" });
  });

  it("is given up where the link was revoked or is not known", () => {
    for (const [code, what] of [
      [4003, "Your access was revoked."],
      [4004, "The viewer no longer recognises this page."],
    ] as const) {
      const { sockets, states, timers } = setUp();
      sockets[0]?.fail(code);
      expect([states[0], timers]).toMatchObject([{ phase: "closed", what }, []]);
    }
  });

  it("says that the page may not talk to the viewer", async () => {
    const { sockets, states } = setUp(403);
    sockets[0]?.fail(1006);
    await vi.waitFor(() => expect(states[0]).toMatchObject({ phase: "waiting", what: "This page has no access to the viewer." }));
  });

  it("asks for a reload when versions differ", async () => {
    const { sockets, states, timers } = setUp();
    sockets[0]?.fail(4000);
    await vi.waitFor(() => expect(states[0]).toMatchObject({ phase: "closed", remedy: "Reload the page." }));
    expect(timers).toEqual([]);
  });

  it("keeps what an instance said when it ended, and looks for the next one", async () => {
    const { sockets, states, timers } = await proven();
    sockets[0]?.say('{"type": "shutting_down", "what": "It was idle.", "remedy": ""}');
    sockets[0]?.fail(4001);
    await vi.waitFor(() => expect(timers).toHaveLength(1));
    expect(states).toEqual([]);
  });

  it("sends nothing while it is down", () => {
    const { socket, sockets } = setUp();
    if (sockets[0]) sockets[0].readyState = WebSocket.CONNECTING;
    expect(socket.send({ type: "keep_alive" })).toBe(false);
    if (sockets[0]) sockets[0].readyState = WebSocket.OPEN;
    expect(socket.send({ type: "keep_alive" })).toBe(true);
    expect(sockets[0]?.sent).toEqual(['{"type":"keep_alive"}']);
  });
});
