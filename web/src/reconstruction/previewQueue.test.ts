import { beforeEach, expect, test, vi } from "vitest";
import { RequestError } from "../connection/requestError";
import type { PreviewPosition, PreviewRequest } from "../protocol";
import { PreviewQueue, type Preview } from "./previewQueue";

interface Question {
  request: PreviewRequest;
  signal: AbortSignal;
  resolve: (preview: Preview) => void;
  reject: (error: Error) => void;
}

let asked: Question[];
let shown: [PreviewPosition, boolean][];
let errors: (string | null)[];
let queue: PreviewQueue;

const draft = (index: number, place: PreviewPosition = "slice"): PreviewRequest => ({ path: "/a.h5", place, index, recipe: {} as PreviewRequest["recipe"] });
const answer = { header: {}, image: {}, isExact: true } as Preview;

async function settle(question: Question | undefined): Promise<void> {
  question?.resolve(answer);
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  shown = [];
  errors = [];
  queue = new PreviewQueue(
    {
      onPreview: (place, preview) => shown.push([place, preview.isExact]),
      onError: (_, refusal) => errors.push(refusal?.what ?? null),
      onBusy: () => undefined,
    },
    (request, signal) => new Promise((resolve, reject) => asked.push({ request, signal, resolve, reject })),
  );
});

test("a slice comes rough, and exact at rest", async () => {
  queue.want(draft(1));
  await settle(asked[0]);
  await vi.advanceTimersByTimeAsync(200);
  await settle(asked[1]);
  expect(asked.map(({ request }) => [request.is_moving, request.number])).toEqual([
    [true, 1],
    [false, 2],
  ]);
  expect(shown).toEqual([
    ["slice", false],
    ["slice", true],
  ]);
});

test("while one is made, only the latest draft waits", async () => {
  for (const index of [1, 2, 3]) queue.want(draft(index));
  expect(asked.length).toBe(1);
  await settle(asked[0]);
  expect(asked.map(({ request }) => request.index)).toEqual([1, 3]);
});

test("an exact one is given up for something new", async () => {
  queue.want(draft(1));
  await settle(asked[0]);
  await vi.advanceTimersByTimeAsync(200);
  queue.want(draft(2));
  expect(asked[1]?.signal.aborted).toBe(true);
  expect(asked[2]?.request).toMatchObject({ index: 2, is_moving: true });
});

test("a projection is exact at once", () => {
  queue.want(draft(1, "projection"));
  expect(asked[0]?.request.is_moving).toBe(false);
});

test("a refusal is told, and taken back", async () => {
  queue.want(draft(1, "sinogram"));
  asked[0]?.reject(new RequestError("No flats.", "Name them."));
  await vi.advanceTimersByTimeAsync(0);
  queue.want(draft(2, "sinogram"));
  await settle(asked[1]);
  expect(errors).toEqual(["No flats.", null]);
});
