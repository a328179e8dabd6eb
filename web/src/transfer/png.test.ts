import { expect, test } from "vitest";
import { sceneInPng } from "./png";

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

function chunk(kind: string, content: string): number[] {
  const body = [...new TextEncoder().encode(content)];
  return [0, 0, body.length >> 8, body.length & 255, ...new TextEncoder().encode(kind), ...body, 0, 0, 0, 0];
}

const png = (...chunks: number[][]): ArrayBuffer => new Uint8Array([...SIGNATURE, ...chunks.flat()]).buffer;

test("the scene of a PNG is found among its chunks", () => {
  const scene = chunk("iTXt", `pellucid:scene\0\0\0\0\0{"version":3}`);
  expect(sceneInPng(png(chunk("IHDR", "..."), chunk("iTXt", "Comment\0\0\0\0\0hello"), scene))).toBe(`{"version":3}`);
});

test("other files have none", () => {
  expect(sceneInPng(png(chunk("IHDR", "...")))).toBeNull();
  expect(sceneInPng(new Uint8Array([1, 2, 3]).buffer)).toBeNull();
  expect(sceneInPng(png(chunk("iTXt", "pellucid:scene")))).toBeNull();
});
