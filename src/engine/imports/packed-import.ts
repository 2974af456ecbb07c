import { packedCompletion } from '../../packed/packed-arrays.ts';
import { FREQUENCIES } from '../../domain/settle-streaks.ts';
import { packedPause } from '../../packed/packed-arrays.ts';
import { packedImportedAward, packedImportedDay, packedImportedSettlement } from '../../packed/packed-import.ts';
import type { ImportedRecord } from '../../packed/record.ts';
import { KIND, kindField, RECORD, SETTLED } from '../../packed/record-fields.ts';
import { numbered } from '../../packed/numbered.ts';
import { USER } from '../../packed/user-fields.ts';
import type { Draft } from './draft.ts';

/** The record of an imported user, with all that Postgres is to hold. */
export const importedRecord = (draft: Draft, { id, userId }: { id: string; userId: string }): ImportedRecord => ({
  [kindField]: KIND.imported,
  [RECORD.id]: id,
  [RECORD.userId]: userId,
  [RECORD.atMs]: draft.nowMs,
  [RECORD.zone]: draft.tz ?? '',
  [RECORD.days]: draft.days.map(packedImportedDay),
  [RECORD.awards]: draft.awards.map(packedImportedAward),
  [RECORD.completions]: Array.from(numbered(draft.state[USER.completions]), ([no, atMs]) => packedCompletion(no, atMs)),
  [RECORD.settlements]: draft.settlements.map(({ frequency, kind, atMs = draft.nowMs, ...rest }) =>
    packedImportedSettlement({
      ...rest,
      atMs,
      frequency: FREQUENCIES.indexOf(frequency) + 1,
      kind: SETTLED[kind],
    }),
  ),
  [RECORD.pauses]: draft.pauses.map(({ id: pauseId, from, to }) =>
    packedPause({ firstDay: from, lastDay: to, id: pauseId }),
  ),
});
