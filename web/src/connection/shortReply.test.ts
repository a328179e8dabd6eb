import { expect, it } from "vitest";
import { readShort } from "./shortReply";

it("reads a reply that comes in pieces", async () => {
  const pieces = ['{"proof": "', "a", '"}'].map((text) => new TextEncoder().encode(text));
  const body = new ReadableStream<Uint8Array>({
    start: (stream) => {
      for (const piece of pieces) stream.enqueue(piece);
      stream.close();
    },
  });
  expect(await readShort(new Response(body))).toEqual({ proof: "a" });
});

it("does not read a reply without end", async () => {
  let sent = 0;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (stream) => {
      sent += 1024;
      stream.enqueue(new Uint8Array(1024));
    },
    cancel: () => {
      isCancelled = true;
    },
  });
  await expect(readShort(new Response(body))).rejects.toThrow("too long");
  expect([isCancelled, sent < 100 * 1024]).toEqual([true, true]);
});

it("refuses a reply that is not JSON", async () => {
  await expect(readShort(new Response("hello"))).rejects.toThrow();
  await expect(readShort(new Response(null))).rejects.toThrow();
});
