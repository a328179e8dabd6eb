// Cinematic shading: lamp, environment, surfaces, lens, and how many paths of light are followed.

import type { ReactNode } from "react";
import { Select, Switch } from "../components/Choice";
import { Slider } from "../components/Slider";
import type { Cinematic } from "../protocol";
import { useSession } from "../session/session";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";

type Numbers = { [Name in keyof Cinematic]: Cinematic[Name] extends number ? Name : never }[keyof Cinematic];

interface Control {
  part: Numbers;
  label: string;
  low: number;
  high: number;
  isLogarithmic?: boolean;
  step?: number;
}

const ENVIRONMENTS = [
  { value: "studio", label: "Studio" },
  { value: "sky", label: "Sky" },
  { value: "overcast", label: "Overcast" },
] as const;

const EXPOSURE: Control = { part: "exposure", label: "Exposure", low: 0.1, high: 10, isLogarithmic: true };

const LIGHT: readonly Control[] = [
  { part: "lamp", label: "Lamp", low: 0, high: 4 },
  { part: "lamp_deg", label: "Softness of shadows (°)", low: 0, high: 60 },
  { part: "strength", label: "Environment light", low: 0, high: 4 },
  { part: "turn_deg", label: "Environment rotation (°)", low: -180, high: 180 },
];

const MATTER: readonly Control[] = [
  { part: "surface", label: "Surfaces", low: 0, high: 1 },
  { part: "roughness", label: "Roughness", low: 0.05, high: 1 },
  { part: "anisotropy", label: "Scattering forward", low: -0.9, high: 0.9 },
  { part: "scatterings", label: "Scatterings", low: 1, high: 64, step: 1, isLogarithmic: true },
];

const LENS: readonly Control[] = [
  { part: "aperture", label: "Aperture", low: 0, high: 0.2 },
  { part: "focus", label: "Focus (relative to the distance)", low: 0.5, high: 1.5 },
];

const SAMPLES: Control = { part: "samples", label: "Paths per pixel", low: 1, high: 1024, step: 1, isLogarithmic: true };

export function CinematicControls(): ReactNode {
  const session = useSession();
  const cinematic = useSelect((state) => sceneOf(state)?.cinematic ?? null);
  if (!cinematic) return null;
  const own = ENVIRONMENTS.every(({ value }) => value !== cinematic.environment);
  const environments = own ? [...ENVIRONMENTS, { value: cinematic.environment, label: cinematic.environment.split("/").pop() ?? "" }] : ENVIRONMENTS;
  const slider = ({ part, label, low, high, isLogarithmic, step }: Control): ReactNode => (
    <Slider
      key={part}
      label={label}
      value={cinematic[part]}
      low={low}
      high={high}
      {...(isLogarithmic === undefined ? {} : { isLogarithmic })}
      {...(step === undefined ? {} : { step })}
      onChange={(value, isMoving) => session.set(["cinematic", part], step === undefined ? value : Math.round(value), isMoving)}
    />
  );
  return (
    <div className="stack">
      <Select<string> label="Environment" value={cinematic.environment} options={environments} onChange={(name) => session.set(["cinematic", "environment"], name)} />
      {slider(EXPOSURE)}
      {slider(SAMPLES)}
      <Switch label="Remove noise" isOn={cinematic.is_denoised} onChange={(isOn) => session.set(["cinematic", "is_denoised"], isOn)} />
      <details className="fold">
        <summary>Lamp, surfaces, lens</summary>
        <div className="stack">{[...LIGHT, ...MATTER, ...LENS].map(slider)}</div>
      </details>
    </div>
  );
}
