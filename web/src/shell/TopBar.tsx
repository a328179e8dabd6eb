// The title at the top: what is shown, who else is connected.

import type { ReactNode } from "react";
import { Button, IconButton } from "../components/Button";
import { Icon } from "../components/Icon";
import { orientationFacts, spacingFacts, volumeFacts } from "../panels/LayersSection";
import { pathOf } from "../session/location";
import { reconstruct } from "../session/openFile";
import { actionOf, mayRun, setLayout } from "../session/actions";
import { useSession } from "../session/session";
import { areSlicesShown, canControl, isEmptyScene, isOwner } from "../state/selectors";
import { useSelect } from "../state/store";
import { titleOf } from "../state/title";

export function TopBar(): ReactNode {
  const session = useSession();
  const layers = useSelect((state) => titleOf(state).layers);
  const layer = layers?.layers[0] ?? null;
  const name = layer?.name ?? layers?.points[0]?.name ?? layers?.meshes[0]?.name ?? "Pellucid";
  const transform = useSelect((state) => titleOf(state).transform);
  const isPanelOpen = useSelect((state) => state.interface.isPanelOpen);
  const isEmpty = useSelect(isEmptyScene);
  return (
    <header className="top grows">
      <div className="title">
        <h1 title={name}>{name}</h1>
        {layer ? (
          <p className="hint number">
            {volumeFacts(layer)} <span className="dot" /> {spacingFacts(layer, transform)}
            {layer.is_projections ? <Projections /> : null}
            {layer.resembles_projections ? (
              <span title="The images look like X-ray projections: each row absorbs the same amount of light in all of them. Reconstruct the scan from its own files to see the object.">
                {" "}
                <span className="dot" /> <b>looks like projections of a scan</b>
              </span>
            ) : null}
            {layer.histogram?.counts.every((count) => count === 0) ? (
              <span title="Every voxel is NaN or infinite, so that nothing can be drawn. Check how the file was written.">
                {" "}
                <span className="dot" /> <b>no finite values</b>
              </span>
            ) : null}
            {layer.compression && (
              <span className="is-wide-only">
                {" "}
                <span className="dot" /> {layer.compression}
              </span>
            )}
            {layer.orientation && (
              <span title={layer.orientation}>
                {" "}
                <span className="dot" /> {orientationFacts(layer)}
              </span>
            )}
          </p>
        ) : null}
      </div>
      <div className="top-right">
        <People />
        {isEmpty || !layer ? null : <LayoutButtons />}
        {isEmpty ? null : <IconButton icon="panel" label="Panel" shortcut="\" isOn={isPanelOpen} onClick={() => session.page({ isPanelOpen: !isPanelOpen })} />}
      </div>
    </header>
  );
}

const LAYOUTS = [
  { layout: "scene", action: "layoutScene", icon: "layoutScene" },
  { layout: "side", action: "layoutSide", icon: "layoutSide" },
  { layout: "four", action: "layoutFour", icon: "layoutFour" },
  { layout: "slices", action: "layoutSlices", icon: "layoutSlices" },
] as const;

/** How the scene and its slices are arranged. */
function LayoutButtons(): ReactNode {
  const session = useSession();
  const shown = useSelect((state) => (areSlicesShown(state) ? state.interface.layout : "scene"));
  const mayControl = useSelect((state) => mayRun(actionOf("slices"), state));
  return (
    <div className="layouts pane" role="group" aria-label="Layout">
      {LAYOUTS.map(({ layout, action, icon }) => {
        const { name, keys } = actionOf(action);
        const [key = ""] = keys;
        // Who only watches chooses between the arrangements of what is shown.
        const isOff = !mayControl && (layout === "scene" || shown === "scene");
        return <IconButton key={layout} icon={icon} label={name} shortcut={key} isOn={layout === shown} isDisabled={isOff} onClick={() => setLayout(session, layout)} />;
      })}
    </div>
  );
}

/** These are not the slices of an object: a scan has to be reconstructed. */
function Projections(): ReactNode {
  const session = useSession();
  const path = useSelect((state) => pathOf(state.server?.scene.volumes[0]?.source ?? ""));
  const mayReconstruct = useSelect(isOwner);
  return (
    <>
      {" "}
      <span className="dot" /> <b>projections of a scan</b>{" "}
      {mayReconstruct ? (
        <button type="button" className="text-button" onClick={() => reconstruct(session, path)}>
          Reconstruct
        </button>
      ) : null}
    </>
  );
}

/** Who is connected, where there is more than one; and control, where another client has it. */
function People(): ReactNode {
  const session = useSession();
  const controls = useSelect((state) => state.controls);
  const me = useSelect((state) => state.welcome?.client ?? "");
  const capability = useSelect((state) => state.welcome?.capability ?? "view");
  const mayControl = useSelect(canControl);
  if (!controls || (controls.clients.length < 2 && mayControl)) return null;
  const asking = controls.asking.filter((id) => id !== me);
  const nameOf = (id: string): string => controls.clients.find((one) => one.id === id)?.name || "a guest";
  return (
    <div className="people">
      <span className="hint" title={controls.clients.map((one) => one.name || one.id).join(", ")}>
        <Icon name="people" /> {controls.clients.length}
      </span>
      {mayControl
        ? asking.map((id) => (
            <Button key={id} look="main" onClick={() => session.send({ type: "hand_over_controls", client: id })}>
              Hand control to {nameOf(id)}
            </Button>
          ))
        : null}
      {!mayControl && capability !== "view" ? (
        <Button isDisabled={controls.asking.includes(me)} onClick={() => session.send({ type: "request_controls" })}>
          {controls.asking.includes(me) ? "Control requested" : "Request control"}
        </Button>
      ) : null}
      {capability === "view" ? <span className="hint">View only</span> : null}
    </div>
  );
}
