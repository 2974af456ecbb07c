import { FREQUENCIES } from '../../domain/settle-streaks.ts';
import type { ImportedRecord } from '../../packed/record.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import { numbered } from '../../packed/state.ts';
import { USER } from '../../packed/user-fields.ts';
import { SETTLEMENT_KINDS } from '../../postgres/persist/insert-streak-changes.ts';
import type { Draft } from './draft.ts';

/** The record of an imported user, with all that Postgres is to hold. */
export const importedRecord = (draft: Draft, { id, userId }: { id: string; userId: string }): ImportedRecord => ({
  [kindField]: KIND.imported,
  [RECORD.id]: id,
  [RECORD.userId]: userId,
  [RECORD.atMs]: draft.nowMs,
  [RECORD.zone]: draft.tz ?? '',
  [RECORD.days]: draft.days.map(({ metricNo, day, change, total }) => [metricNo, day, String(change), String(total)]),
  [RECORD.awards]: draft.awards.map((row) => [
    row.systemNo,
    row.triggerNo,
    row.awarded,
    row.total,
    row.atMs,
    row.day,
    row.boostNos,
  ]),
  [RECORD.completions]: Array.from(numbered(draft.state[USER.completions]), ([no, atMs]) => [no, atMs]),
  [RECORD.settlements]: draft.settlements.map(({ frequency, kind, from, to, length, atMs }) => [
    FREQUENCIES.indexOf(frequency) + 1,
    SETTLEMENT_KINDS.indexOf(kind) + 1,
    from,
    to,
    length ?? NO_LENGTH,
    atMs ?? draft.nowMs,
  ]) as ImportedRecord[typeof RECORD.settlements],
  [RECORD.pauses]: draft.pauses.map(({ id: pauseId, from, to }) => [from, to, pauseId]),
});

/** A length that is none, where a time follows it. */
export const NO_LENGTH = -1;
