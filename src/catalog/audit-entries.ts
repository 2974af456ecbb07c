import type { AuditEntry } from '../postgres/audit/write-audit.ts';
import { changesOf, type Edit } from './configuration/changes-of.ts';
import type { Change } from './draft.ts';
import { differences } from './resource-fields.ts';

/** Audit log entries of a catalog edit, in the terms of the configuration document where possible. */
export async function auditEntries(edit: Edit): Promise<AuditEntry[]> {
  const recorded = edit.changes.filter(({ kind }) => kind !== 'webhook');
  const changes = await changesOf({ ...edit, changes: recorded });
  const entries = changes.map(({ action, kind, name, before, after }, index) => {
    const change = recorded[index];
    return { action, kind, id: (change?.after ?? change?.before)?.id ?? null, name, before, after };
  });
  return [...entries, ...edit.changes.filter(({ kind }) => kind === 'webhook').map(plainEntry)];
}

function plainEntry({ kind, before, after }: Change): AuditEntry {
  const { id, name } = (after ?? before)! as { id: string; name: string };
  if (before === null || after === null) return { action: before === null ? 'create' : 'delete', kind, id, name };
  const changed = differences(before, after);
  // A rotation has no fields to show.
  if (changed.length === 1 && changed[0] === 'secretNo') return { action: 'rotate', kind, id, name };
  const fields = (of: object): object =>
    Object.fromEntries(Object.entries(of).filter(([key]) => changed.includes(key)));
  return { action: 'update', kind, id, name, before: fields(before), after: fields(after) };
}
