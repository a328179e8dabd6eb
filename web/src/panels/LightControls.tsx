// The light of the scene: where it comes from and how it is reflected.

import type { ReactNode } from "react";
import { Switch } from "../components/Choice";
import { Slider } from "../components/Slider";
import type { Light } from "../protocol";
import { useSession } from "../session/session";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { anglesOf, directionOf, FIRST_ANGLES } from "./light";

const PARTS: readonly { part: "ambient" | "diffuse" | "specular"; label: string }[] = [
  { part: "ambient", label: "Ambient" },
  { part: "diffuse", label: "Diffuse" },
  { part: "specular", label: "Specular" },
];

const degrees = (value: number): string => `${Math.round(value)}°`;

export function LightControls(): ReactNode {
  const session = useSession();
  const light = useSelect((state) => sceneOf(state)?.light ?? null);
  if (!light) return null;
  return (
    <details className="fold">
      <summary>Light</summary>
      <div className="stack">
        {PARTS.map(({ part, label }) => (
          <Slider key={part} label={label} value={light[part]} low={0} high={1} onChange={(value, isMoving) => session.set(["light", part], value, isMoving)} />
        ))}
        <Slider label="Shininess" value={light.shininess} low={1} high={128} isLogarithmic onChange={(value, isMoving) => session.set(["light", "shininess"], value, isMoving)} />
        <Switch
          label="Headlight"
          isOn={light.direction === null}
          onChange={(isOn) => session.set(["light", "direction"], isOn ? null : directionOf(FIRST_ANGLES))}
        />
        {light.direction ? <Direction direction={light.direction} /> : null}
      </div>
    </details>
  );
}

function Direction({ direction }: { direction: NonNullable<Light["direction"]> }): ReactNode {
  const session = useSession();
  const angles = anglesOf(direction);
  const set = (azimuth: number, elevation: number, isMoving: boolean): void =>
    session.set(["light", "direction"], directionOf({ azimuth, elevation }), isMoving);
  return (
    <>
      <Slider label="Azimuth" value={angles.azimuth} low={-180} high={180} text={degrees} onChange={(value, isMoving) => set(value, angles.elevation, isMoving)} />
      <Slider label="Elevation" value={angles.elevation} low={-89} high={89} text={degrees} onChange={(value, isMoving) => set(angles.azimuth, value, isMoving)} />
    </>
  );
}
