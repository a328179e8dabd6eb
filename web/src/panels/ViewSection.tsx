// The camera, the background and annotations.

import type { ReactNode } from "react";
import { withPerspective } from "../geometry/camera";
import { Segmented, Switch } from "../components/Choice";
import { Section } from "../components/Section";
import { useSession } from "../session/session";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { fromHex, hex } from "../transfer/points";

const ANGLE_DEG = 30;

export function ViewSection(): ReactNode {
  const session = useSession();
  const isParallel = useSelect((state) => state.camera?.field_of_view_deg === null);
  const background = useSelect((state) => sceneOf(state)?.background ?? null);
  const isScaleShown = useSelect((state) => state.interface.isScaleShown);
  const arePlanesShown = useSelect((state) => state.interface.areSlicePlanesShown);
  const isJittered = useSelect((state) => sceneOf(state)?.is_jittered ?? true);
  const annotations = useSelect((state) => sceneOf(state)?.annotations ?? null);
  const choose = (kind: "perspective" | "parallel"): void => {
    const { camera } = session.store.get();
    if (camera) session.look(withPerspective(camera, kind === "parallel" ? null : ANGLE_DEG), false);
  };
  return (
    <Section title="View" isOpenAtFirst={false}>
      <Segmented
        label="Projection"
        value={isParallel ? "parallel" : "perspective"}
        options={[
          { value: "perspective", label: "Perspective" },
          { value: "parallel", label: "Parallel" },
        ]}
        onChange={choose}
      />
      {background ? (
        <label className="row">
          <span className="label">Background</span>
          <input
            type="color"
            title="Background colour"
            className="swatch"
            value={hex([background[0], background[1], background[2]])}
            onChange={(event) => session.set(["background"], [...fromHex(event.currentTarget.value), background[3]])}
          />
        </label>
      ) : null}
      <Switch label="Slice planes in the scene" isOn={arePlanesShown} onChange={(isOn) => session.page({ areSlicePlanesShown: isOn })} />
      <Switch label="Scale bar" isOn={isScaleShown} onChange={(isOn) => session.page({ isScaleShown: isOn })} />
      {annotations ? (
        <Switch
          label="Scale bar, axes and legend in saved images"
          isOn={annotations.is_scale_bar}
          onChange={(isOn) => session.set(["annotations"], { ...annotations, is_scale_bar: isOn, is_axes: isOn, is_legend: isOn })}
        />
      ) : null}
      <Switch label="Jittered sampling (noise instead of banding)" isOn={isJittered} onChange={(isOn) => session.set(["is_jittered"], isOn)} />
    </Section>
  );
}
