// The selected files. Here: what is in one, and what can be done with it or with several. Not here: the forms (ViewerDialog, TaskDialog), tabs (opening.ts).

import { useEffect, useEffectEvent, useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { follow } from "../components/files";
import { binaryBytes, counted, short, unitText } from "../geometry/measures";
import { contentAddress } from "./api";
import type { CommandName } from "./commands";
import { errorText, useAgent } from "./context";
import { addressWhenRunning, openTab, viewerOf, withScan } from "./opening";
import type { FileEntry, FileInfo, ScanInfo, VolumeInfo } from "./protocol";
import { TaskDialog } from "./TaskDialog";
import { ViewerDialog } from "./ViewerDialog";

const MAX_VOLUMES = 5;

/** onRead: the pane has grown by what is in the file. */
export function SelectionPane({ selected, onRead }: { selected: readonly FileEntry[]; onRead: () => void }): ReactNode {
  const [first] = selected;
  if (!first) return <p className="hint">Select a file to see what is in it, or several files to process them together.</p>;
  if (selected.length === 1) return <OneFile key={first.path} entry={first} onRead={onRead} />;
  return (
    <>
      <h2>{selected.length} files</h2>
      <Actions entries={selected} info={null} commands={["convert", "reconstruct", "denoise", "render", "slices", "share"]} />
    </>
  );
}

function OneFile({ entry, onRead }: { entry: FileEntry; onRead: () => void }): ReactNode {
  const { info, problem } = useFileInfo(entry, onRead);
  const isVolume = entry.kind === "volume";
  const state = problem || (info?.scan ? `Scan (${info.scan.scan})` : isVolume ? (info ? "" : "Reading…") : entry.kind === "file" ? "" : entry.kind);
  return (
    <>
      <h2 title={entry.path}>{entry.name}</h2>
      {state ? <p className="hint">{state}</p> : null}
      {info ? (
        <dl className="agent-facts">
          {[...scanFacts(info.scan), ...volumeFacts(info.volumes)].map(([name, value]) => (
            <Fact key={name} name={name} value={value} />
          ))}
        </dl>
      ) : null}
      <Actions entries={[entry]} info={info} commands={commandsFor(entry, info)} />
    </>
  );
}

function commandsFor(entry: FileEntry, info: FileInfo | null): readonly CommandName[] {
  if (!info) return ["share"];
  const isScanFolder = info.scan !== null && entry.size === null;
  if (isScanFolder) return ["denoise"]; // Its projections, flats and darks are several volumes.
  return ["convert", ...(info.scan ? (["denoise"] as const) : []), "render", "slices", "mesh", "share"];
}

function Fact({ name, value }: { name: string; value: string }): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

function useFileInfo(entry: FileEntry, onRead: () => void): { info: FileInfo | null; problem: string } {
  const { api } = useAgent();
  const [known, setKnown] = useState<{ info: FileInfo | null; problem: string }>({ info: null, problem: "" });
  const read = useEffectEvent(onRead);
  useEffect(() => {
    if (entry.kind !== "volume") return undefined;
    let isWanted = true;
    api.fileInfo(entry.path).then(
      (info) => (isWanted ? setKnown({ info, problem: "" }) : undefined),
      (error: unknown) => (isWanted ? setKnown({ info: null, problem: errorText(error) }) : undefined),
    );
    return () => {
      isWanted = false;
    };
  }, [api, entry.kind, entry.path]);
  useEffect(() => (known.info ? read() : undefined), [known]);
  return known;
}

/** A remedy for the command line is of no use on a page. */
const withoutOptions = (text: string): string =>
  text
    .split(/(?<=\.)\s+(?=[A-Z])/)
    .filter((sentence) => !/ --\w/.test(sentence))
    .join(" ");

function scanFacts(scan: ScanInfo | null): [string, string][] {
  const facts: [string, string][] = [];
  if (scan?.lacks) facts.push(["Missing", `${withoutOptions(scan.lacks)} Reconstruct asks for it.`]);
  if (scan?.projections) facts.push(["Projections", `${scan.projections} over ${short(scan.span_deg ?? 0)}°, ${counted(scan.flats ?? 0, "flat")}, ${counted(scan.darks ?? 0, "dark")}`]);
  return facts;
}

const shapeText = (volume: VolumeInfo): string => `${volume.shape.join(" × ")} ${volume.dtype}, ${binaryBytes(volume.bytes)}`;

/** Everything about a single volume; one line for each of several. */
function volumeFacts(volumes: readonly VolumeInfo[]): [string, string][] {
  const [only] = volumes;
  if (volumes.length > 1) return volumes.slice(0, MAX_VOLUMES).map((volume) => [volume.name.split(":").at(-1) ?? volume.name, `${shapeText(volume)} (z, y, x)`]);
  if (!only) return [];
  return [
    ["Shape (z, y, x)", shapeText(only)],
    ["Spacing (z, y, x)", `${only.spacing.map((one) => short(one)).join(" × ")} ${unitText(only.unit)}`],
    ["Format", [only.format, only.codec, only.levels.length > 1 ? `${only.levels.length} levels` : ""].filter(Boolean).join(", ")],
  ];
}

const BUTTONS: Record<CommandName, { label: string; title: string }> = {
  convert: { label: "Convert", title: "Convert to another format" },
  reconstruct: { label: "Reconstruct", title: "Reconstruct the volume of each scan" },
  denoise: { label: "Denoise", title: "Reconstruct a scan with less noise, by a network that learns from it" },
  render: { label: "Image", title: "Render an image" },
  slices: { label: "Slices", title: "Make a contact sheet of slices" },
  mesh: { label: "Mesh", title: "Extract an isosurface as a mesh" },
  share: { label: "Share", title: "Upload to S3 and create a link" },
};

interface ActionsProps {
  entries: readonly FileEntry[];
  info: FileInfo | null;
  commands: readonly CommandName[];
}

function Actions({ entries, info, commands }: ActionsProps): ReactNode {
  const { api, attempt } = useAgent();
  const [open, setOpen] = useState<CommandName | "viewer" | "workbench" | null>(null);
  const [first] = entries;
  const single = entries.length === 1 && first ? first : null;
  const scan = single && info?.scan ? single : null;
  const close = (): void => setOpen(null);
  return (
    <div className="agent-actions">
      {scan ? <ReconstructButton scan={scan.path} onAsk={() => setOpen("workbench")} /> : null}
      {single && ["volume", "mesh", "points"].includes(single.kind) ? (
        <Button look={scan ? "normal" : "main"} onClick={() => setOpen("viewer")}>
          View
        </Button>
      ) : null}
      {commands.map((name) => (
        <Button key={name} title={BUTTONS[name].title} onClick={() => setOpen(name)}>
          {BUTTONS[name].label}
        </Button>
      ))}
      {single ? <Button onClick={() => void attempt(async () => follow(await api.ticketFor(contentAddress(single.path)), ""))}>Download</Button> : null}
      {scan ? (
        <Button look="plain" title="Reconstruct in the background, with settings from a form" onClick={() => setOpen("reconstruct")}>
          Reconstruct as a task
        </Button>
      ) : null}
      {(open === "viewer" || open === "workbench") && single ? <ViewerDialog path={single.path} info={info} isScan={open === "workbench"} onClose={close} /> : null}
      {open && open !== "viewer" && open !== "workbench" ? <TaskDialog name={open} files={entries.map(({ path }) => path)} info={info} onClose={close} /> : null}
    </div>
  );
}

/** A viewer that was started for this scan and still runs is opened again. A new one on this machine begins at once, and opens when it is
    ready. onAsk: elsewhere it may have to wait, for resources that are chosen. */
function ReconstructButton({ scan, onAsk }: { scan: string; onAsk: () => void }): ReactNode {
  const { api, about, attempt, refreshJobs } = useAgent();
  const [isStarting, setStarting] = useState(false);
  const isLocal = about.scheduler === "local";
  const address = async (): Promise<string> => {
    const job = viewerOf(scan, await api.jobs()) ?? (await api.startViewer({ scan }));
    await refreshJobs();
    return withScan(await addressWhenRunning(api, job), scan);
  };
  const open = async (): Promise<void> => {
    setStarting(true);
    if (isLocal || viewerOf(scan, await api.jobs())?.path) await openTab(address, "Starting the viewer…");
    else onAsk();
  };
  return (
    <Button look="main" title="Open the scan in a viewer to choose settings and reconstruct it" isDisabled={isStarting} onClick={() => void attempt(open).finally(() => setStarting(false))}>
      Reconstruct
    </Button>
  );
}
