import { beforeEach, expect, test, vi } from "vitest";
import { RequestError } from "../connection/requestError";
import type { PreviewPosition, PreviewRequest } from "../protocol";
import { PreviewQueue, type Preview } from "./previewQueue";

interface SentRequest {
  request: PreviewRequest;
  signal: AbortSignal;
  resolve: (preview: Preview) => void;
  reject: (error: Error) => void;
}

let requests: SentRequest[];
let shown: [PreviewPosition, boolean][];
let errors: (string | null)[];
let queue: PreviewQueue;

const draft = (index: number, place: PreviewPosition = "slice"): PreviewRequest => ({ path: "/a.h5", place, index, recipe: {} as PreviewRequest["recipe"] });
const answer = { header: {}, image: {}, isExact: true } as Preview;

async function settle(question: SentRequest | undefined): Promise<void> {
  question?.resolve(answer);
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => {
  vi.useFakeTimers();
  requests = [];
  shown = [];
  errors = [];
  queue = new PreviewQueue(
    {
      onPreview: (place, preview) => shown.push([place, preview.isExact]),
      onError: (_, error) => errors.push(error?.what ?? null),
      onBusy: () => undefined,
    },
    (request, signal) => new Promise((resolve, reject) => requests.push({ request, signal, resolve, reject })),
  );
});

test("a slice comes rough, and exact at rest", async () => {
  queue.want(draft(1));
  await settle(requests[0]);
  await vi.advanceTimersByTimeAsync(200);
  await settle(requests[1]);
  expect(requests.map(({ request }) => [request.is_moving, request.number])).toEqual([
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
  expect(requests.length).toBe(1);
  await settle(requests[0]);
  expect(requests.map(({ request }) => request.index)).toEqual([1, 3]);
});

test("an exact one is given up for something new", async () => {
  queue.want(draft(1));
  await settle(requests[0]);
  await vi.advanceTimersByTimeAsync(200);
  queue.want(draft(2));
  expect(requests[1]?.signal.aborted).toBe(true);
  expect(requests[2]?.request).toMatchObject({ index: 2, is_moving: true });
});

test("a projection is exact at once", () => {
  queue.want(draft(1, "projection"));
  expect(requests[0]?.request.is_moving).toBe(false);
});

test("an error is reported, and cleared", async () => {
  queue.want(draft(1, "sinogram"));
  requests[0]?.reject(new RequestError("No flats.", "Name them."));
  await vi.advanceTimersByTimeAsync(0);
  queue.want(draft(2, "sinogram"));
  await settle(requests[1]);
  expect(errors).toEqual(["No flats.", null]);
});
