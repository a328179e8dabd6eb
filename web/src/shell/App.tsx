// The page: the stage and everything around it.

import { useEffect, type CSSProperties, type ReactNode } from "react";
import { FileBrowser } from "../panels/FileBrowser";
import { ShadingEditor } from "../panels/ShadingEditor";
import { SidePanel } from "../panels/SidePanel";
import { RunWatcher } from "../reconstruction/RunWatcher";
import { Workbench } from "../reconstruction/Workbench";
import { actionFor, keyName, mayRun } from "../session/actions";
import { useSession } from "../session/session";
import { isEmptyScene, isOwner, sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { css } from "../transfer/points";
import { Stage } from "../view/Stage";
import { Timeline } from "../movie/Timeline";
import { CaptureDialog } from "./CaptureDialog";
import { LoadingScreen } from "./LoadingScreen";
import { DropZone } from "./DropZone";
import { ExportDialog } from "./ExportDialog";
import { HelpDialog } from "./HelpDialog";
import { Notifications } from "./Notifications";
import { Toolbar } from "./Toolbar";
import { ShareDialog } from "./ShareDialog";
import { Statistics } from "./Statistics";
import { titleOf } from "../state/title";
import { StatusLine } from "./StatusLine";
import { TimeSlider } from "./TimeSlider";
import { TopBar } from "./TopBar";

const DIALOGS = { help: HelpDialog, capture: CaptureDialog, export: ExportDialog, share: ShareDialog } as const;
const DRAWERS = { files: FileBrowser, scans: FileBrowser, shading: ShadingEditor } as const;

export function App(): ReactNode {
  const isKnown = useSelect((state) => state.server !== null);
  const page = useSelect((state) => state.interface);
  const name = useSelect((state) => titleOf(state).layers?.layers[0]?.name ?? "");
  useKeys();
  useEffect(() => {
    document.title = name ? `${name} · Pellucid` : "Pellucid";
  }, [name]);
  const isEmpty = useSelect(isEmptyScene);
  const Dialog = page.dialog === "none" ? null : DIALOGS[page.dialog];
  const hasStartPage = useSelect(isOwner) && isEmpty;
  // The start page has a browser of its own.
  const Drawer = page.drawer === "none" || hasStartPage ? null : DRAWERS[page.drawer];
  const isAround = isKnown && !page.isQuiet && page.scan === "";
  const hasPanel = isAround && page.isPanelOpen && !isEmpty;
  const hasTimeline = isAround && page.isTimelineOpen && !isEmpty;
  const background = useSelect((state) => sceneOf(state)?.background ?? null);
  return (
    <div style={{ "--scene-background": background ? css(background.slice(0, 3)) : "#000" } as CSSProperties} className={`page${isAround && !hasStartPage ? "" : " is-bare"}${hasPanel ? " has-panel" : ""}${hasTimeline ? " has-timeline" : ""}${isAround && Drawer ? " has-drawer" : ""}${page.isQuiet ? " is-quiet" : ""}`}>
      <Stage />
      <LoadingScreen />
      {isAround ? (
        <>
          <TopBar />
          <Toolbar />
          {hasPanel ? <SidePanel /> : null}
          {Drawer ? <Drawer /> : null}
          {page.areStatisticsShown ? <Statistics /> : null}
          <TimeSlider />
          {hasTimeline ? <Timeline /> : null}
          <StatusLine />
        </>
      ) : null}
      {isKnown && page.scan ? <Workbench key={page.scan} path={page.scan} /> : null}
      <RunWatcher />
      <Notifications />
      {Dialog ? <Dialog /> : null}
      <DropZone />
    </div>
  );
}

function useKeys(): void {
  const session = useSession();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (session.store.get().connection.phase !== "open") return;
      // While the scene is covered, its keys are disabled.
      if (session.store.get().interface.scan && event.key !== "Escape") return;
      if (event.altKey || event.defaultPrevented || isTyping(event.target) || isStepping(event)) return;
      const action = actionFor(keyName(event));
      if (!action || !mayRun(action, session.store.get())) return;
      event.preventDefault();
      action.run(session);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [session]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches("textarea, select, input:not([type=checkbox]):not([type=color]):not([type=range])") || target.isContentEditable;
}

const STEPS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

/** A focused slider handles arrow keys itself. */
function isStepping(event: KeyboardEvent): boolean {
  return event.target instanceof Element && event.target.matches("input[type=range], [role=slider]") && STEPS.includes(event.key);
}
