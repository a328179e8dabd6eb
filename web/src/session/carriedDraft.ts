// What a page takes along to the new address of a restarted viewer. Here: the open reconstruction, as a part of that address.
// Not here: who moves a page (connection/socket.ts).

import type { ReconstructionDraft } from "../protocol";

export interface CarriedDraft {
  scan: string;
  draft: ReconstructionDraft;
}

/** The address with a draft behind its code: what a page stores cannot be read at another address. */
export function withDraft(address: string, scan: string, draft: ReconstructionDraft | undefined): string {
  if (!draft) return address;
  return `${address}&draft=${encodeURIComponent(JSON.stringify({ scan, draft }))}`;
}

/** The draft in the fragment of an address; null where there is none. It counts only beside a code. */
export function draftIn(fragment: string): CarriedDraft | null {
  const link = new URLSearchParams(fragment.replace(/^#/, ""));
  const text = link.get("draft");
  if (!text || !link.get("code")) return null;
  try {
    const carried = JSON.parse(text) as Partial<CarriedDraft> | null;
    return typeof carried?.scan === "string" && typeof carried.draft?.recipe === "object" ? (carried as CarriedDraft) : null;
  } catch {
    return null;
  }
}
