import type { Pool } from 'pg';
import { AppError } from '../../errors.ts';
import { isDropped } from '../../postgres/partitions/dropped-days.ts';
import { QUARANTINE_STATUS, readQuarantined } from '../../postgres/corrections/quarantine.ts';
import { uuidText } from '../../domain/uuid.ts';

/** 404 that says why an event (a UUID, or 32 hex digits) that is not among the applied ones cannot be reversed. */
export async function missingEvent(pool: Pool, tenantNo: number, id: string): Promise<AppError> {
  const [kept] = await readQuarantined(pool, tenantNo, [id]);
  if (kept?.status === QUARANTINE_STATUS.waiting)
    return refusal(`The event with the ID '${shown(id)}' waits in quarantine: it does not count yet. Drop it there.`);
  if (await isDropped(pool, id))
    return refusal(
      `The event with the ID '${shown(id)}' is older than events are kept: only the sums of its day are left, and it can be reversed no more.`,
    );
  return unknownEvent(id);
}

/** 404 for an event that there is not. */
export const unknownEvent = (id: string): AppError => refusal(`There is no event with the ID '${shown(id)}'.`);

const refusal = (message: string): AppError => new AppError('not_found', message);

const shown = (id: string): string => (id.includes('-') ? id : uuidText(id));
