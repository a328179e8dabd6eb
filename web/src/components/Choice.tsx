// Choosing one of several: a few side by side, many in a list, two with a switch.

import type { ReactNode } from "react";

export interface Option<Value extends string> {
  value: Value;
  label: string;
  title?: string;
}

interface ChoiceProps<Value extends string> {
  label: string;
  title?: string;
  value: Value;
  options: readonly Option<Value>[];
  onChange: (value: Value) => void;
}

export function Segmented<Value extends string>({ label, value, options, onChange }: ChoiceProps<Value>): ReactNode {
  return (
    <div className="segmented" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="button" aria-pressed={option.value === value} title={option.title ?? `${label}: ${option.label}`} onClick={() => onChange(option.value)}>
          {option.label}
        </button>
      ))}
    </div>
  );
}

export function Select<Value extends string>({ label, value, options, onChange, title = label }: ChoiceProps<Value>): ReactNode {
  return (
    <label className="row" title={title}>
      <span className="label">{label}</span>
      <select
        className="field"
        value={value}
        onChange={(event) => {
          const found = options.find((option) => option.value === event.currentTarget.value);
          if (found) onChange(found.value);
        }}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}

interface SwitchProps {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
  isDisabled?: boolean;
  title?: string;
}

export function Switch({ label, isOn, onChange, isDisabled = false, title = label }: SwitchProps): ReactNode {
  return (
    <label className="switch" title={title}>
      <span>{label}</span>
      <input type="checkbox" checked={isOn} disabled={isDisabled} onChange={(event) => onChange(event.currentTarget.checked)} />
    </label>
  );
}
