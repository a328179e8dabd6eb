// How far the denoising of a scan is. Here: asking for it again while it runs. Not here: showing it.

import { useCallback, useEffect, useRef, useState } from "react";
import { RequestError } from "../connection/requestError";
import type { DenoisingStatus } from "../protocol";
import { denoisingOf } from "./requests";

const POLL_MS = 1000;

export interface WatchedDenoising {
  /** null: none, or not known yet. */
  run: DenoisingStatus | null;
  /** Ask at once: something was started or stopped. */
  refresh: () => void;
}

export function useDenoising(path: string): WatchedDenoising {
  const [run, setRun] = useState<DenoisingStatus | null>(null);
  const watch = useRef<() => void>(() => undefined);
  useEffect(() => {
    let isWanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      clearTimeout(timer);
      let found: DenoisingStatus | null | undefined;
      try {
        found = await denoisingOf(path);
      } catch (error) {
        if (!(error instanceof RequestError)) throw error; // The viewer is away for a while.
      }
      if (!isWanted) return;
      clearTimeout(timer);
      if (found !== undefined) setRun(found);
      if (found === undefined || found?.status.state === "running") timer = setTimeout(() => void look(), POLL_MS);
    };
    watch.current = () => void look();
    void look();
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [path]);
  return { run, refresh: useCallback(() => watch.current(), []) };
}
