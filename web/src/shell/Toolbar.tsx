// The toolbar on the left.

import type { ReactNode } from "react";
import { IconButton } from "../components/Button";
import type { IconName } from "../components/Icon";
import { isMeasureKind } from "../geometry/measuring";
import { actionOf, mayRun, type ActionName } from "../session/actions";
import { useSession } from "../session/session";
import { areSlicesShown, isComparing, sceneOf } from "../state/selectors";
import type { PageState } from "../state/state";
import { useSelect } from "../state/store";

interface Tool {
  action: ActionName;
  icon: IconName;
  isOn?: (state: PageState) => boolean;
}

const GROUPS: readonly (readonly Tool[])[] = [
  [
    { action: "files", icon: "open", isOn: (state) => state.interface.drawer === "files" },
    { action: "home", icon: "home" },
    { action: "auto", icon: "wand" },
    { action: "undo", icon: "undo" },
    { action: "redo", icon: "redo" },
  ],
  [
    { action: "slices", icon: "slices", isOn: areSlicesShown },
    { action: "oblique", icon: "oblique", isOn: (state) => (sceneOf(state)?.slices.length ?? 0) > 0 },
    { action: "clip", icon: "clip", isOn: (state) => state.interface.areClipHandlesShown },
    { action: "measure", icon: "ruler", isOn: (state) => isMeasureKind(state.interface.tool) },
    { action: "compare", icon: "compare", isOn: isComparing },
  ],
  [
    { action: "capture", icon: "camera" },
    { action: "share", icon: "share" },
  ],
];

const LOW: readonly Tool[] = [
  { action: "statistics", icon: "gauge", isOn: (state) => state.interface.areStatisticsShown },
  { action: "help", icon: "help" },
];

export function Toolbar(): ReactNode {
  return (
    <nav className="toolbar pane grows" aria-label="Tools">
      {GROUPS.map((tools) => (
        <div key={tools[0]?.action} className="toolbar-group">
          {tools.map((tool) => (
            <ToolButton key={tool.action} {...tool} />
          ))}
        </div>
      ))}
      <div className="toolbar-group is-low">
        {LOW.map((tool) => (
          <ToolButton key={tool.action} {...tool} />
        ))}
      </div>
    </nav>
  );
}

function ToolButton({ action: name, icon, isOn }: Tool): ReactNode {
  const session = useSession();
  const action = actionOf(name);
  const isAllowed = useSelect((state) => mayRun(action, state));
  const isActive = useSelect((state) => isOn?.(state));
  const [key] = action.keys;
  return (
    <IconButton
      icon={icon}
      label={action.name}
      isDisabled={!isAllowed}
      onClick={() => action.run(session)}
      {...(key ? { shortcut: readable(key) } : {})}
      {...(isActive === undefined ? {} : { isOn: isActive })}
    />
  );
}

const WORDS: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Control: "Ctrl", Escape: "Esc" };

export function readable(key: string): string {
  if (key === "+") return key;
  return key
    .split("+")
    .map((part) => WORDS[part] ?? (part.length === 1 ? part.toUpperCase() : part))
    .join(" ");
}
