// Giving the viewer to others, and keeping what is shown: share links, short links, the state as a file.

import { useEffect, useState, type ReactNode } from "react";
import { makeLink, makeShare, restore, revokeShare, savedState, shares } from "../connection/requests";
import { Button } from "../components/Button";
import { DialogWindow } from "../components/Dialog";
import { choose, saveText } from "../components/files";
import type { Capability, SavedState, Share } from "../protocol";
import { useSession, type Session } from "../session/session";

const LINKS: readonly { name: Capability; label: string; hint: string }[] = [
  { name: "look", label: "Look", hint: "sees the image" },
  { name: "steer", label: "Steer", hint: "turns it, changes colours" },
  { name: "own", label: "Own", hint: "opens files, writes code" },
];

export function ShareDialog(): ReactNode {
  const session = useSession();
  const [links, setLinks] = useState<readonly Share[]>([]);
  useEffect(() => {
    void session.attempt(shares()).then((found) => setLinks(found ?? []));
  }, [session]);
  const after = async (act: Promise<unknown>): Promise<void> => {
    await session.attempt(act);
    setLinks((await session.attempt(shares())) ?? []);
  };
  return (
    <DialogWindow title="Share" onClose={() => session.openDialog("none")}>
      <h3>Watch together</h3>
      <p className="hint">A link works until you revoke it or the viewer ends.</p>
      <div className="row wraps">
        {LINKS.map(({ name, label, hint }) => (
          <Button key={name} icon="link" title={`Make a link: ${hint}`} onClick={() => void after(makeShare(name, ""))}>
            {label}
          </Button>
        ))}
      </div>
      {links.map((share) => (
        <Address key={share.id} label={labelOf(share)} hint={hintOf(share)} address={absolute(share.url)} onRevoke={() => void after(revokeShare(share.id))} />
      ))}
      <h3>Keep this view</h3>
      <div className="row wraps">
        <Button icon="link" onClick={() => void after(makeLink())}>
          Make a short link
        </Button>
        <Button icon="download" onClick={() => void session.attempt(savedState()).then((state) => (state ? saveText(JSON.stringify(state, null, 1), "scene.json") : undefined))}>
          Save as a file
        </Button>
        <Button icon="upload" onClick={() => void restoreFile(session)}>
          Restore
        </Button>
      </div>
    </DialogWindow>
  );
}

const kindOf = (share: Share): (typeof LINKS)[number] | undefined => LINKS.find(({ name }) => name === share.capability);
const labelOf = (share: Share): string => (share.state ? "Link" : (kindOf(share)?.label ?? ""));
const hintOf = (share: Share): string => (share.state ? "shows this scene again; may steer" : (kindOf(share)?.hint ?? ""));

function Address({ label, hint, address, onRevoke }: { label: string; hint: string; address: string; onRevoke: () => void }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(address);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div className="row wraps address">
      <span className="label">
        <b>{label}</b>
        <span className="hint">{hint}</span>
      </span>
      <input className="field" readOnly aria-label={`Address to ${label.toLowerCase()}`} value={address} onFocus={(event) => event.currentTarget.select()} />
      <Button onClick={() => void copy()}>{isCopied ? "Copied" : "Copy"}</Button>
      <Button onClick={onRevoke}>Revoke</Button>
    </div>
  );
}

async function restoreFile(session: Session): Promise<void> {
  const file = await choose(".json,application/json");
  if (!file) return;
  try {
    const state = JSON.parse(await file.text()) as SavedState;
    if (await session.attempt(restore(state))) session.openDialog("none");
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    session.notify("error", "This file is no saved scene.", "Choose one that was saved here.");
  }
}

const absolute = (address: string): string => new URL(address, document.baseURI).href;
