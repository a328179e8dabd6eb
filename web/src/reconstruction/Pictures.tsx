// What goes in and what comes out: a projection, its sinogram, the slice, each with what can be moved over it.

import { useEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { clamp } from "../geometry/vector";
import { short } from "../geometry/measures";
import type { Recipe, ScanDescription, TrialPlace, Wish } from "../protocol";
import type { Trial } from "./trier";
import type { Trials } from "./trials";
import { before, besideMiddle, centerOf, slopeOf } from "./wish";

/** Columns of the axis for a pixel of the mouse, over the slice. */
const FINE = 0.1;
const CENTER_STEP = 0.25;
const LEAST_RATIO = 0.8;
const MOST_RATIO = 3;

/** What changes, or what follows from the wish as it is by then. */
export type Change = (change: Partial<Wish> | ((wish: Wish) => Partial<Wish>)) => void;

interface PicturesProps {
  scan: ScanDescription;
  wish: Wish;
  trials: Trials;
  onChange: Change;
}

export function Inputs({ scan, wish, trials, onChange }: PicturesProps): ReactNode {
  const { projection, sinogram } = trials.pictures;
  const { recipe } = wish;
  const axisBeside = (columns: number, slope: number): ReactNode => <Axis scan={scan} recipe={recipe} beside={columns} slope={slope} onChange={onChange} />;
  return (
    <div className="bench-inputs">
      <Frame name="Projection" note={`view ${wish.view} of ${scan.projections}`} ratio={clamp(scan.columns / scan.rows, LEAST_RATIO, MOST_RATIO)}>
        <Canvas place="projection" trial={projection} />
        {axisBeside(0, slopeOf(recipe))}
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
        {axisBeside(besideMiddle(recipe, wish.row, scan.rows), 0)}
      </Frame>
    </div>
  );
}

interface AxisProps {
  scan: ScanDescription;
  recipe: Recipe;
  /** Columns from where it is in the middle row to where it is here. */
  beside: number;
  /** Columns from one row to the next. */
  slope: number;
  onChange: Change;
}

function Axis({ scan, recipe, beside, slope, onChange }: AxisProps): ReactNode {
  const center = centerOf(recipe);
  if (center === null) return null;
  const { columns, rows } = scan;
  const away = (slope * rows) / 2;
  return (
    <>
      {slope === 0 ? null : (
        <svg className="bench-aslant" viewBox={`-0.5 0 ${columns} 1`} preserveAspectRatio="none" aria-hidden>
          <line x1={center - away} x2={center + away} y1={0} y2={1} vectorEffect="non-scaling-stroke" />
        </svg>
      )}
      <Line label="Axis" isUpright isFaint={slope !== 0} value={center + beside} count={columns} step={CENTER_STEP} onChange={(value) => onChange({ recipe: { ...recipe, center: rounded(value - beside, 0.01) } })} />
    </>
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
  const place = recipe.binning > 1 ? `row ${row}, slice ${Math.floor(row / recipe.binning)}` : `row ${row}`;
  if (!slice) return place;
  const { low, high, unit, radius_px, voxels } = slice.header;
  const smooth = radius_px === null || !recipe.phase ? "" : ` · phase smooths over ${short(radius_px)} pixels`;
  const coarse = slice.isExact && voxels > 1 ? ` · ${voxels} × ${voxels} voxels are one` : "";
  return `${place} · greys from ${short(low, 3)} to ${short(high, 3)} ${unit}${smooth}${coarse}`;
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
    const { header, picture, isExact, recipe } = trial;
    element.width = header.width;
    element.height = header.height;
    element.getContext("2d")?.drawImage(picture, 0, 0);
    // For whoever looks from outside: which picture this is.
    Object.assign(element.dataset, { isExact, index: header.index, center: header.center ?? "", low: header.low, high: header.high, recipe: JSON.stringify(recipe) });
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
  isFaint?: boolean;
  onChange: (value: number) => void;
}

/** A line over a picture, to be dragged or stepped. */
function Line({ label, value, count, step, isUpright = false, isFaint = false, onChange }: LineProps): ReactNode {
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
      className={`bench-line${isUpright ? " is-upright" : ""}${isFaint ? " is-faint" : ""}`}
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
