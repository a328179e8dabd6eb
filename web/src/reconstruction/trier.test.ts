import { beforeEach, expect, test, vi } from "vitest";
import { RequestRefused } from "../line/requests";
import type { TrialPlace, TrialRequest } from "../protocol";
import { Trier, type Trial } from "./trier";

interface Question {
  request: TrialRequest;
  signal: AbortSignal;
  resolve: (trial: Trial) => void;
  reject: (error: Error) => void;
}

let asked: Question[];
let shown: [TrialPlace, boolean][];
let refusals: (string | null)[];
let trier: Trier;

const wish = (index: number, place: TrialPlace = "slice"): TrialRequest => ({ path: "/a.h5", place, index, recipe: {} as TrialRequest["recipe"] });
const answer = { header: {}, picture: {}, isExact: true } as Trial;

async function settle(question: Question | undefined): Promise<void> {
  question?.resolve(answer);
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  shown = [];
  refusals = [];
  trier = new Trier(
    {
      onTrial: (place, trial) => shown.push([place, trial.isExact]),
      onRefused: (_, refusal) => refusals.push(refusal?.what ?? null),
      onBusy: () => undefined,
    },
    (request, signal) => new Promise((resolve, reject) => asked.push({ request, signal, resolve, reject })),
  );
});

test("a slice comes rough, and exact at rest", async () => {
  trier.want(wish(1));
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

test("while one is made, only the latest wish waits", async () => {
  for (const index of [1, 2, 3]) trier.want(wish(index));
  expect(asked.length).toBe(1);
  await settle(asked[0]);
  expect(asked.map(({ request }) => request.index)).toEqual([1, 3]);
});

test("an exact one is given up for something new", async () => {
  trier.want(wish(1));
  await settle(asked[0]);
  await vi.advanceTimersByTimeAsync(200);
  trier.want(wish(2));
  expect(asked[1]?.signal.aborted).toBe(true);
  expect(asked[2]?.request).toMatchObject({ index: 2, is_moving: true });
});

test("a projection is exact at once", () => {
  trier.want(wish(1, "projection"));
  expect(asked[0]?.request.is_moving).toBe(false);
});

test("a refusal is told, and taken back", async () => {
  trier.want(wish(1, "sinogram"));
  asked[0]?.reject(new RequestRefused("No flats.", "Name them."));
  await vi.advanceTimersByTimeAsync(0);
  trier.want(wish(2, "sinogram"));
  await settle(asked[1]);
  expect(refusals).toEqual(["No flats.", null]);
});
