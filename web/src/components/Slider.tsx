// A slider with its name and its number. Here: held and released are distinguished. Not here: what the number means.

import { useId, useRef, type CSSProperties, type ReactNode } from "react";
import { clamp } from "../geometry/vector";
import { short } from "../geometry/measures";
import { NumberField } from "./NumberField";

const STEPS = 1000;

interface SliderProps {
  label: string;
  value: number;
  low: number;
  high: number;
  /** isMoving: the slider is held, more will follow. */
  onChange: (value: number, isMoving: boolean) => void;
  step?: number;
  /** Logarithmic, for ranges that span powers of ten. */
  isLogarithmic?: boolean;
  isDisabled?: boolean;
  text?: (value: number) => string;
  /** Limits for typed numbers, beyond the ends of the slider. */
  isOpenEnded?: boolean;
  title?: string;
}

export function Slider(props: SliderProps): ReactNode {
  const { label, value, low, high, onChange, step, isLogarithmic = false, isDisabled = false, text = short, isOpenEnded = false, title = label } = props;
  const id = useId();
  const isHeld = useRef(false);
  const place = toPlace(clamp(value, low, high), low, high, isLogarithmic);
  const read = (input: string): number => snapped(fromPlace(Number(input) / STEPS, low, high, isLogarithmic), low, step);
  const letGo = (input: string): void => {
    if (!isHeld.current) return;
    isHeld.current = false;
    onChange(read(input), false);
  };
  return (
    <div className="slider" title={title}>
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <NumberField
        className="slider-number"
        label={`${label}, number`}
        value={value}
        low={isOpenEnded ? -Infinity : low}
        high={isOpenEnded ? Infinity : high}
        step={step ?? (high - low) / 100}
        isDisabled={isDisabled}
        text={text}
        onChange={(next) => onChange(next, false)}
      />
      <input
        id={id}
        type="range"
        min={0}
        max={STEPS}
        value={Math.round(place * STEPS)}
        disabled={isDisabled}
        aria-valuetext={text(value)}
        style={{ "--filled": `${place * 100}%` } as CSSProperties}
        onPointerDown={() => (isHeld.current = true)}
        onChange={(event) => onChange(read(event.currentTarget.value), isHeld.current)}
        onPointerUp={(event) => letGo(event.currentTarget.value)}
        onPointerCancel={(event) => letGo(event.currentTarget.value)}
      />
    </div>
  );
}

/** 0 to 1 for a value. */
export function toPlace(value: number, low: number, high: number, isLogarithmic: boolean): number {
  if (high <= low) return 0;
  return isLogarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

export function fromPlace(place: number, low: number, high: number, isLogarithmic: boolean): number {
  return isLogarithmic ? low * (high / low) ** place : low + (high - low) * place;
}

export function snapped(value: number, low: number, step: number | undefined): number {
  return step === undefined ? Number(value.toPrecision(6)) : low + Math.round((value - low) / step) * step;
}
