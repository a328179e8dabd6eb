// Which way x, y and z of the first volume point, towards higher indices; a click on an end looks from there.

import type { ReactNode } from "react";
import { axesOf, lookingFrom } from "../geometry/camera";
import { towardsHigher } from "../geometry/transform";
import { dot, scale, type Vector } from "../geometry/vector";
import { animateCamera } from "../session/cameraAnimation";
import { useSession } from "../session/session";
import { canControl } from "../state/selectors";
import { useSelect } from "../state/store";

const RADIUS = 30;

interface Arm {
  name: string;
  direction: Vector;
  isPositive: boolean;
}

const FORWARD: Vector = [1, 1, 1];
const ARMS: readonly Arm[] = ([["x", [1, 0, 0]], ["y", [0, 1, 0]], ["z", [0, 0, 1]]] as const).flatMap(([name, direction]) => [
  { name, direction, isPositive: true },
  { name, direction: scale(direction, -1), isPositive: false },
]);

export function AxesGizmo(): ReactNode {
  const session = useSession();
  const camera = useSelect((state) => state.shown?.header.camera ?? null);
  const mayControl = useSelect(canControl);
  const isInImage = useSelect((state) => state.server?.scene.annotations.is_axes ?? false);
  const mirroring = useSelect((state) => state.server?.scene.volumes[0]?.transform.scale ?? FORWARD);
  if (!camera || isInImage) return null;
  const { right, up, forward } = axesOf(camera);
  const drawn = ARMS.map((arm) => {
    const direction = towardsHigher(arm.direction, mirroring);
    return { ...arm, direction, x: dot(direction, right) * RADIUS, y: -dot(direction, up) * RADIUS, depth: dot(direction, forward) };
  }).toSorted((a, b) => b.depth - a.depth);
  const lookFrom = ({ name, direction }: Arm): void => {
    const now = session.store.get().camera;
    if (!now || !mayControl) return;
    const axis = "xyz".indexOf(name);
    animateCamera(session, lookingFrom(now, axis, (direction[axis] ?? 1) > 0));
  };
  return (
    <svg className="axes grows" viewBox="-42 -42 84 84" aria-label="Orientation of the x, y and z axes">
      {drawn.map((arm) => (
        <g
          key={arm.name + String(arm.isPositive)}
          className={`arm is-${arm.name}`}
          opacity={0.55 - 0.45 * arm.depth}
          role="button"
          aria-label={`Look from ${arm.isPositive ? "+" : "−"}${arm.name}`}
          onClick={() => lookFrom(arm)}
          tabIndex={mayControl ? 0 : -1}
          onKeyDown={(event) => {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            lookFrom(arm);
          }}
        >
          <title>{`Look from ${arm.isPositive ? "+" : "−"}${arm.name}`}</title>
          {arm.isPositive ? <line x2={arm.x} y2={arm.y} /> : null}
          <circle cx={arm.x} cy={arm.y} r={arm.isPositive ? 7.5 : 4.5} className={arm.isPositive ? "is-full" : ""} />
          {arm.isPositive ? (
            <text x={arm.x} y={arm.y + 0.5}>
              {arm.name}
            </text>
          ) : null}
        </g>
      ))}
    </svg>
  );
}
