import { expect, test } from "vitest";
import type { KeyFrame, LayerDescription } from "../protocol";
import { SCENE, VOLUME } from "../testing/examples";
import { added, changesFor, durationOf, fileText, fromPath, keyNow, removed, replaced, retimed, swapped, type MovieKey } from "./keys";
import { changedParts, filled } from "./preview";

const WHOLE = { start: [0, 0, 0], stop: [4, 5, 6] } as const;
const FIRST = { shape: [4, 5, 6] } as unknown as LayerDescription;
const { camera } = SCENE;

function three(): readonly MovieKey[] {
  let keys: readonly MovieKey[] = [];
  for (const name of ["a", "b", "c"]) keys = added(keys, keyNow(SCENE, camera, FIRST, keys), name);
  return keys;
}

const shownAt = (keys: readonly MovieKey[]): string => keys.map(({ key, thumbnail }) => `${thumbnail}${key.at_s}`).join(" ");

test("each new key frame comes two seconds after the last, with all that is shown", () => {
  const keys = three();
  expect(shownAt(keys)).toBe("a0 b2 c4");
  expect(durationOf(keys)).toBe(4);
  expect(keys[0]?.key).toEqual({ at_s: 0, camera, time: SCENE.time, transfer: VOLUME.transfer, clip: WHOLE, planes: [] });
});

test("key frames change their order, their seconds and what they show", () => {
  const keys = three();
  expect(shownAt(swapped(keys, 1, 1))).toBe("b0 a2 c4");
  expect(shownAt(swapped(keys, 1, -1))).toBe("a0 b2 c4");
  expect(shownAt(retimed(keys, 1, 3))).toBe("b2 a3 c4");
  expect(shownAt(retimed(keys, 1, 2))).toBe("b2 a2.1 c4");
  expect(shownAt(removed(keys, 2))).toBe("a0 c4");
  const other = { ...keyNow(SCENE, { ...camera, height: 9 }, FIRST, keys) };
  expect(replaced(keys, 2, other, "d")[1]).toEqual({ id: 2, key: { ...other, at_s: 2 }, thumbnail: "d" });
});

test("a file of key frames is what the program reads, and is read again", () => {
  const keys = three();
  const file = JSON.parse(fileText(keys)) as { version: 1; keys: KeyFrame[] };
  expect(file.version).toBe(1);
  expect(fromPath(file).map(({ key }) => key)).toEqual(keys.map(({ key }) => key));
});

test("a key frame changes only what differs; the box of the whole volume is no clipping", () => {
  const key = keyNow(SCENE, camera, FIRST, []);
  expect(changesFor(SCENE, key, FIRST)).toEqual([]);
  const clip = { start: [1, 0, 0], stop: [4, 5, 6] } as const;
  expect(changesFor(SCENE, { ...key, clip, time: 3 }, FIRST)).toEqual([
    { path: ["time"], value: 3 },
    { path: ["volumes", 0, "clip"], value: clip },
  ]);
  const clipped = { ...SCENE, volumes: [{ ...VOLUME, clip }] };
  expect(changesFor(clipped, key, FIRST)).toEqual([{ path: ["volumes", 0, "clip"], value: null }]);
});

test("a preview sends all that its movie changes, each time", () => {
  const key = keyNow(SCENE, camera, FIRST, []);
  const moments = filled([key, { ...key, at_s: 1, time: 2, transfer: null, clip: null, planes: null }, { ...key, at_s: 2, time: null }]);
  expect(moments.map(({ time }) => time)).toEqual([SCENE.time, 2, 2]);
  expect(moments[1]?.clip).toEqual(WHOLE);
  expect(changedParts(SCENE, moments, FIRST)).toEqual([["time"]]);
});
