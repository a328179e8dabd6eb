// A number field. Here: typed text counts on Enter or when the field loses the focus; arrow keys step.

import { useState, type KeyboardEvent, type ReactNode } from "react";
import { clamp } from "../geometry/vector";
import { short } from "../geometry/measures";

interface NumberFieldProps {
  value: number;
  onChange: (value: number) => void;
  label: string;
  low?: number;
  high?: number;
  step?: number;
  className?: string;
  isDisabled?: boolean;
  text?: (value: number) => string;
  title?: string;
}

export function NumberField(props: NumberFieldProps): ReactNode {
  const { value, onChange, label, low = -Infinity, high = Infinity, step, className = "field is-number", isDisabled = false, text = short, title } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const number = typed === null ? value : parse(typed);
  const commit = (): void => {
    if (typed !== null && Number.isFinite(number)) onChange(clamp(number, low, high));
    setTyped(null);
  };
  const press = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === "Enter") commit();
    if (event.key === "Escape") setTyped(null);
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    const way = (event.key === "ArrowUp" ? 1 : -1) * (event.shiftKey ? 10 : 1);
    setTyped(null);
    onChange(clamp((Number.isFinite(number) ? number : value) + way * (step ?? 1), low, high));
  };
  return (
    <input
      className={className}
      type="text"
      inputMode="decimal"
      aria-label={label}
      title={title ?? `${label}. Up and down step, with Shift by ten.`}
      aria-invalid={typed !== null && !Number.isFinite(number)}
      disabled={isDisabled}
      value={typed ?? text(value)}
      onFocus={(event) => event.currentTarget.select()}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={press}
    />
  );
}

/** What was typed, as a number; a comma is a point. */
export function parse(text: string): number {
  const trimmed = text.trim().replace(",", ".");
  return trimmed === "" ? Number.NaN : Number(trimmed);
}
