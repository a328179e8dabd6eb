import { afterEach, expect, it, vi } from "vitest";
import type { FrameHeader } from "../protocol";
import { SCENE } from "../testing/examples";
import { ClockOffset, Painter } from "./painter";

afterEach(() => vi.unstubAllGlobals());

const HEADER: FrameHeader = {
  type: "frame",
  number: 7,
  view: "main",
  revision: 3,
  camera: SCENE.camera,
  width: 4,
  height: 2,
  full_width: 8,
  full_height: 4,
  encoding: "png",
  is_exact: true,
  full_resolution: 1,
  times_ms: { input: 0, render: 0, encode: 0 },
  input_sent_at_ms: 0,
  sent_at_ms: 0,
  codec: "",
  is_key: true,
  is_along_rays: false,
};

it("paints and names an image that came before its canvas", async () => {
  class Bitmap {
    readonly close = vi.fn();
  }
  vi.stubGlobal("ImageBitmap", Bitmap);
  vi.stubGlobal("createImageBitmap", () => Promise.resolve(new Bitmap()));
  const painter = new Painter({ onPainted: vi.fn(), onSlice: vi.fn(), onLost: vi.fn() });
  await painter.receive({ header: HEADER, image: new Uint8Array(1) }, 0);
  const drawImage = vi.fn();
  const canvas = { width: 0, height: 0, dataset: {}, getContext: () => ({ drawImage }) };
  painter.attach("main", canvas as unknown as HTMLCanvasElement);
  expect(drawImage).toHaveBeenCalledOnce();
  expect(canvas).toMatchObject({ width: 8, height: 4, dataset: { number: 7, revision: 3, isExact: true } });
});

it("takes the fastest message as the measure of the others", () => {
  const clock = new ClockOffset();
  clock.observe(5000, 105);
  expect(clock.wireMs(5100, 207)).toBe(2);
  expect(clock.wireMs(5200, 303)).toBe(0);
  expect(clock.wireMs(5300, 407)).toBe(4);
});
