import type { Pool } from 'pg';
import type { Redis } from 'ioredis';
import { findUsedKeys } from '../../postgres/idempotency/find-used-keys.ts';
import type { Refusal } from '../../redis/record.ts';
import type { ReadyEvent } from '../events/event-call.ts';
import { untilPersisted } from '../persist/until-persisted.ts';

/** An event and the script's question about its idempotency key. */
export interface KeyQuestion {
  event: ReadyEvent;
  asked: Refusal & { k: 'p' };
}

/** Answers for the questions in their order: the events, to be sent to the script again. */
export type LookUpKeys = (tenantNo: number, questions: readonly KeyQuestion[]) => Promise<ReadyEvent[]>;

/** Bytes 7 to 14 of the ID of every event with this event's tenant, user, metric and idempotency key, in hex. */
const idPart = ({ id }: ReadyEvent): string => id.slice(12, 28);

/**
 * Looks in Postgres whether idempotency keys that may be old were used. Errors are those of Postgres; 503 where a user
 * who was deleted may still stand there and Postgres does not follow.
 */
export async function lookUpKeys(
  { redis, pool }: { redis: Redis; pool: Pool },
  tenantNo: number,
  questions: readonly KeyQuestion[],
): Promise<ReadyEvent[]> {
  const own = questions.filter(({ asked }) => asked.v !== undefined);
  if (own.length === 0) return questions.map(({ event }) => event);
  // Of a younger generation: an earlier user of this ID was perhaps deleted just now, and used the key.
  if (own.some(({ asked }) => asked.g !== undefined)) await untilPersisted({ redis, pool }, tenantNo);
  const times = await findUsedKeys(
    pool,
    tenantNo,
    own.map(({ event }) => ({
      userId: event.userId,
      metricNo: event.plan.plan.metric,
      key: event.idempotency!.key,
      idPart: idPart(event),
    })),
  );
  return questions.map(({ event, asked }) =>
    asked.v === undefined ? event : { ...event, lookedUp: { token: asked.v, atMs: times.shift()! } },
  );
}
