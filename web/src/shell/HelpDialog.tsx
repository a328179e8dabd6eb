// How to use the page. Here: mouse, touch, and every key from the one table of them.

import type { ReactNode } from "react";
import { DialogWindow } from "../parts/Dialog";
import { ACTIONS, type Action } from "../session/actions";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import { readable } from "./Rail";

const POINTER: readonly [string, string][] = [
  ["Drag", "turn"],
  ["Shift and drag, or the other buttons", "move"],
  ["Wheel, or Ctrl and drag", "zoom"],
  ["Alt and drag", "roll"],
  ["Two fingers", "move and zoom"],
  ["Double-click", "turn around what was hit"],
  ["Rest on the picture", "value under the cursor"],
];

const EDITOR: readonly [string, string][] = [
  ["Drag a point", "change the opacity of a value"],
  ["Click on the line, or double-click", "another point"],
  ["Right-click, or Delete", "take a point away"],
  ["Drag the ends of the colours", "change the window"],
  ["Drag the colours", "shift the window"],
];

const GROUPS = ["View", "Tools", "Page"] as const;

export function HelpDialog(): ReactNode {
  const session = useSession();
  const product = useSelect((state) => state.welcome?.product ?? "Pellucid");
  const device = useSelect((state) => state.welcome?.device ?? "");
  return (
    <DialogWindow title="Help" width="wide" onClose={() => session.openDialog("none")}>
      <div className="help">
        <Table title="Mouse and touch" lines={POINTER} />
        <Table title="Colour and opacity" lines={EDITOR} />
        {GROUPS.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {Object.values<Action>(ACTIONS)
                .filter((action) => action.group === group && action.keys.length > 0)
                .map((action) => (
                  <div key={action.name}>
                    <dt>
                      {action.keys.slice(0, 1).map((key) => (
                        <kbd key={key}>{readable(key)}</kbd>
                      ))}
                    </dt>
                    <dd>{action.name}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="hint">
        {product} · {device}
      </p>
    </DialogWindow>
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
