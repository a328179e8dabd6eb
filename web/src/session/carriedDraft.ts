// The reconstruction that a page opens at first, as a part of its address: with its draft, to a viewer that was restarted at a new
// address; only by its scan, to one that has the draft. Not here: who moves a page (connection/socket.ts).

import type { ReconstructionDraft } from "../protocol";

export interface CarriedDraft {
  scan: string;
  /** null: what the viewer knows. */
  draft: ReconstructionDraft | null;
}

/** The address with a draft behind its code: what a page stores cannot be read at another address. */
export function withDraft(address: string, scan: string, draft: ReconstructionDraft | undefined): string {
  if (!draft) return address;
  return `${address}&draft=${encodeURIComponent(JSON.stringify({ scan, draft }))}`;
}

/** The draft, or the scan, in the fragment of an address; null where there is neither. It counts only beside a code. */
export function draftIn(fragment: string): CarriedDraft | null {
  const link = new URLSearchParams(fragment.replace(/^#/, ""));
  const [text, scan] = [link.get("draft"), link.get("scan")];
  if (!link.get("code")) return null;
  if (!text) return scan ? { scan, draft: null } : null;
  try {
    const carried = JSON.parse(text) as Partial<CarriedDraft> | null;
    return typeof carried?.scan === "string" && typeof carried.draft?.recipe === "object" ? (carried as CarriedDraft) : null;
  } catch {
    return null;
  }
}
