// The colour bar below the histogram: its ends and its middle change the value range.
// Here: the value range and the colours. Not here: opacity (Curve.tsx).

import { useRef, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { within } from "../../geometry/measures";
import { clamp } from "../../geometry/vector";
import type { TransferFunction } from "../../protocol";
import { positionOf } from "../../transfer/paraview";
import { css, fromHex, gradient, hex, levelAt, mixColors, withMoved, withoutPoint, withPoint, type ColorPoint } from "../../transfer/points";
import type { Domain } from "./histogram";

const MIN_SHARE = 0.002;
export const MAX_STOPS = 12;
type Part = "low" | "high" | "middle";

interface BarProps {
  transfer: TransferFunction;
  domain: Domain;
  onRange: (range: [number, number], isMoving: boolean) => void;
  onColors: (colors: ColorPoint[], isMoving: boolean) => void;
}

export function ColorBar({ transfer, domain, onRange, onColors }: BarProps): ReactNode {
  const colors = transfer.colors.map(([at, color]): ColorPoint => [at, [...color]]);
  const [low, high] = [positionOf(domain, transfer.value_range[0]), positionOf(domain, transfer.value_range[1])];
  const window = useWindow(transfer.value_range, domain, onRange);
  return (
    <div className="color-bar">
      <div className="color-window" style={{ left: `${low * 100}%`, width: `${(high - low) * 100}%` }}>
        <div
          className="color-ramp"
          style={{ background: gradient(colors) }}
          title="Drag to shift the value range; double-click to add a colour"
          onDoubleClick={(event) => {
            const frame = event.currentTarget.getBoundingClientRect();
            const position = clamp((event.clientX - frame.left) / frame.width, 0, 1);
            onColors(withPoint(colors, position, levelAt(colors, position, mixColors))[0], false);
          }}
          {...window("middle")}
        />
        <Grip part="low" value={transfer.value_range[0]} domain={domain} hands={window("low")} />
        <Grip part="high" value={transfer.value_range[1]} domain={domain} hands={window("high")} />
      </div>
      {colors.length <= MAX_STOPS ? <Stops colors={colors} low={low} high={high} onColors={onColors} /> : null}
    </div>
  );
}

interface Hands {
  onPointerDown: (event: PointerEvent) => void;
  onPointerMove: (event: PointerEvent) => void;
  onPointerUp: (event: PointerEvent) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

function useWindow(range: readonly [number, number], domain: Domain, onRange: BarProps["onRange"]): (part: Part) => Hands {
  const held = useRef<{ x: number; range: readonly [number, number]; width: number } | null>(null);
  const spread = domain[1] - domain[0];
  const drag = (part: Part, event: PointerEvent, isMoving: boolean): void => {
    if (!held.current) return;
    const way = ((event.clientX - held.current.x) / held.current.width) * spread;
    if (way !== 0 || !isMoving) onRange(shifted(held.current.range, part, way, spread), isMoving);
  };
  return (part) => ({
    onPointerDown(event) {
      const bar = event.currentTarget.closest(".color-bar");
      held.current = { x: event.clientX, range, width: bar?.getBoundingClientRect().width ?? 1 };
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event) => drag(part, event, true),
    onPointerUp(event) {
      if (held.current && event.clientX !== held.current.x) drag(part, event, false);
      held.current = null;
    },
    onKeyDown(event) {
      const way = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
      if (way === 0) return;
      event.preventDefault();
      onRange(shifted(range, part, (way * spread * (event.shiftKey ? 10 : 1)) / 200, spread), false);
    },
  });
}

/** The value range with one end, or both, moved; it never becomes empty. */
export function shifted(range: readonly [number, number], part: Part, way: number, spread: number): [number, number] {
  const least = spread * MIN_SHARE;
  if (part === "low") return [Math.min(range[0] + way, range[1] - least), range[1]];
  if (part === "high") return [range[0], Math.max(range[1] + way, range[0] + least)];
  return [range[0] + way, range[1] + way];
}

function Grip({ part, value, domain, hands }: { part: "low" | "high"; value: number; domain: Domain; hands: Hands }): ReactNode {
  return (
    <div
      className={`grip is-${part}`}
      role="slider"
      tabIndex={0}
      title={part === "low" ? "Drag: values below have the first colour" : "Drag: values above have the last colour"}
      aria-label={part === "low" ? "Minimum of the value range" : "Maximum of the value range"}
      aria-valuenow={value}
      aria-valuemin={domain[0]}
      aria-valuemax={domain[1]}
      aria-valuetext={within(value, domain)}
      {...hands}
    />
  );
}

interface StopsProps {
  colors: ColorPoint[];
  low: number;
  high: number;
  onColors: BarProps["onColors"];
}

function Stops({ colors, low, high, onColors }: StopsProps): ReactNode {
  const held = useRef<{ index: number; hasMoved: boolean } | null>(null);
  const move = (event: PointerEvent, isMoving: boolean): void => {
    const frame = event.currentTarget.closest(".color-bar")?.getBoundingClientRect();
    const stop = held.current === null ? undefined : colors[held.current.index];
    if (!held.current || !frame || !stop) return;
    const position = ((event.clientX - frame.left) / frame.width - low) / (high - low);
    if (Math.abs(position - stop[0]) * frame.width * (high - low) < 3 && !held.current.hasMoved) return;
    held.current.hasMoved = true;
    onColors(withMoved(colors, held.current.index, position, stop[1]), isMoving);
  };
  return (
    <div className="stops">
      {colors.map(([at, color], index) => (
        <label
          // Stops have no names: the index identifies them.
          key={index}
          className="stop"
          style={{ left: `${(low + at * (high - low)) * 100}%`, background: css(color) }}
          title="Click to edit the colour, drag to move it, right-click to remove it"
          onPointerDown={(event) => {
            held.current = { index, hasMoved: false };
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => move(event, true)}
          onPointerUp={(event) => move(event, false)}
          onClick={(event) => {
            // Dragging a colour does not open the colour picker.
            if (held.current?.hasMoved) event.preventDefault();
            held.current = null;
          }}
          onContextMenu={(event) => {
            event.preventDefault();
            onColors(withoutPoint(colors, index), false);
          }}
        >
          <input
            type="color"
            className="unseen"
            aria-label={`Colour ${index + 1} of ${colors.length}`}
            value={hex(color)}
            onKeyDown={(event) => {
              if (event.key === "Delete") onColors(withoutPoint(colors, index), false);
            }}
            onChange={(event) => onColors(colors.with(index, [at, fromHex(event.currentTarget.value)]), false)}
          />
        </label>
      ))}
    </div>
  );
}
