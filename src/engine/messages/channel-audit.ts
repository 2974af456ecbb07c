import { isDeepStrictEqual } from 'node:util';
import type { AuditEntry } from '../../postgres/access/audit.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * What the audit log has of a changed channel: the previous and new values of changed fields, and the name of a secret that changed, without
 * its values. `null` without changes.
 * @param before `null` for a new channel
 * @param newSecret name of the secret that changed; `null` for none
 */
export function auditedChange(
  before: Fields | null,
  after: Fields,
  newSecret: string | null,
): Pick<AuditEntry, 'before' | 'after'> | null {
  if (before === null) return { after };
  const names = Object.keys({ ...before, ...after }).filter((name) => !isDeepStrictEqual(before[name], after[name]));
  if (names.length === 0 && newSecret === null) return null;
  const audited = (fields: Fields): Fields => Object.fromEntries(names.map((name) => [name, fields[name] ?? null]));
  return {
    before: audited(before),
    after: { ...audited(after), ...(newSecret !== null && { [newSecret]: 'changed' }) },
  };
}
