// Running reconstructions. Here: how each ended; a notice if it is not on screen. Renders nothing.

import { useEffect, type ReactNode } from "react";
import { duration } from "../geometry/duration";
import { RequestError } from "../connection/requestError";
import { useSession, type Session } from "../session/session";
import { useSelect } from "../state/store";
import { statusOf } from "./requests";

export function RunWatcher(): ReactNode {
  const runs = useSelect((state) => state.runs);
  // Requested at the start, because it may have ended already, and once more when it has ended.
  return Object.entries(runs).map(([scan, run]) => <Follower key={`${run.task}-${run.isOver}`} scan={scan} task={run.task} />);
}

function Follower({ scan, task }: { scan: string; task: string }): ReactNode {
  const session = useSession();
  useEffect(() => void follow(session, scan, task), [session, scan, task]);
  return null;
}

async function follow(session: Session, scan: string, task: string): Promise<void> {
  try {
    const status = await statusOf(task);
    const { runs, interface: page } = session.store.get();
    const run = runs[scan];
    if (status.state === "running" || run?.task !== task || run.status) return;
    session.store.dispatch({ type: "run", scan, run: { ...run, isOver: true, status } });
    if (page.scan === scan) return;
    const name = scan.slice(scan.lastIndexOf("/") + 1);
    if (status.state === "finished") session.notify("success", `The reconstruction of ${name} is done in ${duration(status.seconds)}.`, "", "", run.output);
    else session.notify("error", status.what, status.remedy);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error; // A restarted viewer does not know it.
  }
}
