// Help. Here: mouse, touch, and every key from the one table of them.

import type { ReactNode } from "react";
import { DialogWindow } from "../components/Dialog";
import { ACTIONS, type Action } from "../session/actions";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import { readable } from "./Toolbar";

const POINTER: readonly [string, string][] = [
  ["Drag", "rotate"],
  ["Shift-drag, or another mouse button", "pan"],
  ["Wheel, or Ctrl-drag", "zoom"],
  ["Alt-drag", "roll"],
  ["Two fingers", "pan and zoom"],
  ["Double-click", "rotate around the clicked point"],
  ["Hover", "value under the cursor"],
];

const EDITOR: readonly [string, string][] = [
  ["Drag a point", "change the opacity of a value"],
  ["Click the line, or double-click", "add a point"],
  ["Right-click, or Delete", "remove a point"],
  ["Drag the ends of the colour bar", "change the value range"],
  ["Drag the colour bar", "shift the value range"],
];

const VIEW: readonly [string, string][] = [
  ["← → ↑ ↓", "Rotate"],
  ["Shift ← → ↑ ↓", "Pan"],
  ["+ −", "Zoom"],
  ["X Y Z", "Look along an axis; again: from the other end"],
  ["Home", "Reset the view: show everything that is visible"],
  ["A", "Auto: the first colours, opacities and camera"],
];

const SLICES: readonly [string, string][] = [
  ["1 2 3 4", "The scene alone, beside slices, four equal views, slices alone"],
  ["↑ ↓", "Next and previous slice; so does the wheel"],
  ["+ −", "Zoom; so does Ctrl and the wheel"],
  ["0", "The whole slice"],
  ["Shift drag", "Pan"],
  ["Ctrl drag", "Contrast and brightness"],
];

const GROUPS = ["Tools", "Page"] as const;

export function HelpDialog(): ReactNode {
  const session = useSession();
  const product = useSelect((state) => state.welcome?.product ?? "");
  const device = useSelect((state) => state.welcome?.device ?? "");
  return (
    <DialogWindow title="Help" width="wide" onClose={() => session.openDialog("none")}>
      <div className="help">
        <Table title="Mouse and touch" lines={POINTER} />
        <Table title="Colour and opacity" lines={EDITOR} />
        <Keys title="View" lines={VIEW} />
        <Keys title="Slices" lines={SLICES} />
        {GROUPS.map((group) => (
          <Keys key={group} title={group} lines={keysOf(group)} />
        ))}
      </div>
      <p className="hint">
        Pellucid {product} · {device}
      </p>
    </DialogWindow>
  );
}

function keysOf(group: Action["group"]): [string, string][] {
  const actions = Object.values<Action>(ACTIONS).filter((action) => action.group === group);
  return actions.flatMap((action): [string, string][] => (action.keys[0] ? [[readable(action.keys[0]), action.name]] : []));
}

function Keys({ title, lines }: { title: string; lines: readonly [string, string][] }): ReactNode {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {lines.map(([keys, does]) => (
          <div key={does}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Table({ title, lines }: { title: string; lines: readonly [string, string][] }): ReactNode {
  return (
    <section>
      <h3>{title}</h3>
      <dl className="is-words">
        {lines.map(([what, does]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
