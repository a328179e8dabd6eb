// An image at a chosen size with annotations, or a turntable movie. Not here: movies by key frames (movie/).

import { useState, type ReactNode } from "react";
import { startMovie } from "../connection/requests";
import { Button } from "../components/Button";
import { Segmented, Select } from "../components/Choice";
import { DialogWindow } from "../components/Dialog";
import { NumberField } from "../components/NumberField";
import { inUnit, pixelsOf, type PaperSize } from "../geometry/paper";
import { MAX_EDGE } from "../protocol";
import { openTimeline } from "../session/actions";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import { FigureForm } from "./FigureForm";

const SIZES = [
  { value: "window", label: "As shown" },
  { value: "1280x720", label: "1280 × 720" },
  { value: "1920x1080", label: "1920 × 1080" },
  { value: "3840x2160", label: "3840 × 2160 (4K)" },
  { value: "2048x2048", label: "2048 × 2048" },
  { value: "column", label: "One column, 8.5 × 6 cm" },
  { value: "page", label: "Two columns, 17.5 × 12 cm" },
  { value: "own", label: "Custom size" },
] as const;

type Size = (typeof SIZES)[number]["value"];

export function CaptureDialog(): ReactNode {
  const session = useSession();
  const [kind, setKind] = useState<"image" | "movie" | "keys">("image");
  const [size, setSize] = useState<Size>("1920x1080");
  const [own, setOwn] = useState<PaperSize>({ width: 1920, height: 1080, unit: "px", dpi: 300 });
  const [seconds, setSeconds] = useState(6);
  const [rate, setRate] = useState(30);
  const [isBusy, setBusy] = useState(false);
  const header = useSelect((state) => state.shown?.header ?? null);
  const paper = paperOf(size, own, header ? { width: header.full_width, height: header.full_height } : { width: 1280, height: 720 });
  const chosen = pixelsOf(paper, MAX_EDGE);
  const record = async (): Promise<void> => {
    setBusy(true);
    // H.264 has colours for every second pixel only: sizes are even.
    const even = { width: chosen.width & ~1, height: chosen.height & ~1 };
    const started = await session.attempt(startMovie({ ...even, seconds, frames_per_second: rate }));
    setBusy(false);
    if (started) session.openDialog("none");
  };
  return (
    <DialogWindow title="Image or movie" onClose={() => session.openDialog("none")}>
      <Segmented
        label="Type"
        value={kind}
        options={[
          { value: "image", label: "Image" },
          { value: "movie", label: "Turntable (MP4)" },
          { value: "keys", label: "Key frames (MP4)", title: "A movie through views that you choose" },
        ]}
        onChange={(next) => (next === "keys" ? openTimeline(session) : setKind(next))}
      />
      <Select label="Size" value={size} options={SIZES} onChange={setSize} />
      {size === "own" ? <OwnSize size={own} onChange={setOwn} /> : null}
      {kind === "image" ? (
        <>
          <div className="row">
            <span className="label">Pixels per inch on paper</span>
            <NumberField label="Pixels per inch on paper" value={own.dpi} low={1} high={10000} onChange={(dpi) => setOwn({ ...own, dpi })} />
          </div>
          <FigureForm chosen={chosen} dpi={own.dpi} />
        </>
      ) : (
        <>
          <div className="row">
            <span className="label">Duration of one turn (s)</span>
            <NumberField label="Duration of one turn (s)" value={seconds} low={1} high={120} onChange={setSeconds} />
          </div>
          <div className="row">
            <span className="label">Frames per second</span>
            <NumberField label="Frames per second" value={rate} low={1} high={60} onChange={(value) => setRate(Math.round(value))} />
          </div>
          <footer className="dialog-foot">
            <span className="hint number">
              {chosen.width} × {chosen.height}, {Math.round(seconds * rate)} frames
            </span>
            <Button look="main" isDisabled={isBusy} onClick={() => void record()}>
              {isBusy ? "Rendering…" : "Record movie"}
            </Button>
          </footer>
        </>
      )}
    </DialogWindow>
  );
}

function OwnSize({ size, onChange }: { size: PaperSize; onChange: (size: PaperSize) => void }): ReactNode {
  const isPaper = size.unit === "cm";
  const [low, high] = isPaper ? [0.1, 200] : [16, MAX_EDGE];
  const tidy = (value: number): number => (isPaper ? value : Math.round(value));
  return (
    <div className="row">
      <NumberField label="Width" value={size.width} low={low} high={high} onChange={(width) => onChange({ ...size, width: tidy(width) })} />
      <span className="hint">×</span>
      <NumberField label="Height" value={size.height} low={low} high={high} onChange={(height) => onChange({ ...size, height: tidy(height) })} />
      <Segmented
        label="Unit of the size"
        value={size.unit}
        options={[
          { value: "px", label: "pixels" },
          { value: "cm", label: "cm" },
        ]}
        onChange={(unit) => onChange(inUnit(size, unit))}
      />
    </div>
  );
}

function paperOf(size: Size, own: PaperSize, window: { width: number; height: number }): PaperSize {
  if (size === "own") return own;
  if (size === "window") return { ...window, unit: "px", dpi: own.dpi };
  if (size === "column") return { width: 8.5, height: 6, unit: "cm", dpi: own.dpi };
  if (size === "page") return { width: 17.5, height: 12, unit: "cm", dpi: own.dpi };
  const [width = 1280, height = 720] = size.split("x").map(Number);
  return { width, height, unit: "px", dpi: own.dpi };
}
