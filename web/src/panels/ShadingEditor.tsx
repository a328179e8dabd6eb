// A custom shading: its source, the compiler's messages, its sliders.

import { useState, type KeyboardEvent, type ReactNode } from "react";
import { approve, compile } from "../connection/requests";
import { RequestError } from "../connection/requestError";
import { Button, IconButton } from "../components/Button";
import type { Shading } from "../protocol";
import { useSession, type Session } from "../session/session";
import { chosenVolume, type ChosenVolume } from "../state/selectors";
import { useSelect } from "../state/store";
import { Parameters } from "./RenderingSection";

const EXAMPLE = `//@ strength = 0.8 in 0 .. 2
//@ ambient = 0.4 in 0 .. 1

// The colour of one sample. At hand: value, color, gradient,
// position, view and light, and the parameters declared above.
vec3 normal = normalize(gradient);
float rim = 1.0f - abs(dot(normal, view));
float lit = ambient + (1.0f - ambient) * abs(dot(normal, light));
return color * lit * (1.0f + strength * rim);
`;

type CompilerMessage = { tone: "good" | "bad"; text: string; remedy: string; line: number } | null;

export function ShadingEditor(): ReactNode {
  const session = useSession();
  const chosen = useSelect(chosenVolume);
  const shadings = useSelect((state) => state.shadings);
  const present = shadings.find((one) => one.hash === chosen?.layer.user_shading && one.source !== "");
  const [source, setSource] = useState(present?.source ?? EXAMPLE);
  const [message, setMessage] = useState<CompilerMessage>(null);
  const [isBusy, setBusy] = useState(false);
  const make = async (): Promise<void> => {
    setBusy(true);
    setMessage(await compiled(session, source, chosen));
    setBusy(false);
  };
  return (
    <aside className="drawer pane is-wide grows" aria-label="Custom shading">
      <header className="drawer-head">
        <h2>Custom shading</h2>
        <Button look="main" isDisabled={isBusy || !chosen} title="Ctrl Enter" onClick={() => void make()}>
          {isBusy ? "Compiling…" : "Compile and use"}
        </Button>
        <IconButton icon="close" label="Close" onClick={() => session.page({ drawer: "none" })} />
      </header>
      <CodeField source={source} badLine={message?.tone === "bad" ? message.line : 0} onChange={setSource} onCompile={() => void make()} />
      {message ? (
        <div className={`compiler-message is-${message.tone}`} role="status">
          <p>{message.text}</p>
          {message.remedy ? <p className="hint">{message.remedy}</p> : null}
        </div>
      ) : null}
      <div className="drawer-foot scrolls">
        {chosen?.layer.shading === "user" ? <Parameters chosen={chosen} /> : <p className="hint">Lines that start with //@ declare parameters, which appear here as sliders.</p>}
        {shadings.map((one) => (
          <Known key={one.hash} shading={one} onEdit={() => setSource(one.source)} />
        ))}
      </div>
    </aside>
  );
}

/** A shading that the instance has: to use again, or to approve if it came with another user's scene. */
function Known({ shading, onEdit }: { shading: Shading; onEdit: () => void }): ReactNode {
  const session = useSession();
  const first = shading.source.split("\n").find((line) => line.trim() !== "" && !line.includes("//@")) ?? shading.hash;
  return (
    <div className="row known">
      <code className="label" title={shading.source}>
        {first.trim()}
      </code>
      <Button look="plain" onClick={onEdit}>
        {shading.is_waiting ? "Read" : "Edit"}
      </Button>
      {shading.is_waiting ? (
        <Button look="main" title="This shading came with someone else's scene. It runs only after you approve it." onClick={() => void session.attempt(approve(shading.hash))}>
          Approve
        </Button>
      ) : null}
    </div>
  );
}

async function compiled(session: Session, source: string, chosen: ChosenVolume | null): Promise<CompilerMessage> {
  if (!chosen) return null;
  try {
    const made = await compile(source);
    session.change([
      { path: ["volumes", chosen.index, "user_shading"], value: made.hash },
      { path: ["volumes", chosen.index, "parameters"], value: [] },
      { path: ["volumes", chosen.index, "shading"], value: "user" },
      { path: ["volumes", chosen.index, "mode"], value: "composite" },
    ]);
    return { tone: "good", text: "Compiled.", remedy: "", line: 0 };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { tone: "bad", text: error.what, remedy: error.remedy, line: error.line };
  }
}

interface CodeFieldProps {
  source: string;
  badLine: number;
  onChange: (source: string) => void;
  onCompile: () => void;
}

function CodeField({ source, badLine, onChange, onCompile }: CodeFieldProps): ReactNode {
  const press = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    event.stopPropagation();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onCompile();
    }
    // Tab indents; Escape and then Tab leaves the field.
    if (event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      const field = event.currentTarget;
      field.setRangeText("    ", field.selectionStart, field.selectionEnd, "end");
      onChange(field.value);
    }
    if (event.key === "Escape") event.currentTarget.blur();
  };
  return (
    <div className="code scrolls">
      {/* The same text below the field: it wraps alike, so that each number stands at its line, and gives the field its height. */}
      <ol aria-hidden="true">
        {source.split("\n").map((line, index) => (
          <li key={index} className={index + 1 === badLine ? "is-bad" : ""}>
            {line || " "}
          </li>
        ))}
      </ol>
      <textarea
        spellCheck={false}
        aria-label="Source of the shading"
        aria-invalid={badLine > 0}
        value={source}
        onKeyDown={press}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}
