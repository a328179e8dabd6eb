// Sharing the viewer and saving the scene: share links, short links, the state as a file.

import { useEffect, useState, type ReactNode } from "react";
import { makeLink, makeShare, restore, revokeShare, savedState, shares } from "../connection/requests";
import { Button } from "../components/Button";
import { DialogWindow } from "../components/Dialog";
import { choose, saveText } from "../components/files";
import type { Capability, SavedState, Share } from "../protocol";
import { useSession, type Session } from "../session/session";

const LINKS: readonly { name: Capability; label: string; hint: string }[] = [
  { name: "view", label: "View only", hint: "sees the image" },
  { name: "control", label: "Control", hint: "changes camera and colours" },
  { name: "own", label: "Owner", hint: "opens files, runs code" },
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
      <h3>Share this viewer</h3>
      <p className="hint">Create a link. It works until you revoke it or the viewer stops.</p>
      <p className="hint">{reachOf(location)}</p>
      <div className="row wraps">
        {LINKS.map(({ name, label, hint }) => (
          <Button key={name} icon="link" title={`Create a link: ${hint}`} onClick={() => void after(makeShare(name, ""))}>
            {label}
          </Button>
        ))}
      </div>
      {links.map((share) => (
        <Address key={share.id} label={labelOf(share)} hint={hintOf(share)} address={absolute(share.url)} onRevoke={() => void after(revokeShare(share.id))} />
      ))}
      <h3>Save this scene</h3>
      <div className="row wraps">
        <Button icon="link" title="A link that opens this scene, with control" onClick={() => void after(makeLink())}>
          Create a short link
        </Button>
        <Button icon="download" title="Save the scene as a JSON file on this computer" onClick={() => void session.attempt(savedState()).then((state) => (state ? saveText(JSON.stringify(state, null, 1), "scene.json") : undefined))}>
          Save to a file
        </Button>
        <Button icon="upload" title="Choose a JSON file that was saved here" onClick={() => void restoreFile(session)}>
          Open a saved scene
        </Button>
      </div>
    </DialogWindow>
  );
}

/** Who can open a link: its address leads to this computer, or to a server that others reach too. */
export function reachOf({ hostname, port }: Pick<Location, "hostname" | "port">): string {
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "127.0.0.1";
  if (!isLocal) return `Everyone who has the link and can reach ${hostname} can open it.`;
  return `The link opens on this computer only. On another computer, first run ssh -L ${port}:localhost:${port} with the name of this one.`;
}

const kindOf = (share: Share): (typeof LINKS)[number] | undefined => LINKS.find(({ name }) => name === share.capability);
const labelOf = (share: Share): string => (share.state ? "Saved scene" : (kindOf(share)?.label ?? ""));
const hintOf = (share: Share): string => (share.state ? "restores this scene; can control" : (kindOf(share)?.hint ?? ""));

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
      <input className="field" readOnly aria-label={`${label} link`} value={address} onFocus={(event) => event.currentTarget.select()} />
      <Button title="Copy the link" onClick={() => void copy()}>{isCopied ? "Copied" : "Copy"}</Button>
      <Button title="The link stops working, also for pages that are open" onClick={onRevoke}>Revoke</Button>
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
    session.notify("error", "This file is not a saved scene.", "Choose a JSON file that was saved here.");
  }
}

const absolute = (address: string): string => new URL(address, document.baseURI).href;
