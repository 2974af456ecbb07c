import type { ImportedOutcome, SkippedPart } from './imported-user.ts';

export interface Reported {
  id: string;
  /** `read`: it is in the file of users; `unread`, `refused` and `skipped` say why. */
  status: 'read' | 'unread' | 'imported' | 'already' | 'ready' | 'skipped' | 'refused';
  why?: string;
  /** Parts that this Laurel does not import; the rest of the user is imported. */
  skipped?: SkippedPart[];
  /** What the source does not have, or what is imported differently. */
  missing?: string[];
  /** Of a user who was read: the parts that the source refused to give. */
  unread?: string[];
}

/** Most users, and most bytes of their JSON, in one call of an import. */
export const MOST_USERS = 50;
export const MOST_BYTES = 1_000_000;

export interface ImportAnswer {
  users: readonly ImportedOutcome[];
  issues: readonly { id?: string; index?: number; severity: 'error' | 'warning'; message: string }[];
}

export function outcomesOf(sent: readonly { id: string }[], { users, issues }: ImportAnswer): Reported[] {
  const warnings = new Map<string, string[]>();
  for (const { id = '', severity, message } of issues)
    if (severity === 'warning') warnings.set(id, [...(warnings.get(id) ?? []), message]);
  return [
    ...users.map(({ id, status, skipped }) => ({
      id,
      status,
      ...(status === 'skipped' && { why: `${skipped[0]!.field}: ${skipped[0]!.reason}` }),
      ...(status !== 'skipped' && skipped.length > 0 && { skipped }),
      ...(warnings.has(id) && { missing: warnings.get(id)! }),
    })),
    ...issues
      .filter(({ severity }) => severity === 'error')
      .map(({ id, index = 0, message }) => ({
        id: id ?? sent[index]!.id,
        status: 'refused' as const,
        why: message,
      })),
  ];
}

export interface Reason {
  id: string;
  why: string;
}

/** Each reason with its users, the most frequent first. Reasons that differ only in the ID of their user are one. */
export function groupedReasons(all: readonly Reason[]): { why: string; users: string[] }[] {
  const users = new Map<string, Set<string>>();
  for (const { id, why } of all) {
    const reason = why.replaceAll(id, '…');
    users.set(reason, (users.get(reason) ?? new Set()).add(id));
  }
  return [...users].map(([why, ids]) => ({ why, users: [...ids] })).toSorted((a, b) => b.users.length - a.users.length);
}
