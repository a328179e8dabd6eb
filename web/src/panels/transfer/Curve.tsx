// The opacity over the histogram, with points to drag.
// Here: drawing and dragging points. Not here: colours and the window (ColorBar.tsx).

import { useRef, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { within } from "../../geometry/measures";
import { clamp } from "../../geometry/vector";
import type { HistogramData, TransferFunction } from "../../protocol";
import { positionOf, valueAt } from "../../transfer/paraview";
import { css, levelAt, mixColors, mixNumbers, withMoved, withoutPoint, withPoint, type ColorPoint, type OpacityPoint } from "../../transfer/points";
import { outline, type Domain } from "./histogram";

const NEAR_PIXELS = 9;
const KEYS: Record<string, readonly [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

interface CurveProps {
  transfer: TransferFunction;
  histogram: HistogramData | null;
  domain: Domain;
  isLogarithmic: boolean;
  onChange: (opacities: OpacityPoint[], isMoving: boolean) => void;
}

export function Curve({ transfer, histogram, domain, isLogarithmic, onChange }: CurveProps): ReactNode {
  const held = useRef<number | null>(null);
  const points = transfer.opacities.map(([at, level]): OpacityPoint => [at, level]);
  const range = transfer.value_range;
  const x = (position: number): number => positionOf(domain, valueAt(range, position));

  const place = (event: PointerEvent | React.MouseEvent): OpacityPoint => {
    const frame = event.currentTarget.closest("svg")?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    const value = valueAt(domain, (event.clientX - frame.left) / frame.width);
    return [positionOf(range, value), clamp(1 - (event.clientY - frame.top) / frame.height, 0, 1)];
  };
  const drag = (event: PointerEvent, isMoving: boolean): void => {
    if (held.current !== null) onChange(withMoved(points, held.current, ...place(event)), isMoving);
  };
  const grab = (event: PointerEvent<SVGSVGElement>): void => {
    if (event.button !== 0) return;
    const [position, level] = place(event);
    const index = indexOf(event.target);
    const height = event.currentTarget.getBoundingClientRect().height;
    const isNear = Math.abs(levelAt(points, position, mixNumbers) - level) * height < NEAR_PIXELS;
    if (index === null && !(isNear && position >= 0 && position <= 1)) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    if (index !== null) held.current = index;
    else add(position, level, true);
  };
  const add = (position: number, level: number, isMoving: boolean): void => {
    const [next, index] = withPoint(points, position, level);
    held.current = isMoving ? index : null;
    onChange(next, isMoving);
  };
  const press = (event: KeyboardEvent, index: number): void => {
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      return onChange(withoutPoint(points, index), false);
    }
    const way = KEYS[event.key];
    const point = points[index];
    if (!way || !point) return;
    event.preventDefault();
    const step = event.shiftKey ? 0.05 : 0.005;
    onChange(withMoved(points, index, point[0] + way[0] * step, clamp(point[1] + way[1] * step * 2, 0, 1)), false);
  };

  return (
    <svg
      className="curve"
      onPointerDown={grab}
      onPointerMove={(event) => drag(event, true)}
      onPointerUp={(event) => {
        drag(event, false);
        held.current = null;
      }}
      onDoubleClick={(event) => {
        if (indexOf(event.target) === null) add(clamp(place(event)[0], 0, 1), place(event)[1], false);
      }}
      onContextMenu={(event) => {
        event.preventDefault();
        const index = indexOf(event.target);
        if (index !== null) onChange(withoutPoint(points, index), false);
      }}
    >
      <Ground transfer={transfer} histogram={histogram} domain={domain} isLogarithmic={isLogarithmic} />
      <svg viewBox="0 0 1 1" preserveAspectRatio="none" className="curve-line">
        <path d={lineOf(points, x)} />
      </svg>
      {points.map(([position, level], index) => (
        <circle
          // Points have no names: the index identifies them.
          key={index}
          data-point={index}
          className="curve-point"
          cx={`${x(position) * 100}%`}
          cy={`${(1 - level) * 100}%`}
          r={5}
          tabIndex={0}
          role="slider"
          aria-label={`Opacity point ${index + 1} of ${points.length}`}
          aria-valuenow={level}
          aria-valuemin={0}
          aria-valuemax={1}
          aria-valuetext={`opacity ${level.toFixed(2)} at ${within(valueAt(range, position), domain)}`}
          onKeyDown={(event) => press(event, index)}
        >
          <title>{`Opacity ${level.toFixed(2)} at ${within(valueAt(range, position), domain)}: drag it, or use the arrow keys; Delete removes it`}</title>
        </circle>
      ))}
    </svg>
  );
}

/** The histogram, coloured inside the value range, pale outside. */
function Ground({ transfer, histogram, domain, isLogarithmic }: Omit<CurveProps, "onChange">): ReactNode {
  const path = histogram ? outline(histogram, domain, isLogarithmic) : "";
  const [low, high] = transfer.value_range.map((value) => positionOf(domain, value)) as [number, number];
  const colors = transfer.colors.map(([at, color]): ColorPoint => [at, [...color]]);
  const stops = Array.from({ length: 17 }, (_, index) => index / 16);
  return (
    <svg viewBox="0 0 1 1" preserveAspectRatio="none" className="curve-ground">
      <defs>
        <linearGradient id="curve-colors" gradientUnits="userSpaceOnUse" x1={low} x2={high} y1="0" y2="0">
          {stops.map((at) => (
            <stop key={at} offset={at} stopColor={css(levelAt(colors, at, mixColors).map((one) => 0.2 + one * 0.8))} />
          ))}
        </linearGradient>
        <clipPath id="curve-window">
          <rect x={low} y="0" width={Math.max(high - low, 0)} height="1" />
        </clipPath>
      </defs>
      <path className="histogram" d={path} />
      <path d={path} fill="url(#curve-colors)" clipPath="url(#curve-window)" opacity="0.85" />
    </svg>
  );
}

function lineOf(points: readonly OpacityPoint[], x: (position: number) => number): string {
  const inner = points.map(([position, level]) => `${x(position).toFixed(5)} ${(1 - level).toFixed(4)}`);
  const [first, last] = [points[0], points.at(-1)];
  return `M${x(0).toFixed(5)} ${(1 - (first?.[1] ?? 0)).toFixed(4)}L${inner.join("L")}L${x(1).toFixed(5)} ${(1 - (last?.[1] ?? 0)).toFixed(4)}`;
}

function indexOf(target: EventTarget): number | null {
  const index = target instanceof SVGElement ? target.dataset["point"] : undefined;
  return index === undefined ? null : Number(index);
}
