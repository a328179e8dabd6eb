// An image at a chosen size, or a turntable movie.

import { useState, type ReactNode } from "react";
import { screenshot, startMovie } from "../connection/requests";
import { Button } from "../components/Button";
import { Segmented, Select } from "../components/Choice";
import { DialogWindow } from "../components/Dialog";
import { save } from "../components/files";
import { NumberField } from "../components/NumberField";
import { MAX_EDGE } from "../protocol";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";

const SIZES = [
  { value: "window", label: "As shown" },
  { value: "1280x720", label: "1280 × 720" },
  { value: "1920x1080", label: "1920 × 1080" },
  { value: "3840x2160", label: "3840 × 2160 (4K)" },
  { value: "2048x2048", label: "2048 × 2048" },
  { value: "own", label: "Custom size" },
] as const;

type Size = (typeof SIZES)[number]["value"];

export function CaptureDialog(): ReactNode {
  const session = useSession();
  const [kind, setKind] = useState<"image" | "movie">("image");
  const [size, setSize] = useState<Size>("1920x1080");
  const [own, setOwn] = useState({ width: 1920, height: 1080 });
  const [seconds, setSeconds] = useState(6);
  const [rate, setRate] = useState(30);
  const [isBusy, setBusy] = useState(false);
  const header = useSelect((state) => state.shown?.header ?? null);
  const name = useSelect((state) => state.layers?.layers[0]?.name ?? "image");
  const chosen = size === "own" ? own : size === "window" ? { width: header?.full_width ?? 1280, height: header?.full_height ?? 720 } : sizeOf(size);
  const close = (): void => session.openDialog("none");
  const take = async (): Promise<void> => {
    setBusy(true);
    if (kind === "image") {
      const image = await session.attempt(screenshot(chosen.width, chosen.height));
      if (image) save(image, `${name}.png`);
      setBusy(false);
      if (image) close();
    } else {
      // H.264 has colours for every second pixel only: sizes are even.
      const even = { width: chosen.width & ~1, height: chosen.height & ~1 };
      const started = await session.attempt(startMovie({ ...even, seconds, frames_per_second: rate }));
      setBusy(false);
      if (started) close();
    }
  };
  return (
    <DialogWindow title="Image or movie" onClose={close}>
      <Segmented
        label="Type"
        value={kind}
        options={[
          { value: "image", label: "Image (PNG)" },
          { value: "movie", label: "Turntable (MP4)" },
        ]}
        onChange={setKind}
      />
      <Select label="Size" value={size} options={SIZES} onChange={setSize} />
      {size === "own" ? (
        <div className="row">
          <NumberField label="Width" value={own.width} low={16} high={MAX_EDGE} onChange={(width) => setOwn({ ...own, width: Math.round(width) })} />
          <span className="hint">×</span>
          <NumberField label="Height" value={own.height} low={16} high={MAX_EDGE} onChange={(height) => setOwn({ ...own, height: Math.round(height) })} />
          <span className="hint">pixels</span>
        </div>
      ) : null}
      {kind === "movie" ? (
        <>
          <div className="row">
            <span className="label">Duration of one turn (s)</span>
            <NumberField label="Duration of one turn (s)" value={seconds} low={1} high={120} onChange={setSeconds} />
          </div>
          <div className="row">
            <span className="label">Frames per second</span>
            <NumberField label="Frames per second" value={rate} low={1} high={60} onChange={(value) => setRate(Math.round(value))} />
          </div>
        </>
      ) : null}
      <footer className="dialog-foot">
        <span className="hint number">
          {chosen.width} × {chosen.height}
          {kind === "movie" ? `, ${Math.round(seconds * rate)} frames` : ""}
        </span>
        <Button look="main" isDisabled={isBusy} onClick={() => void take()}>
          {isBusy ? "Rendering…" : kind === "image" ? "Save image" : "Record movie"}
        </Button>
      </footer>
    </DialogWindow>
  );
}

function sizeOf(size: string): { width: number; height: number } {
  const [width = 1280, height = 720] = size.split("x").map(Number);
  return { width, height };
}
