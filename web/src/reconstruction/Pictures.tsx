// What goes in and what comes out: a projection, its sinogram, the slice, each with what can be moved over it.

import { useEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { clamp } from "../geometry/vector";
import { short } from "../geometry/measures";
import type { ScanDescription, TrialPlace, Wish } from "../protocol";
import type { Trial } from "./trier";
import type { Trials } from "./trials";
import { before, centerOf } from "./wish";

/** Columns of the axis for a pixel of the mouse, over the slice. */
const FINE = 0.1;
const CENTER_STEP = 0.25;
const LEAST_RATIO = 0.8;
const MOST_RATIO = 3;

export type Change = (change: Partial<Wish>) => void;

interface PicturesProps {
  scan: ScanDescription;
  wish: Wish;
  trials: Trials;
  onChange: Change;
}

export function Inputs({ scan, wish, trials, onChange }: PicturesProps): ReactNode {
  const center = centerOf(wish.recipe);
  const setCenter = (value: number): void => onChange({ recipe: { ...wish.recipe, center: value } });
  const axis = center === null ? null : <Line label="Axis" isUpright value={center} count={scan.columns} step={CENTER_STEP} onChange={setCenter} />;
  const { projection, sinogram } = trials.pictures;
  return (
    <div className="bench-inputs">
      <Frame name="Projection" note={`view ${wish.view} of ${scan.projections}`} ratio={clamp(scan.columns / scan.rows, LEAST_RATIO, MOST_RATIO)}>
        <Canvas place="projection" trial={projection} />
        {axis}
        <Line label="Row" value={wish.row} count={scan.rows} step={1} onChange={(row) => onChange({ row })} />
      </Frame>
      <input
        className="bench-view"
        type="range"
        aria-label="View"
        min={0}
        max={scan.projections - 1}
        value={wish.view}
        style={{ "--filled": `${(100 * wish.view) / Math.max(1, scan.projections - 1)}%` } as CSSProperties}
        onChange={(event) => onChange({ view: Number(event.currentTarget.value) })}
      />
      <Frame name="Sinogram" note={`row ${wish.row}`} ratio={null}>
        <Canvas place="sinogram" trial={sinogram} />
        {axis}
      </Frame>
    </div>
  );
}

export function Slice({ scan, wish, trials, onChange }: PicturesProps): ReactNode {
  const [split, setSplit] = useState(0.5);
  const { slice, before: earlier } = trials.pictures;
  const isCompared = before(wish.recipe, wish.compare) !== null;
  const held = useRef<{ x: number; center: number } | null>(null);
  const center = centerOf(wish.recipe);
  const drag = (event: PointerEvent): void => {
    if (!held.current) return;
    const moved = held.current.center + (event.clientX - held.current.x) * FINE * (event.shiftKey ? FINE : 1);
    onChange({ recipe: { ...wish.recipe, center: rounded(clamp(moved, 0, scan.columns - 1), 0.01) } });
  };
  return (
    <Frame name="Slice" note={noteOf(slice, wish)} ratio={1} isLarge>
      <div
        className="bench-slice"
        onPointerDown={(event) => {
          if (center === null || event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          held.current = { x: event.clientX, center };
        }}
        onPointerMove={drag}
        onPointerUp={() => (held.current = null)}
        onPointerCancel={() => (held.current = null)}
      >
        {slice ? null : <p className="hint bench-waiting">{center === null ? "looking for the axis…" : "making the slice…"}</p>}
        <Canvas place="slice" trial={slice} />
        {isCompared ? (
          <div className="bench-before" style={{ clipPath: `inset(0 ${100 - 100 * split}% 0 0)` }}>
            <Canvas place="before" trial={earlier} />
          </div>
        ) : null}
      </div>
      {isCompared ? (
        <>
          <span className="bench-tag is-left">before</span>
          <span className="bench-tag is-right">after</span>
          <Line label="Before and after" isUpright value={split * 100} count={100} step={1} onChange={(place) => setSplit(place / 100)} />
        </>
      ) : null}
    </Frame>
  );
}

function noteOf(slice: Trial | undefined, { row, recipe }: Wish): string {
  if (!slice) return `row ${row}`;
  const { low, high, unit, radius_px } = slice.header;
  const smooth = radius_px === null || !recipe.phase ? "" : ` · phase smooths over ${short(radius_px)} pixels`;
  return `row ${row} · ${short(low)} to ${short(high)} ${unit}${smooth}`;
}

interface FrameProps {
  name: string;
  note: string;
  /** Width over height; null takes the place there is. */
  ratio: number | null;
  isLarge?: boolean;
  children: ReactNode;
}

function Frame({ name, note, ratio, isLarge = false, children }: FrameProps): ReactNode {
  const style = ratio === null ? {} : { "--ratio": ratio };
  return (
    <figure className={isLarge ? "bench-figure is-large" : "bench-figure"} aria-label={name} style={style as CSSProperties}>
      <figcaption>
        <b>{name}</b> <span className="hint number">{note}</span>
      </figcaption>
      <div className="bench-frame">
        <div className="bench-picture">{children}</div>
      </div>
    </figure>
  );
}

function Canvas({ place, trial }: { place: TrialPlace; trial: Trial | undefined }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element || !trial) return;
    const { header, picture, isExact } = trial;
    element.width = header.width;
    element.height = header.height;
    element.getContext("2d")?.drawImage(picture, 0, 0);
    // For whoever looks from outside: which picture this is.
    Object.assign(element.dataset, { isExact, index: header.index, center: header.center ?? "", low: header.low, high: header.high });
  }, [trial]);
  return <canvas ref={canvas} data-place={place} />;
}

interface LineProps {
  label: string;
  value: number;
  /** Pixels there are across; pixel n has its middle at n. */
  count: number;
  step: number;
  isUpright?: boolean;
  onChange: (value: number) => void;
}

/** A line over a picture, to be dragged or stepped. */
function Line({ label, value, count, step, isUpright = false, onChange }: LineProps): ReactNode {
  const [isHeld, setHeld] = useState(false);
  const put = (next: number): void => onChange(rounded(clamp(next, 0, count - 1), step));
  const aim = (event: PointerEvent): void => {
    const frame = event.currentTarget.parentElement?.getBoundingClientRect();
    if (!isHeld || !frame) return;
    const share = isUpright ? (event.clientX - frame.left) / frame.width : (event.clientY - frame.top) / frame.height;
    put(share * count - 0.5);
  };
  const press = (event: KeyboardEvent): void => {
    const way = { ArrowRight: 1, ArrowDown: isUpright ? -1 : 1, ArrowLeft: -1, ArrowUp: isUpright ? 1 : -1, PageUp: 10, PageDown: -10 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    put(value + way * step * (event.shiftKey ? 10 : 1));
  };
  const place = `${clamp((100 * (value + 0.5)) / count, 0, 100)}%`;
  return (
    <div
      className={isUpright ? "bench-line is-upright" : "bench-line"}
      style={isUpright ? { left: place } : { top: place }}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-orientation={isUpright ? "horizontal" : "vertical"}
      aria-valuemin={0}
      aria-valuemax={count - 1}
      aria-valuenow={value}
      onKeyDown={press}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setHeld(true);
      }}
      onPointerMove={aim}
      onPointerUp={() => setHeld(false)}
      onPointerCancel={() => setHeld(false)}
    />
  );
}

const rounded = (value: number, step: number): number => Number((Math.round(value / step) * step).toFixed(4));
