import type { Pool } from 'pg';
import type { Redis } from 'ioredis';
import { findUsedKeys } from '../../postgres/used-keys.ts';
import type { Refusal } from '../../packed/record.ts';
import type { kindField } from '../../packed/record-fields.ts';
import { type REFUSAL, UNKNOWN_USE } from '../../packed/refusal-fields.ts';
import { scopedKey, type ReadyEvent } from './event-call.ts';
import { packedUse, UNKNOWN_BODY } from '../../redis/idempotency.ts';
import { partOf, timeOf } from '../ids/keyed-ids.ts';
import { untilPersisted } from '../persisted/until-persisted.ts';

/** An event and the script's question about its idempotency key. */
export interface KeyQuestion {
  event: ReadyEvent;
  asked: Refusal & { [kindField]: typeof REFUSAL.unknownUse };
}

/** Answers for the questions in their order: the events, to be sent to the script again. */
export type LookUpKeys = (tenantNo: number, questions: readonly KeyQuestion[]) => Promise<ReadyEvent[]>;

/**
 * Looks in Postgres whether idempotency keys that may be old were used. Errors are those of Postgres; 503 where Postgres may
 * still hold a user who was deleted, and does not catch up.
 */
export async function lookUpKeys(
  { redis, pool }: { redis: Redis; pool: Pool },
  tenantNo: number,
  questions: readonly KeyQuestion[],
): Promise<ReadyEvent[]> {
  const own = questions.filter(({ asked }) => asked[UNKNOWN_USE.token] !== undefined);
  if (own.length === 0) return questions.map(({ event }) => event);
  // Of a younger generation: an earlier user of this ID was perhaps deleted just now, and used the key.
  if (own.some(({ asked }) => asked[UNKNOWN_USE.generation] !== undefined))
    await untilPersisted({ redis, pool }, tenantNo);
  const scoped = own.map(({ event }) => scopedKey(event));
  const found = await findUsedKeys(
    pool,
    tenantNo,
    scoped.map((key, index) => ({ ...key, idPart: partOf(own[index]!.event.id) })),
  );
  const uses = found.map((id) => (id === null ? '' : packedUse(timeOf(id), UNKNOWN_BODY)));
  return questions.map(({ event, asked }) => {
    const token = asked[UNKNOWN_USE.token];
    return token === undefined ? event : { ...event, lookedUp: { token, use: uses.shift()! } };
  });
}
