// Giving the viewer to others, and keeping what is shown: addresses, short links, the state as a file.

import { useEffect, useState, type ReactNode } from "react";
import { makeLink, restore, savedState, sharing } from "../line/requests";
import { Button } from "../parts/Button";
import { DialogWindow } from "../parts/Dialog";
import { choose, saveText } from "../parts/files";
import type { SavedState, Sharing } from "../protocol";
import { useSession, type Session } from "../session/session";

const LINKS: readonly { name: keyof Sharing; label: string; hint: string }[] = [
  { name: "look", label: "Look", hint: "sees the picture" },
  { name: "steer", label: "Steer", hint: "turns it, changes colours" },
  { name: "own", label: "Own", hint: "opens files, writes code" },
];

export function ShareDialog(): ReactNode {
  const session = useSession();
  const [addresses, setAddresses] = useState<Sharing | null>(null);
  const [link, setLink] = useState("");
  useEffect(() => {
    void session.attempt(sharing()).then(setAddresses);
  }, [session]);
  return (
    <DialogWindow title="Share" onClose={() => session.openDialog("none")}>
      <h3>Watch together</h3>
      {LINKS.map(({ name, label, hint }) => (
        <Address key={name} label={label} hint={hint} address={addresses ? absolute(addresses[name]) : "…"} />
      ))}
      <h3>Keep this view</h3>
      {link ? <Address label="Link" hint="shows this scene again" address={link} /> : null}
      <div className="row">
        <Button icon="link" onClick={() => void session.attempt(makeLink()).then((made) => (made ? setLink(absolute(made.url)) : undefined))}>
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

function Address({ label, hint, address }: { label: string; hint: string; address: string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(address);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div className="row address">
      <span className="label">
        <b>{label}</b>
        <span className="hint">{hint}</span>
      </span>
      <input className="field" readOnly aria-label={`Address to ${label.toLowerCase()}`} value={address} onFocus={(event) => event.currentTarget.select()} />
      <Button onClick={() => void copy()}>{isCopied ? "Copied" : "Copy"}</Button>
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
