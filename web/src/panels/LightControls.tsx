// The light of the scene: where it comes from and how it is reflected.

import type { ReactNode } from "react";
import { Segmented } from "../components/Choice";
import { Slider } from "../components/Slider";
import type { Vector } from "../geometry/vector";
import { useSession } from "../session/session";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { anglesOf, changesTo, directionOf, kindOf, type LightKind } from "./light";

const PARTS: readonly { part: "ambient" | "diffuse" | "specular"; label: string }[] = [
  { part: "ambient", label: "Ambient" },
  { part: "diffuse", label: "Diffuse" },
  { part: "specular", label: "Specular" },
];

const KINDS: readonly { value: LightKind; label: string; title: string }[] = [
  { value: "camera", label: "With camera", title: "A key light that moves with the camera" },
  { value: "headlight", label: "Headlight", title: "Light from the direction of the viewer" },
  { value: "fixed", label: "Fixed", title: "A light that does not move with the camera" },
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
        <Segmented label="Light" value={kindOf(light)} options={KINDS} onChange={(kind) => session.change(changesTo(kind))} />
        {light.direction ? <Direction path={["light", "direction"]} direction={light.direction} /> : <Direction path={["light", "camera_direction"]} direction={light.camera_direction} />}
      </div>
    </details>
  );
}

function Direction({ path, direction }: { path: readonly string[]; direction: Vector }): ReactNode {
  const session = useSession();
  const angles = anglesOf(direction);
  const set = (azimuth: number, elevation: number, isMoving: boolean): void =>
    session.set(path, directionOf({ azimuth, elevation }), isMoving);
  return (
    <>
      <Slider label="Azimuth" value={angles.azimuth} low={-180} high={180} text={degrees} onChange={(value, isMoving) => set(value, angles.elevation, isMoving)} />
      <Slider label="Elevation" value={angles.elevation} low={-89} high={89} text={degrees} onChange={(value, isMoving) => set(angles.azimuth, value, isMoving)} />
    </>
  );
}
