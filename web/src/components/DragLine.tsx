// A line over an image, to be dragged or stepped: a row, an axis, where one image ends and another begins.

import { useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { clamp } from "../geometry/vector";

interface DragLineProps {
  label: string;
  title?: string;
  value: number;
  /** Pixels there are across; pixel n has its middle at n. */
  count: number;
  /** Where in its pixel the line is: its middle, or an end. */
  offset?: number;
  step: number;
  isUpright?: boolean;
  isFaint?: boolean;
  /** The end of a range. */
  isEnd?: boolean;
  onChange: (value: number) => void;
}

/** A line over an image, to be dragged or stepped. */
export function DragLine({ label, title = label, value, count, offset = 0.5, step, isUpright = false, isFaint = false, isEnd = false, onChange }: DragLineProps): ReactNode {
  const [isHeld, setHeld] = useState(false);
  const put = (next: number): void => onChange(rounded(clamp(next, 0, count - 1), step));
  const aim = (event: PointerEvent): void => {
    const frame = event.currentTarget.parentElement?.getBoundingClientRect();
    if (!isHeld || !frame) return;
    const share = isUpright ? (event.clientX - frame.left) / frame.width : (event.clientY - frame.top) / frame.height;
    put(share * count - offset);
  };
  const press = (event: KeyboardEvent): void => {
    const way = { ArrowRight: 1, ArrowDown: isUpright ? -1 : 1, ArrowLeft: -1, ArrowUp: isUpright ? 1 : -1, PageUp: 10, PageDown: -10 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    put(value + way * step * (event.shiftKey ? 10 : 1));
  };
  const place = `${clamp((100 * (value + offset)) / count, 0, 100)}%`;
  return (
    <div
      className={`drag-line${isUpright ? " is-upright" : ""}${isFaint ? " is-faint" : ""}${isEnd ? " is-end" : ""}`}
      style={isUpright ? { left: place } : { top: place }}
      role="slider"
      tabIndex={0}
      aria-label={label}
      title={`${title}. Drag it, or use the arrow keys.`}
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

export const rounded = (value: number, step: number): number => Number((Math.round(value / step) * step).toFixed(4));
